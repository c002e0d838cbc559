"""A baseline file and the run that it was made from are compared alike; a broken file is told with its line."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compared_runs import ScriptedJudge, answers, store_run
from ragtriage import open_store
from ragtriage.core.errors import ConfigError, InputError, StoreError
from ragtriage.runs.compare.baseline import BaselineOptions, read_baseline, write_baseline
from ragtriage.runs.compare.compare import Chosen, CompareOptions, choose_side, compare_chosen
from ragtriage.runs.compare.comparison import Comparison
from ragtriage.runs.compare.gates import CompareGates, worse_limits
from ragtriage.runs.compare.sides import NOTE, found_columns, found_on, packed, side_of, unpacked
from ragtriage.runs.evaluation_config import EvaluationConfig, config_of

ROWS = answers(24, bad=(1, 2), topic=lambda i: f"t{i % 3}")
NEW = answers(24, bad=(2, 5, 6, 7, 8, 9, 10, 11), topic=lambda i: f"t{i % 3}")


def without_ids(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "id"} for row in rows]


def config(folder: Path, run: int = 2) -> EvaluationConfig:
    with open_store(folder / ".ragtriage") as store:
        return config_of(store.run(run).info)


def written(folder: Path, name: str = "base.json", **options: Any) -> Path:
    """A baseline of run 1."""
    path = folder / name
    with open_store(folder / ".ragtriage") as store:
        reading = config_of(store.run(1).info)
        side = side_of([store.run(1)], "run 1", options.get("tags", ()), reading=reading)
        write_baseline(path, side, BaselineOptions(**options))
    return path


def compared(folder: Path, base: str | Path, reading: EvaluationConfig | None = None, **more: Any) -> Comparison:
    with open_store(folder / ".ragtriage") as store:
        before = Chosen(file=base) if isinstance(base, Path) else choose_side(store, base)
        return compare_chosen(before, choose_side(store, "2"), reading or config(folder), CompareOptions(**more))


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of two runs, made once."""
    folder = tmp_path_factory.mktemp("two")
    store_run(ROWS, folder=folder)
    store_run(NEW, folder=folder)
    return folder


@pytest.fixture
def folder(two_runs: Path, tmp_path: Path) -> Path:
    """It, for one test."""
    return shutil.copytree(two_runs, tmp_path, dirs_exist_ok=True)


def alike(one: Comparison, other: Comparison) -> None:
    assert one.pairs == other.pairs
    for a, b in zip(one.metrics, other.metrics, strict=True):
        assert (a.name, a.verdict, a.how, a.defined, a.lost, a.gained) == (
            b.name, b.verdict, b.how, b.defined, b.lost, b.gained,
        )  # fmt: skip
        for key in ("difference", "se", "low", "high", "sees", "base", "new"):
            numbers = [getattr(found.paired, key) if found.paired else None for found in (a, b)]
            assert numbers[0] == pytest.approx(numbers[1], abs=1e-6), key
    assert one.findings == other.findings
    assert one.headlines == other.headlines
    assert one.changes.response == other.changes.response
    assert [(g.outcome, g.says) for g in one.gates] == [(g.outcome, g.says) for g in other.gates]


@pytest.mark.parametrize("name", ["base.json", "base.json.gz"])
def test_a_baseline_and_its_run_are_compared_alike(folder: Path, name: str) -> None:
    options: dict[str, Any] = {
        "by": "topic", "cluster": "topic", "gates": CompareGates({}, {}, worse_limits(["groundedness=0.03"]))
    }  # fmt: skip
    path = written(folder, name, tags=("topic",))
    one, other = compared(folder, "1", **options), compared(folder, path, **options)

    alike(one, other)
    assert one.slices == other.slices
    assert other.base.baseline == str(path)
    assert other.base.runs == (1,)


def test_hashed_ids_pair_and_without_digests_nothing_is_known_of_what_changed(folder: Path) -> None:
    path = written(folder, hash_ids=True)
    assert "q11" not in path.read_text()
    alike(compared(folder, "1"), compared(folder, path))

    found = compared(folder, written(folder, digests=False))
    assert (found.pairs.paired, found.changes.unknown) == (24, 24)
    assert all(row.verdict != "not touched" for row in found.metrics)


def test_cases_with_made_up_ids_stand_by_their_questions(tmp_path: Path) -> None:
    store_run(without_ids(ROWS), folder=tmp_path)
    store_run(without_ids(NEW)[::-1], folder=tmp_path)
    path = written(tmp_path)
    one, other = compared(tmp_path, "1"), compared(tmp_path, path)

    assert one.pairs.by == other.pairs.by == "query"
    assert other.pairs.paired == 24
    alike(one, other)
    with pytest.raises(ConfigError, match="--no-digests"):
        written(tmp_path, digests=False)


def test_lines_stand_in_the_order_of_their_keys_and_hold_no_text(folder: Path) -> None:
    text = written(folder).read_text()
    head, lines = text.split('"cases": [\n')
    cases = [json.loads(line.rstrip(",")) for line in lines.splitlines()[:-1]]

    assert [case["key"] for case in cases] == sorted(case["key"] for case in cases)
    assert json.loads(text)["format"] == 1
    assert "claim" not in lines
    assert "What about" not in text
    assert "good" not in text
    assert head.count("\n") > 10


