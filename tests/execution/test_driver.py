"""What the driver does with what it hears, without a process."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scripted_judges import (
    as_json,
    blocking,
    by_one_process,
    evaluated,
    executed,
    in_process,
    job,
    numberless,
    place_of,
    row,
    stopped_at,
    timeless,
    two_processes,
    written,
)

from ragtriage.core.amount import Amount
from ragtriage.core.errors import JudgeError
from ragtriage.core.files import folder_at
from ragtriage.execution.execute import Progress, rows_of
from ragtriage.execution.pools import Ended, Lost, PoolEvent
from ragtriage.execution.worker import Task, TaskResult
from ragtriage.readers.files import ByteRange
from ragtriage.runs.manifest import PartPlan
from ragtriage.store import open_store
from ragtriage.store.folder import open_folder


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.jsonl", [row(i) for i in range(60)])


def test_half_of_the_first_ten_parts_failing_stops_it(tmp_path: Path, rows: Path) -> None:
    given: list[Task] = []

    def broken(ended: Ended) -> PoolEvent:
        given.append(ended.task)
        return replace(ended, result=TaskResult("failed", "no"))

    result = evaluated([rows], tmp_path / "run", size=3, pool=in_process(broken))

    assert len(place_of(result.run).manifest.plan) >= 15
    assert result.stopped == "stopped, as 5 of the first 5 parts failed"
    assert len(result.failures) == 5
    assert all(told.endswith("failed 3 times: no") for told in result.failures)
    assert len({task.plan.id for task in given}) < 20


def test_every_attempt_has_a_name_of_its_own(tmp_path: Path, rows: Path) -> None:
    given: list[Task] = []
    lost: set[str] = set()

    def once(ended: Ended) -> PoolEvent:
        given.append(ended.task)
        if ended.task.plan.id in lost:
            return ended
        lost.add(ended.task.plan.id)
        return Lost(ended.task, "gone")

    result = evaluated([rows], tmp_path / "run", pool=in_process(once))
    names = [(task.plan.id, task.attempt) for task in given]

    assert result.complete
    assert len(names) == len(set(names)) == 2 * len(place_of(result.run).manifest.plan)
    assert [record.case.id for record in result.run.records()] == [f"case {i}" for i in range(60)]


def csv_file(path: Path, count: int) -> Path:
    lines = [f"q{i},What costs ticket {i}?,It costs six.,The ticket {i} costs six." for i in range(count)]
    path.write_text("\n".join(["id,question,contexts,answer", *lines]), encoding="utf-8")
    return path


def test_a_file_that_is_one_part_shows_its_cases_while_it_is_worked_on(tmp_path: Path) -> None:
    now = [0.0]
    progress = Progress(folder_at(str(tmp_path)), 2, 4_000, before=1_000, clock=lambda: now[0])
    now[0] = 100.0
    values = progress.values(2, 1, Amount(), working=500)
    assert (values["cases"], values["cases_a_second"], values["seconds_left"]) == (1_500, 5.0, 500)

    lines: list[str] = []
    given = [csv_file(tmp_path / "rows.csv", 200)]
    assert evaluated(given, tmp_path / "run", judge=blocking, show=lines.append, pool=two_processes).complete
    assert [line for line in lines if 0 < int(line.split()[0]) < 200 and ", 0 of 1 part" in line]


def test_a_share_counts_its_own_rows_and_at_the_end_the_file_says_that_it_is_the_end(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", [row(i) for i in range(100)])
    evaluated([path], tmp_path / "run", size=10, share=(1, 2))
    own = json.loads((tmp_path / "run" / "progress-1-of-2.json").read_text())
    assert own["cases"] == pytest.approx(50, abs=15)
    assert own["of"] == pytest.approx(own["cases"], abs=5)

    evaluated([path], tmp_path / "whole", size=10)
    whole = json.loads((tmp_path / "whole" / "progress.json").read_text())
    assert (whole["cases"], whole["running"], whole["seconds_left"]) == (100, 0, 0)
    assert whole["parts"] == whole["of_parts"] == len(list((tmp_path / "whole" / "done").iterdir()))


def test_rows_of_some_parts_are_known_or_estimated_by_their_bytes() -> None:
    a, b = (PartPlan("", 0, ByteRange(*part), None) for part in ((0, 100), (100, 300)))
    c, d = PartPlan("c", 1, None, 100), PartPlan("d", 2, None, None)
    plan: Any = SimpleNamespace(rows=130, plan=(a, b, c))
    assert [rows_of(plan, parts) for parts in (plan.plan, [a, c], [b], [a, d])] == [130, 110, 20, 0]


def with_part(ended: Ended, **changes: Any) -> Ended:
    """What came of a task, with another part."""
    assert ended.result.part is not None
    return replace(ended, result=replace(ended.result, part=replace(ended.result.part, **changes)))


def other_arithmetic(ended: Ended) -> PoolEvent:
    """The second process computes otherwise."""
    return with_part(ended, probe="aa" if ended.who == "one" else "bb")


TWO = in_process(other_arithmetic, ("one", "two"))


def test_processors_of_two_kinds_are_told_and_strict_leaves_one_out(tmp_path: Path, rows: Path) -> None:
    loose = evaluated([rows], tmp_path / "loose", pool=TWO)
    strict = evaluated([rows], tmp_path / "strict", pool=TWO, strict=True)

    assert loose.complete
    assert '"arithmetic": 2' in as_json(open_folder(str(tmp_path / "loose")))
    assert strict.complete
    assert {part.probe for part in strict.parts.values()} == {"aa"}
    assert [*strict.aside] == ["two"]
    assert "arithmetic" not in as_json(strict.run)


def test_a_process_with_other_versions_is_refused_with_both(tmp_path: Path, rows: Path) -> None:
    given = job([rows], tmp_path / "run")
    old = replace(given.manifest, versions={**given.manifest.versions, "onnxruntime": "0.1"})

    with pytest.raises(JudgeError, match=r"onnxruntime [0-9.]+ on .*, 0\.1 where the command runs"):
        executed(replace(given, manifest=old))


def test_parts_with_failed_scores_are_worked_on_again(tmp_path: Path, rows: Path) -> None:
    def one_failure(ended: Ended) -> PoolEvent:
        return with_part(ended, failed=1) if getattr(ended.task.plan.part, "start", 1) == 0 else ended

    evaluated([rows], tmp_path / "run", pool=in_process(one_failure))
    given: list[Task] = []

    def heard(ended: Ended) -> PoolEvent:
        given.append(ended.task)
        return ended

    first = open_folder(str(tmp_path / "run"))
    again = evaluated([rows], tmp_path / "run", pool=in_process(heard))

    assert first.info.failed == 1
    assert len(given) == 1
    assert again.run.info.failed == 0


def test_a_part_that_the_judge_was_stopped_in_is_kept_and_gone_on_with(tmp_path: Path, rows: Path) -> None:
    first = evaluated([rows], tmp_path / "run", judge=partial(stopped_at, *range(7, 12)), size=60)
    (part,) = first.parts.values()
    less = evaluated([rows], tmp_path / "run", judge=partial(stopped_at, *range(7, 16)), size=60)
    more = evaluated([rows], tmp_path / "run", judge=partial(stopped_at, 7, 8), size=60)
    whole = evaluated([rows], tmp_path / "run", size=60)

    assert not any(result.complete for result in (first, less, more))
    assert first.stopped == "no money is left"
    assert part.left == 5
    assert first.run.info.state == "interrupted"
    # who comes less far takes nothing back
    assert [one.name for one in less.parts.values()] == [part.name]
    assert [one.left for one in more.parts.values()] == [2]
    assert whole.complete
    assert [record.case.id for record in whole.run.records()] == [f"case {i}" for i in range(60)]


def test_cases_that_are_done_are_kept_though_one_before_them_is_not(tmp_path: Path) -> None:
    rows = written(tmp_path / "rows.jsonl", [*(row(i) for i in range(40)), "{broken", row(3)])
    out = tmp_path / "run"
    stopped = evaluated([rows], out, judge=partial(stopped_at, 7), size=99)
    ids = [f"case {i}" for i in range(40) if i != 7]

    assert (stopped.complete, stopped.stopped) == (False, "no money is left")
    found = stopped.run
    assert [record.case.id for record in found.records()] == ids
    assert (found.info.done, found.info.rejected) == (39, 2)
    assert found.record("case 33").case.id == "case 33"
    assert [case.position for case in found.facts()] == [*range(39)]
    whole = evaluated([rows], out, size=99).run
    kept = [record for record in timeless(whole.records()) if record.case.id != "case 7"]
    assert kept == timeless(found.records())
    with open_store(tmp_path / "store") as store:
        one = by_one_process(rows, store)
        assert timeless(whole.records()) == timeless(one.records())
        assert whole.rejected() == numberless(one)
