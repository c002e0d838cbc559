"""Writing a run in a folder: its manifest, its parts, and in the end what it amounts to."""

import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ragtriage.core.amount import Amount
from ragtriage.core.case import Case, Record
from ragtriage.core.files import Folder
from ragtriage.readers import Rejected
from ragtriage.readers.files import ByteRange
from ragtriage.readers.json_files import without_line
from ragtriage.runs.case_row import CaseHeading, CaseRow
from ragtriage.runs.evaluation_config import config_of
from ragtriage.runs.manifest import CommittedPart, Manifest, PartPlan, now
from ragtriage.runs.run import FINISHED, Run
from ragtriage.runs.summary import Tally
from ragtriage.runs.tally import tally_of
from ragtriage.store.folder import SUMMARY, counts_of, file_of, folder_place, write_summary
from ragtriage.store.part_file import EARLIER, Duplicate, PartFile, checksum


class FolderWriter:
    """Gathers one part, in the order of the input; nothing counts before `ragtriage.store.folder.commit`."""

    def __init__(self, folder: Folder, manifest: Manifest, plan: PartPlan, attempt: str) -> None:
        self._folder, self._plan, self._attempt = folder, plan, attempt
        self._file = PartFile(manifest.metrics, texts=manifest.texts)
        self._places: dict[str, tuple[int, int]] = {}
        self._rejected: list[Rejected] = []
        self._early: dict[int, CaseRow] = {}
        """Cases that others come before which aren't there yet."""
        self.done = 0
        """How many cases are written, each behind all before it."""
        self._rows = self._cases = self._failed = 0
        self._began = time.monotonic()

    def todo(self, rows: Iterable[tuple[int, Case | Rejected]]) -> Iterator[Case]:
        """The cases of the part, read lazily; what can't be used is gathered. Rows come with their numbers, from 1."""
        for number, row in rows:
            self._rows = number
            if isinstance(row, Rejected):
                self._rejected.append(replace(row, reason=self._in_any_part(row)))
                continue
            self._places[row.id] = self._cases, number
            self._cases += 1
            yield row

    def keep(self, record: Record, heading: CaseHeading | None = None) -> None:
        """Keep the record of an evaluated case, and what the diagnosis says of it under the run's own criteria."""
        position, number = self._places.pop(record.case.id)
        self._early[position] = CaseRow.of(record, position, number, heading)
        while self.done in self._early:
            self._write(self._early.pop(self.done))

    def leave_out_the_rest(self) -> int:
        """Make do with the cases that are done, as if the others weren't there; how many are left out."""
        left = self._cases - self.done - len(self._early)
        for position in sorted(self._early):
            self._write(replace(self._early.pop(position), position=self.done))
        self._cases = self.done
        return left

    def written(self, left: int, probe: str, spent: Amount, tally: Tally) -> CommittedPart:
        """Write the file; what is to be committed. `left` cases were left out."""
        self._file.reject(self._rejected)
        content = self._file.whole()
        part = CommittedPart(
            plan=self._plan.id,
            name=f"{self._plan.id}-{self._attempt}",
            checksum=checksum(content),
            rows=self._rows,
            cases=self._cases,
            failed=self._failed,
            rejected=len(self._rejected),
            left=left,
            ends=any(row.ends for row in self._rejected),
            probe=probe,
            host=socket.gethostname(),
            seconds=time.monotonic() - self._began,
            spent=spent,
            counts=tally.counts(),
        )
        self._folder.write_from(file_of(part), content)
        return part

    def _in_any_part(self, row: Rejected) -> str:
        """Why a row can't be used, without numbers that count from where the part begins."""
        if row.twin_of is not None:
            return row.reason.replace(f"row {row.twin_of}", EARLIER, 1)
        in_lines = isinstance(self._plan.part, ByteRange) and row.line is not None
        return without_line(row.reason, row.line or 0) if in_lines else row.reason

    def close(self) -> None:
        """Let go what was gathered."""
        self._file.close()

    def _write(self, row: CaseRow) -> None:
        self._file.add(row)
        self._failed += row.failed
        self.done += 1


def reopen(folder: Folder) -> None:
    """Take back what says that a run is complete, before a part of it is worked on again."""
    folder.delete(SUMMARY)


def finish(folder: Folder, manifest: Manifest, parts: Mapping[str, CommittedPart], address: str) -> Run:
    """Find the duplicates of a run whose parts are all done, and write what it amounts to."""
    unfinished = folder_place(folder, manifest, parts.values(), address)
    duplicates, own = unfinished.duplicates, [one.part for one in unfinished.placed]
    summary: dict[str, Any] = {
        "state": FINISHED,
        "finished": now(),
        "rows": unfinished.starts[-1],
        **counts_of(manifest, own, len(duplicates)),
        "duplicates": [[getattr(one, name) for name in Duplicate.__slots__] for one in duplicates],
    }
    found = folder_place(folder, manifest, own, address, summary=summary)
    write_summary(found, tally_of(Run(found), config_of(found.info)).summary().as_json())
    return Run(found)
