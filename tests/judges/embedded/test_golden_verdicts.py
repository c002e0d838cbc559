"""An answer of the embedded judge changes only together with the version of its kind."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from record_golden_verdicts import answers_to, current_versions, is_same, recorded_again, rows

from ragtriage.core.questions import Kind
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.embedded.encoder import MODEL
from ragtriage.judges.embedded.versions import VERSIONS, fingerprint_of

WHAT_TO_DO = (
    "{count} recorded answers of {kind!r} changed, the first to {first}. If that is meant, raise its version in "
    "VERSIONS of ragtriage/judges/embedded/versions.py, so that stored answers are asked again, and run "
    "`python tests/judges/embedded/record_golden_verdicts.py`. If not, find out which rule changed."
)


@pytest.fixture(scope="module")
def golden() -> list[tuple[dict[str, Any], Any]]:
    some = rows()
    return list(zip(some, answers_to(some), strict=True))


@pytest.mark.parametrize("kind", VERSIONS)
def test_answers_are_those_that_were_recorded(kind: Kind, golden: list[tuple[dict[str, Any], Any]]) -> None:
    own = [(row, answer) for row, answer in golden if row["kind"] == kind]
    changed = [(row["subject"], answer) for row, answer in own if not is_same(row["answer"], answer)]

    assert len(own) > 5
    assert not changed, WHAT_TO_DO.format(count=len(changed), kind=kind, first=changed[0])


@pytest.mark.parametrize("kind", VERSIONS)
def test_answers_were_recorded_under_the_version_of_today(kind: Kind) -> None:
    recorded = {row["version"] for row in rows() if row["kind"] == kind}

    assert recorded == {VERSIONS[kind].number}, "run python tests/judges/embedded/record_golden_verdicts.py"


def test_every_kind_that_is_answered_has_a_version() -> None:
    judge = EmbeddedJudge()

    assert set(VERSIONS) == {kind for kind in get_args(Kind) if judge.unsupported_reason(kind, "en") is None}


def test_changed_answers_are_not_recorded_without_a_raised_version() -> None:
    row = {"kind": "declines", "subject": "No idea.", "version": 1, "answer": {"value": "yes", "score": 0.9}}
    other = {"value": "no", "score": 0.1}

    with pytest.raises(ValueError, match="raise declines in VERSIONS"):
        recorded_again([row], [other], current_versions() | {"declines": 1})

    assert recorded_again([row], [other], {"declines": 2}) == [{**row, "version": 2, "answer": other}]
    assert recorded_again([row], [{"value": "yes", "score": 0.91}], {"declines": 1}) == [row]


def test_a_fitted_model_changes_the_fingerprints_of_its_kinds_alone(tmp_path: Path) -> None:
    fitted = json.loads((MODEL / "coefficients.json").read_text(encoding="utf-8"))
    fitted["tasks"]["relevant"]["another"] = 1
    for file in MODEL.iterdir():
        if file.name != "coefficients.json":
            (tmp_path / file.name).symlink_to(file)
    (tmp_path / "coefficients.json").write_text(json.dumps(fitted), encoding="utf-8")

    changed = {kind for kind in VERSIONS if fingerprint_of(kind) != fingerprint_of(kind, folder=tmp_path)}

    assert changed == {"relevant", "answered", "essential", "needed_sentences"}


def test_a_reader_changes_the_fingerprints_of_all_that_it_reads_or_marks(tmp_path: Path) -> None:
    for file in MODEL.iterdir():
        if file.name != "reader.onnx":
            (tmp_path / file.name).symlink_to(file)
    (tmp_path / "reader.onnx").write_bytes(b"another")

    same = {kind for kind in VERSIONS if fingerprint_of(kind) == fingerprint_of(kind, folder=tmp_path)}

    assert same == {"facts", "questions", "sentences", "relevant", "similarity"}
