"""The example cases: questions to the assistant of a fictional operator, with faults that are known.

The known faults are read after the evaluation, to say how many of them the judge named; nothing that judges reads them.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragtriage.diagnosis.findings import Finding

DATA = Path(__file__).parent / "data"
CASES = DATA / "cases.jsonl"
BLAME = ("failure", "quality")
"""Kinds of findings that say that an answer is bad."""


@dataclass(frozen=True, slots=True)
class KnownFault:
    """What is known about one example case."""

    id: str
    fault: str
    """The name of a diagnosis rule, or `none`."""
    also: tuple[str, ...]
    """Further rules that hold."""
    note: str
    """What is wrong, and where."""

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong."""
        return self.fault == "none"


@dataclass(frozen=True, slots=True)
class CheckedCase:
    """One example case: what is known, and what was found."""

    known: KnownFault
    rules: tuple[str, ...]
    """The rules that fired."""
    blamed: bool
    """Whether a failure or a lack of quality was found."""

    @property
    def right(self) -> bool:
        """The known fault was named; a sound case wasn't blamed."""
        if self.known.sound:
            return not self.blamed or bool(set(self.rules) & set(self.known.also))
        return self.known.fault in self.rules


def known_faults() -> dict[str, KnownFault]:
    """Case id → what is known about it."""
    rows = (json.loads(line) for line in (DATA / "faults.jsonl").read_text(encoding="utf-8").splitlines())
    return {row["id"]: KnownFault(row["id"], row["fault"], tuple(row.get("also", ())), row["note"]) for row in rows}


def check_cases(
    known: Mapping[str, KnownFault], findings: Iterable[tuple[str, Sequence[Finding]]]
) -> list[CheckedCase]:
    """Hold what was found against what is known."""
    return [
        CheckedCase(known[case], tuple(f.rule for f in found), any(f.kind in BLAME for f in found))
        for case, found in findings
        if case in known
    ]


def fault_counts(marked: Collection[CheckedCase]) -> tuple[int, int, int, int]:
    """(faults named, faults there are, sound cases that were blamed, sound cases there are)."""
    sound = [m for m in marked if m.known.sound]
    faulty = [m for m in marked if not m.known.sound]
    return sum(m.right for m in faulty), len(faulty), sum(not m.right for m in sound), len(sound)
