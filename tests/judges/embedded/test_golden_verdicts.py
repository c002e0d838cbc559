"""An answer of the embedded judge changes only together with the version of its kind."""

import inspect
import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from record_golden_verdicts import answers_to, check_sources, current_versions, is_same, recorded_again, rows
from verdict_sources import (
    TABLES_WITHOUT_VERDICTS,
    canonical,
    changed_sources,
    judging_modules,
    named,
    recorded_sources,
    verdict_sources,
)

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


SOURCES_CHANGED = (
    "{names} changed since the golden verdicts were recorded: raise the version of the kinds that use it in "
    "ragtriage/judges/embedded/versions.py, then run python tests/judges/embedded/record_golden_verdicts.py (with "
    "--same-verdicts instead of a raised version if no question is answered another way)"
)


def test_sources_are_those_under_which_verdicts_were_recorded() -> None:
    changed = changed_sources(recorded_sources(), verdict_sources())

    assert not changed, SOURCES_CHANGED.format(names=named(changed))


@pytest.mark.parametrize(
    "name",
    ["words.toml opposites", "words.toml months", "text.claim_parts.FEWEST", "text.sentences._STOP", "encoder.onnx",
     "coefficients.json", "reader.onnx", "judges.embedded.cross_encoder.CUTS", "judges.embedded.featurizer.DECLINED"],
)  # fmt: skip
def test_tables_constants_patterns_and_models_are_sources(name: str) -> None:
    assert name in verdict_sources()


def test_a_source_that_says_something_else_is_changed() -> None:
    recorded = {"a": "1", "b": "2", "c": "3"}

    assert changed_sources(recorded, recorded) == []
    assert changed_sources(recorded, recorded | {"a": "4"}) == ["a"]
    assert changed_sources(recorded, recorded | {"a": "2", "b": "1"}) == ["a", "b"]
    assert changed_sources(recorded, {"a": "1", "b": "2"}) == ["c"]
    assert changed_sources(recorded, recorded | {"d": "3"}) == ["d"]


def test_another_name_changes_nothing() -> None:
    assert changed_sources({"sentences._NEAR": "1000", "b": "2"}, {"lists.NEAR": "1000", "b": "2"}) == []


def test_equal_values_are_equal_text_and_others_are_not() -> None:
    assert canonical(frozenset("abc")) == canonical({"c", "b", "a"})
    assert canonical(re.compile("a", re.IGNORECASE)) != canonical(re.compile("a"))
    assert canonical((0.5, ["x"])) != canonical((0.6, ["x"]))
    assert canonical(("a", "b")) != canonical(("b", "a"))
    assert canonical({"a": len}) == canonical({"a": max})
    with pytest.raises(TypeError, match="add its form"):
        canonical(object())


def test_changed_sources_are_not_recorded_without_a_raised_version() -> None:
    versions = {kind: version.number for kind, version in VERSIONS.items()}
    row = {"kind": "declines", "version": versions["declines"]}

    with pytest.raises(ValueError, match=r"words\.toml stop.*Raise the version"):
        check_sources(["words.toml stop"], [row], versions)
    check_sources(["words.toml stop"], [row], versions | {"declines": versions["declines"] + 1})
    check_sources([], [row], versions)


def test_the_judge_reads_none_of_the_tables_that_are_left_out() -> None:
    names = "|".join(name.removesuffix(".toml").upper() for name in TABLES_WITHOUT_VERDICTS)
    readers = [
        module.__name__
        for module in judging_modules()
        if re.search(rf"import .*\b(?:{names})\b|ragtriage\.text\.citations", inspect.getsource(module))
    ]

    assert readers == []
