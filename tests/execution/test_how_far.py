"""How far a command says that it is: within a part, of its own share, and at the end."""

import json
from pathlib import Path
from typing import Any

import pytest
from scripted_judges import blocking, evaluated, row, two_processes, written

from ragtriage.core.amount import Amount
from ragtriage.core.files import folder_at
from ragtriage.execution.execute import Progress, rows_of
from ragtriage.readers.files import ByteRange
from ragtriage.runs.manifest import PartPlan


def csv_file(path: Path, count: int) -> Path:
    lines = [f"q{i},What costs ticket {i}?,It costs six.,The ticket {i} costs six." for i in range(count)]
    path.write_text("\n".join(["id,question,contexts,answer", *lines]), encoding="utf-8")
    return path


def test_cases_within_a_part_count(tmp_path: Path) -> None:
    now = [0.0]
    progress = Progress(folder_at(str(tmp_path)), 2, 4_000, before=1_000, clock=lambda: now[0])
    now[0] = 100.0

    told = progress.values(2, 1, Amount(), working=500)
    assert (told["cases"], told["cases_a_second"], told["seconds_left"]) == (1_500, 5.0, 500)


def test_a_file_that_is_one_part_shows_its_cases_while_it_is_worked_on(tmp_path: Path) -> None:
    lines: list[str] = []
    result = evaluated(
        [csv_file(tmp_path / "rows.csv", 200)], tmp_path / "run", judge=blocking, show=lines.append, pool=two_processes
    )

    assert result.complete
    assert [line for line in lines if 0 < int(line.split()[0]) < 200 and ", 0 of 1 part" in line]


def told(out: Path, name: str = "progress.json") -> dict[str, Any]:
    return json.loads((out / name).read_text())  # type: ignore[no-any-return]


def test_the_file_says_at_the_end_that_it_is_the_end(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", [row(i) for i in range(40)])
    evaluated([path], tmp_path / "run", size=10)

    found = told(tmp_path / "run")
    assert (found["cases"], found["running"], found["seconds_left"]) == (40, 0, 0)
    assert found["parts"] == found["of_parts"] == len(list((tmp_path / "run" / "done").iterdir()))


def test_a_share_counts_its_own_rows(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", [row(i) for i in range(200)])
    evaluated([path], tmp_path / "run", size=10, share=(1, 2))

    found = told(tmp_path / "run", "progress-1-of-2.json")
    assert found["cases"] == pytest.approx(100, abs=15)
    assert found["of"] == pytest.approx(found["cases"], abs=5)


def test_rows_of_some_parts_are_known_or_estimated_by_their_bytes() -> None:
    class Given:
        rows = 130
        plan = (
            PartPlan("a", 0, ByteRange(0, 100), None),
            PartPlan("b", 0, ByteRange(100, 300), None),
            PartPlan("c", 1, None, 100),
        )

    a, b, c = Given.plan
    plan: Any = Given
    assert rows_of(plan, Given.plan) == 130
    assert rows_of(plan, [a, c]) == 110
    assert rows_of(plan, [b]) == 20
    assert rows_of(plan, [a, PartPlan("d", 2, None, None)]) == 0