def test_other_thresholds_are_an_error_and_other_rules_leave_findings_out(folder: Path) -> None:
    path, reading = written(folder), config(folder)
    other = EvaluationConfig(reading.metrics, {**reading.thresholds, "groundedness": 0.95}, reading.rules)

    with pytest.raises(ConfigError, match=r"groundedness=0\.8.*make it anew"):
        compared(folder, path, other)
    fewer = compared(folder, path, EvaluationConfig(reading.metrics, reading.thresholds, reading.rules[:-1]))
    assert fewer.findings == ()
    assert any("made with other rules" in note for note in fewer.notes)


def test_an_incomplete_run_is_no_baseline(tmp_path: Path) -> None:
    store_run([*answers(3), {**answers(1)[0], "id": "x", "answer": "broken"}], folder=tmp_path)

    with pytest.raises(StoreError, match="scores failed on 1 case"):
        written(tmp_path)


def test_several_trials_keep_their_noise(tmp_path: Path) -> None:
    store_run(ROWS, folder=tmp_path, trials=2, judge=ScriptedJudge())
    with open_store(tmp_path / ".ragtriage") as store:
        chosen = choose_side(store, "1")
        assert [run.number for run in chosen.runs] == [1, 2]
        assert choose_side(store, "2").notes == ("run 2 is a further trial of run 1, which is taken with all trials",)
        reading = config_of(store.run(1).info)
        side = side_of(chosen.runs, chosen.name, reading=reading)
        write_baseline(tmp_path / "b.json", side, BaselineOptions())
    again = read_baseline(tmp_path / "b.json")

    assert again.header.trials == 2
    assert again.table.noise["groundedness"] == 0


BROKEN = {
    "cut off": (lambda t: t[:-3], "cut off"),
    "broken line": (lambda t: t.replace('"key": "q1"', '"key": q1'), r"line \d+: broken JSON"),
    "a key twice in a case": (lambda t: t.replace('"key": "q1"', '"key": "a", "key": "q1"'), "'key' stands twice"),
    "a case twice": (lambda t: t.replace('"key": "q11"', '"key": "q10"'), "'q10' stands twice"),
    "NaN": (lambda t: t.replace('"scores": [1.0', '"scores": [NaN', 1), "NaN is no number"),
    "a newer format": (lambda t: t.replace('"format": 1', '"format": 2'), "update ragtriage"),
    "no format": (lambda t: t.replace('"format": 1', '"x": 1'), "no baseline"),
    "another file": (lambda _: "{}\n", "no baseline"),
    "rewritten in one line": (lambda t: json.dumps(json.loads(t)), "no baseline of one case a line"),
    "too few scores": (lambda t: t.replace('"scores": [1.0, ', '"scores": [', 1), "7 metrics"),
    "a text as a score": (lambda t: t.replace('"scores": [1.0', '"scores": ["good"', 1), "'good' is no number"),
    "an unknown rule": (lambda t: t.replace('"undecided": [', '"undecided": [99, ', 1), "a rule that the head"),
    "broken digests": (lambda t: t.replace('"digests": "', '"digests": "!', 1), "digests are broken"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_baseline_is_told(folder: Path, name: str) -> None:
    change, said = BROKEN[name]
    path = written(folder)
    before = path.read_text()
    path.write_text(change(before))  # type: ignore[no-untyped-call]

    assert path.read_text() != before
    with pytest.raises(InputError, match=said):
        read_baseline(path)


def test_unknown_keys_are_ignored_and_a_cut_gzip_is_told(folder: Path) -> None:
    path = written(folder)
    path.write_text(
        path.read_text().replace('"format": 1', '"format": 1,\n"later": [1]').replace('"key":', '"new": 1, "key":')
    )
    assert len(read_baseline(path).table) == 24
    packed = folder / "b.json.gz"
    packed.write_bytes(gzip.compress(path.read_bytes())[:-20])
    with pytest.raises(InputError, match="can't be read"):
        read_baseline(packed)


def test_what_was_found_on_a_large_run_is_kept_and_read_alike(folder: Path) -> None:
    with open_store(folder / ".ragtriage") as store:
        run, reading = store.run(2), config_of(store.run(2).info)
        cases = [found_on(record, reading) for record in run.records()]
        run.place.note(NOTE, "a", packed(cases))
        run.place.note(NOTE, "b", packed(cases))
        again = unpacked(run.place.note(NOTE, "b") or "")

        assert packed(again) == packed(cases)
        names = [rule.name for rule in reading.rules]
        one, other = found_columns(names, cases), found_columns(names, again)
        assert (one.heading, one.component) == (other.heading, other.component)
        np.testing.assert_equal([one.holds, one.sure, one.likely], [other.holds, other.sure, other.likely])
        assert run.place.note(NOTE, "a") is None
        assert store.run(1).place.note(NOTE, "b") is None
