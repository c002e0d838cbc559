"""A part grows on disk and not in memory, and long texts make its row groups small."""

import gc
import random
from collections.abc import Iterator
from contextlib import closing

import pyarrow.parquet as pq
import pytest
from scripted_judges import METRICS

from ragtriage.core.case import Case, Record, Source
from ragtriage.runs.case_row import WHOLE, CaseRow
from ragtriage.store.part_file import (
    IN_MEMORY,
    ROW_GROUP_BYTES,
    PartFile,
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
            part.add(CaseRow.of(Record(case), position, position + 1), made_up=False)
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
    part.add(CaseRow.of(Record(next(long_cases())), 0, 1), made_up=False)
    part.close()
    del part
    gc.collect()  # what the writer says at its end, where its file is gone, fails this test


@pytest.mark.parametrize("positions", [(0, 2, 1), (1, 2), (0, 2), (0, 0, 1)])
def test_cases_that_are_missing_or_stand_elsewhere_are_no_part(positions: tuple[int, ...]) -> None:
    with closing(PartFile(METRICS, texts=False)) as part:
        for position in positions:
            part.add(CaseRow.of(Record(Case(f"c{position}", "Q?")), position, position + 1), made_up=False)
        file = part.whole()

        for read in (
            lambda: list(read_cases(file, WHOLE, METRICS)),
            lambda: read_ids(file),
            lambda: read_numbers(file, []),
        ):
            with pytest.raises(ValueError, match="its cases aren't in order"):
                read()
