"""One run is the work of one program on one kind of processor, or it is told that it isn't."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripted_judges import as_json, evaluated, executed, in_process, job, place_of, row, written

from ragtriage.core.errors import InputError
from ragtriage.core.files import folder_at
from ragtriage.execution.pools import Ended, PoolEvent
from ragtriage.execution.worker import checked_versions
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.store.folder import open_folder, write_manifest


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.jsonl", [row(i) for i in range(60)])


def begun_with(out: Path, versions: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
    """Let the run in a folder have been begun by a program with other versions."""
    known = place_of(open_folder(str(out))).manifest
    write_manifest(folder_at(str(out)), replace(known, versions=versions(known.versions)))


def test_what_is_left_is_not_judged_by_another_version_and_a_complete_run_is_read_by_any(
    tmp_path: Path, rows: Path
) -> None:
    out = tmp_path / "run"
    evaluated([rows], out, share=(1, 2))
    begun_with(out, lambda known: {**known, "ragtriage": "0.0.1", "onnxruntime": "1.2"})
    before = sorted((out / "done").iterdir())

    for share in (None, (2, 2)):
        with pytest.raises(InputError, match=r"was begun with .*onnxruntime 1\.2, here it is [0-9.]+: what is left"):
            evaluated([rows], out, share=share)
    assert sorted((out / "done").iterdir()) == before
    with pytest.raises(InputError, match=r"ragtriage 0\.0\.1, here it is"):
        evaluated([rows], out)
    begun_with(out, lambda _: checked_versions())
    evaluated([rows], out)
    begun_with(out, lambda _: {"ragtriage": "0.0.1"})
    assert evaluated([rows], out).complete


def test_a_run_that_was_begun_before_goes_on_with_its_own_parts(tmp_path: Path, rows: Path) -> None:
    out = tmp_path / "run"
    before = place_of(evaluated([rows], out, share=(1, 2), size=10).run).manifest.plan
    # what was checked then
    begun_with(out, lambda known: {package: known[package] for package in ("ragtriage", "onnxruntime")})
    result = evaluated([rows], out, size=20)

    assert result.complete
    assert [one.id for one in place_of(result.run).manifest.plan] == [one.id for one in before]


def test_versions_are_those_of_whoever_judges() -> None:
    own, model = checked_versions(), checked_versions(JudgeConfig(("openai:gpt-5-mini",)))
    assert {"ragtriage", "onnxruntime", "numpy", "python"} <= {*own}
    assert ("pydantic-ai-slim" in own, "pydantic-ai-slim" in model) == (False, True)


def own_arithmetic(ended: Ended) -> PoolEvent:
    """Every process computes in its own way."""
    assert ended.result.part is not None
    return replace(ended, result=replace(ended.result, part=replace(ended.result.part, probe=ended.who)))


def test_strictly_nothing_is_added_to_what_was_computed_in_two_ways(tmp_path: Path, rows: Path) -> None:
    out = tmp_path / "run"
    evaluated([rows], out, pool=in_process(own_arithmetic, ("aa", "bb")), share=(1, 2), size=4)
    with pytest.raises(InputError, match=r"--strict: .* 2 kinds of arithmetic \(aa in \d+ parts and bb in \d+"):
        evaluated([rows], out, strict=True, size=4)

    assert evaluated([rows], out, size=4).complete
    assert '"arithmetic": ' in as_json(open_folder(str(out)))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            {"thresholds": {"groundedness": 0.7}},
            "its findings are by other thresholds (show and report take --threshold",
        ),
        ({"costs": {"missed": 2}}, "its faults are shown from another probability on ([costs])"),
    ],
)
def test_other_criteria_are_told_by_name(tmp_path: Path, rows: Path, change: dict[str, Any], told: str) -> None:
    given = job([rows], tmp_path / "run")
    known = given.manifest.configuration
    first = {**known, "thresholds": {**known["thresholds"], "groundedness": 0.9}}
    executed(replace(given, manifest=replace(given.manifest, configuration=first)))
    merged = {name: {**first.get(name, {}), **value} for name, value in change.items()}

    with pytest.raises(InputError) as raised:
        executed(replace(given, manifest=replace(given.manifest, configuration={**first, **merged})))
    assert told in str(raised.value)
    assert "--max-text" not in str(raised.value)


def test_files_that_are_read_in_another_way_are_told_by_the_flag(tmp_path: Path, rows: Path) -> None:
    given = job([rows], tmp_path / "run")
    executed(given)
    other = replace(given.manifest, read_options=replace(given.manifest.read_options, max_text=7), texts=True)

    with pytest.raises(InputError, match=r"in another way \(--max-text\) and it doesn't hold the texts \(--texts\);"):
        executed(replace(given, manifest=other))
