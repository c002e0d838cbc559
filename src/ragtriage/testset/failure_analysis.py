"""Why answers of a test set failed: a second run, gaps in the corpus, and agreement with THELMA's blame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ragtriage.testset.blame_agreement import BlameAgreement, DiagnosedComponent
from ragtriage.testset.corpus import GapLookup
from ragtriage.testset.sufficiency import SecondRun


@dataclass(frozen=True, slots=True)
class FailureAnalysis:
    """Results of the analyses beside the scores; None for one that wasn't requested."""

    second_run: SecondRun | None = None
    """What came of asking the application again."""
    gaps: tuple[GapLookup, ...] | None = None
    """What the corpus says of gap groups."""
    documents: int = 0
    """How many documents the corpus has."""
    blames: BlameAgreement | None = None
    """How GRAMMAR's blame and THELMA's go together."""
    components: Mapping[str, DiagnosedComponent] = field(default_factory=dict)
    """Case id → what THELMA finds."""

    def as_json(self) -> dict[str, Any]:
        """What there is of it, for machines."""
        found: dict[str, Any] = {}
        if self.second_run is not None:
            found["second_run"] = asdict(self.second_run)
        if self.gaps is not None:
            shown = ("presence", "documents", "retrieved", "why")
            found["gaps"] = {gap.group: {name: getattr(gap, name) for name in shown} for gap in self.gaps}
        if self.blames is not None:
            found["thelma"] = self.blames.as_json()
        return found
