"""One evaluated case: what an evaluation yields, a sink keeps and everything that shows results reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ragtriage.core.case import Case
from ragtriage.core.record_text import scores_in_short, scores_text
from ragtriage.core.steps import Step
from ragtriage.core.verdicts import Component, Known, Outcome, Verdicts


@dataclass(frozen=True, slots=True, repr=False)
class Record:
    """A case with all that was found out about it; as a text, its scores with the verdicts that they rest on."""

    case: Case
    steps: Mapping[str, Known] = field(default_factory=dict)
    """Every planned step, by its text form."""
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    """Every metric, by its name."""
    language: str = "en"
    """ISO 639-1."""
    seconds: float = 0.0
    """From the case's first question to its last answer."""

    def __str__(self) -> str:
        query = " ".join(self.case.query.split())
        return f"{self.case.id}: {query}\n{scores_text(self.outcomes)}".rstrip()

    def __repr__(self) -> str:
        return f"<Record {self.case.id!r}: {scores_in_short(self.outcomes) or 'no scores'}>"

    def verdicts(self, step: Step) -> Verdicts | None:
        """What a match found out; None where it wasn't taken."""
        known = self.steps.get(str(step))
        return known if isinstance(known, Verdicts) else None

    def components(self, step: Step) -> tuple[Component, ...] | None:
        """What a text was broken into; None where it wasn't."""
        known = self.steps.get(str(step))
        return known if isinstance(known, tuple) else None


class Sink(Protocol):
    """What keeps records as they come."""

    def keep(self, record: Record) -> None:
        """Store one record; keeping the same case twice is harmless.

        Raises:
            StoreError: it can't be stored.
        """
        ...
