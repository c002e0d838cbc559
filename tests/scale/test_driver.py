"""What the driver does with what it hears, without a process."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scripted_judges import as_json, by_one_process, evaluated, row, stopped_at, timeless, written

from inline_pool import InlinePool
from ragtriage.core.errors import JudgeError
from ragtriage.execution.job import Job, Task, TaskResult
from ragtriage.execution.pools import Ended, Event, Lost
from ragtriage.store import open_store
from ragtriage.store.folder import open_folder


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.jsonl", [row(i) for i in range(60)])


def test_half_of_the_first_ten_partitions_failing_stops_it(tmp_path: Path, rows: Path) -> None:
    pools: list[InlinePool] = []

    def broken(orders: Job, _: int) -> InlinePool:
        pools.append(
            InlinePool(orders, lambda task, who, _: Ended(task, TaskResult(task.partition.id, "failed", "no"), who))
        )
        return pools[0]

    result = evaluated([rows], tmp_path / "set", size=3, pool=broken)

    assert len(result.records.plan.partitions) >= 15
    assert result.driven.stopped == "stopped, as 5 of the first 5 partitions failed"
    assert len(result.driven.failures) == 5
    assert all(told.endswith("failed 3 times: no") for told in result.driven.failures)
    assert len({task.partition.id for task in pools[0].given}) < 20


def test_every_attempt_has_a_name_of_its_own(tmp_path: Path, rows: Path) -> None:
    pools: list[InlinePool] = []
    lost: set[str] = set()

    def once(task: Task, who: str, worked: TaskResult) -> Event:
        if task.partition.id in lost:
            return Ended(task, worked, who)
        lost.add(task.partition.id)
        return Lost(task, "gone")

    def pool(orders: Job, _: int) -> InlinePool:
        pools.append(InlinePool(orders, once))
        return pools[0]

    result = evaluated([rows], tmp_path / "set", pool=pool)
    names = [(task.partition.id, task.attempt) for task in pools[0].given]

    assert result.complete
    assert len(names) == len(set(names)) == 2 * len(result.records.plan.partitions)
    assert [record.case.id for record in result.records.records()] == [f"case {i}" for i in range(60)]


def other_arithmetic(task: Task, who: str, worked: TaskResult) -> Event:
    """The second process computes otherwise."""
    return Ended(task, replace(worked, marker={**worked.marker, "probe": "aa" if who == "one" else "bb"}), who)


def two(orders: Job, _: int) -> InlinePool:
    return InlinePool(orders, other_arithmetic, ("one", "two"))


def test_processors_of_two_kinds_are_told_and_strict_leaves_one_out(tmp_path: Path, rows: Path) -> None:
    loose = evaluated([rows], tmp_path / "loose", pool=two)
    strict = evaluated([rows], tmp_path / "strict", pool=two, strict=True)

    assert loose.complete
    assert '"arithmetic": 2' in as_json(open_folder(str(tmp_path / "loose")))
    assert strict.complete
    assert {marker.probe for marker in strict.records.markers.values()} == {"aa"}
    assert [*strict.driven.aside] == ["two"]
    assert "arithmetic" not in as_json(strict.records)


def test_a_process_with_other_versions_is_refused_with_both(tmp_path: Path, rows: Path) -> None:
    def old(orders: Job, _: int) -> InlinePool:
        return InlinePool(replace(orders, versions={**orders.versions, "onnxruntime": "0.1"}))

    with pytest.raises(JudgeError, match=r"onnxruntime [0-9.]+ on .*, 0\.1 where the command runs"):
        evaluated([rows], tmp_path / "set", pool=old)


def test_partitions_with_failed_scores_are_worked_on_again(tmp_path: Path, rows: Path) -> None:
    evaluated([rows], tmp_path / "set", pool=lambda orders, _: InlinePool(orders, _one_failure))
    pools: list[InlinePool] = []

    def pool(orders: Job, _: int) -> InlinePool:
        pools.append(InlinePool(orders))
        return pools[0]

    first = open_folder(str(tmp_path / "set"))
    again = evaluated([rows], tmp_path / "set", pool=pool)

    assert first.info.failed == 1
    assert len(pools[0].given) == 1
    assert again.records.info.failed == 0


def test_a_partition_that_the_judge_was_stopped_in_is_kept_and_gone_on_with(tmp_path: Path, rows: Path) -> None:
    inline = {"size": 60, "pool": lambda orders, _: InlinePool(orders)}
    first = evaluated([rows], tmp_path / "set", judge=partial(stopped_at, *range(7, 12)), **inline)
    (marker,) = first.driven.markers.values()
    less = evaluated([rows], tmp_path / "set", judge=partial(stopped_at, *range(7, 16)), **inline)
    more = evaluated([rows], tmp_path / "set", judge=partial(stopped_at, 7, 8), **inline)
    whole = evaluated([rows], tmp_path / "set", **inline)

    assert not any(result.complete for result in (first, less, more))
    assert first.driven.stopped == "no money is left"
    assert marker.left == 5
    assert first.records.info.state == "interrupted"
    # who comes less far takes nothing back
    assert [one.part for one in less.records.markers.values()] == [marker.part]
    assert [one.left for one in more.records.markers.values()] == [2]
    assert whole.complete
    assert [record.case.id for record in whole.records.records()] == [f"case {i}" for i in range(60)]


def test_cases_that_are_done_are_kept_though_one_before_them_is_not(tmp_path: Path) -> None:
    rows = written(tmp_path / "rows.jsonl", [*(row(i) for i in range(40)), "{broken", row(3)])
    out = tmp_path / "set"
    inline = {"size": 99, "pool": lambda orders, _: InlinePool(orders)}
    stopped = evaluated([rows], out, judge=partial(stopped_at, 7), **inline)
    ids = [f"case {i}" for i in range(40) if i != 7]

    assert (stopped.complete, stopped.driven.stopped) == (False, "no money is left")
    found = stopped.records
    assert [record.case.id for record in found.records()] == ids
    assert (found.info.done, found.info.rejected) == (39, 2)
    assert found.record("case 33").case.id == "case 33"
    assert [place for place, *_ in found.columns().cases()] == [*range(39)]
    whole = evaluated([rows], out, **inline).records
    kept = [record for record in timeless(whole.records()) if record.case.id != "case 7"]
    assert kept == timeless(found.records())
    with open_store(tmp_path / "store") as store:
        one = by_one_process(rows, store)
        assert timeless(whole.records()) == timeless(one.records())
        assert whole.rejected() == one.rejected()


def _one_failure(task: Task, who: str, worked: TaskResult) -> Event:
    first = isinstance(task.partition.part, object) and getattr(task.partition.part, "start", 1) == 0
    marker: dict[str, Any] = {**worked.marker, "failed": 1} if first else {**worked.marker}
    return Ended(task, replace(worked, marker=marker), who)
