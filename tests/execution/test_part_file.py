"""A part grows on disk and not in memory; of cases with the same id the first counts, whichever parts they are in."""

import gc
import random
from collections.abc import Iterator
from contextlib import closing

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_judges import METRICS

from ragtriage.core.case import Case, Record, Source
from ragtriage.readers import Rejected
from ragtriage.runs.case_row import WHOLE, CaseRow
from ragtriage.runs.manifest import CommittedPart, PartPlan
from ragtriage.store import part_file
from ragtriage.store.part_file import (
    IN_MEMORY,
    ROW_GROUP_BYTES,
    Duplicate,
    Entries,
    PartFile,
    PlacedPart,
    duplicates_in,
    find_duplicates,
    read_cases,
    read_ids,
    read_numbers,
)


def long_cases() -> Iterator[Case]:
    """Cases whose texts, a megabyte each, hardly pack."""
    drawn = random.Random(1)
    for i in range(40):
        yield Case(f"c{i}", "Q?", (Source(drawn.randbytes(500_000).hex()),), "R.")


def test_long_texts_are_written_as_they_come() -> None:
    with closing(PartFile(METRICS, texts=True)) as part:
        for position, case in enumerate(long_cases()):
            part.add(CaseRow.of(Record(case), position, position + 1))
        file = part.whole()

        groups = pq.ParquetFile(file).metadata
        assert groups.num_row_groups >= 40_000_000 // (ROW_GROUP_BYTES + 1_000_000)
        assert groups.num_rows == 40
        assert file.seek(0, 2) > IN_MEMORY
        assert file.name is not None  # it lies in the temporary folder, and not in memory
        file.seek(0)
        assert [row.case() for row in read_cases(file, WHOLE, METRICS)] == list(long_cases())


def test_a_part_that_is_let_go_is_closed_with_all_that_belongs_to_it() -> None:
    part = PartFile(METRICS, texts=True)
    part.add(CaseRow.of(Record(next(long_cases())), 0, 1))
    part.close()
    del part
    gc.collect()  # what the writer says at its end, where its file is gone, fails this test


@pytest.mark.parametrize("positions", [(0, 2, 1), (1, 2), (0, 2), (0, 0, 1)])
def test_cases_that_are_missing_or_stand_elsewhere_are_no_part(positions: tuple[int, ...]) -> None:
    with closing(PartFile(METRICS, texts=False)) as part:
        for position in positions:
            part.add(CaseRow.of(Record(Case(f"c{position}", "Q?")), position, position + 1))
        file = part.whole()

        for read in (
            lambda: list(read_cases(file, WHOLE, METRICS)),
            lambda: read_ids(file),
            lambda: read_numbers(file, []),
        ):
            with pytest.raises(ValueError, match="its cases aren't in order"):
                read()


DIGESTS = [bytes([number * 19]) * 8 + bytes([0, number]) * 4 for number in range(13)]


def ids_of(part: list[int]) -> Entries:
    """The ids of a part, as its file has them; a row that can't be used stands behind every case."""
    with closing(PartFile((), texts=False)) as file:
        for at, number in enumerate(part):
            file.add(CaseRow(at, f"{number}", DIGESTS[number], row=2 * at + 1))
        file.reject([Rejected(2 * at + 2, None, "no") for at in range(len(part))])
        return read_ids(file.whole())


def expected(parts: list[list[int]]) -> list[Duplicate]:
    """The cases with the same id as one before, whichever part that is in: one case after the other."""
    seen: set[int] = set()
    found = []
    for place, part in enumerate(parts):
        for at, number in enumerate(part):
            if number in seen:
                found.append(Duplicate(place, at, 2 * at + 1))
            seen.add(number)
    return found


@given(st.lists(st.lists(st.integers(0, 12), max_size=12, unique=True), max_size=5))
def test_duplicates_are_those_that_came_before(parts: list[list[int]]) -> None:
    assert list(duplicates_in([ids_of(part) for part in parts])) == expected(parts)


@pytest.mark.parametrize("at_a_time", [1, 4, 99])
def test_ids_that_are_compared_in_several_goes_give_the_same(monkeypatch: pytest.MonkeyPatch, at_a_time: int) -> None:
    monkeypatch.setattr(part_file, "AT_A_TIME", at_a_time)
    parts = [[0, 1, 2, 3, 4, 5], [6, 7, 0, 8], [9, 10, 11, 12, 3], [12, 0]]
    placed = [
        PlacedPart(PartPlan(f"{at}", 0, None, None), CommittedPart(f"{at}", "", "", 0, len(part), 0, 0), 0, 0)
        for at, part in enumerate(parts)
    ]
    assert find_duplicates(placed, lambda one: ids_of(parts[int(one.plan.id)])) == expected(parts)
