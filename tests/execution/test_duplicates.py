"""Of cases with the same id the first one counts, whichever parts they are in."""

from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.readers import Rejected
from ragtriage.runs.case_row import CaseRow
from ragtriage.runs.manifest import CommittedPart, PartPlan
from ragtriage.store import part_file
from ragtriage.store.part_file import Duplicate, Entries, PartFile, PlacedPart, duplicates_in, find_duplicates, read_ids

DIGESTS = [bytes([number * 19]) * 8 + bytes([0, number]) * 4 for number in range(13)]


def ids_of(part: list[int]) -> Entries:
    """The ids of a part, as its file has them; a row that can't be used stands behind every case."""
    with closing(PartFile((), texts=False)) as file:
        for at, number in enumerate(part):
            file.add(CaseRow(at, f"{number}", DIGESTS[number], row=2 * at + 1), made_up=number % 2 == 0)
        file.reject([Rejected(2 * at + 2, None, "no") for at in range(len(part))])
        return read_ids(file.whole())


def expected(parts: list[list[int]]) -> list[Duplicate]:
    """The same, one case after the other."""
    seen: set[int] = set()
    found = []
    for place, part in enumerate(parts):
        for at, number in enumerate(part):
            if number in seen:
                found.append(Duplicate(place, at, 2 * at + 1, number % 2 == 0))
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
