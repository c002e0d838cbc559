"""A record set that was written in the form of version 0.1.0 is read as it was written."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from ragtriage import Record, Score
from ragtriage.scale.checking import check_record_set
from ragtriage.scale.record_set import open_record_set

WRITTEN = Path(__file__).parent / "format_2"
"""Three cases by the embedded judge with `--on local:1 --texts`; the input isn't there any more."""


def test_a_record_set_of_format_2_is_read(tmp_path: Path) -> None:
    folder = str(shutil.copytree(WRITTEN, tmp_path / "set"))
    found = open_record_set(folder)

    assert (found.info.done, found.info.state, found.info.judge) == (3, "finished", "embedded")
    assert [record.case.id for record in found.records()] == ["t0", "t1", "t2"]
    assert found.record("t1").case.response == "Ticket 1 costs 4 euros. It includes a free lunch on board."
    assert [outcome.value < 0.8 for outcome in _grounded(found.records())] == [False, True, False]
    assert check_record_set(folder) == (["1 part looked through: nothing is missing"], True)


def _grounded(records: Iterable[Record]) -> Iterator[Score]:
    for record in records:
        outcome = record.outcomes["groundedness"]
        assert isinstance(outcome, Score)
        yield outcome
