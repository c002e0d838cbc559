"""Why answers of a test set failed: a second run, gaps in the corpus, and agreement with THELMA's blame.

Two blames of the same answers: GRAMMAR's, from groups of phrasings, and THELMA's, from the texts alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from ragtriage.core.case import Record
from ragtriage.diagnosis.findings import Finding
from ragtriage.diagnosis.headline import NONE, UNDETERMINED, component_of
from ragtriage.diagnosis.rules import RULES, Rule
from ragtriage.testset.corpus import GapLookup
from ragtriage.testset.groups import TaggedRow
from ragtriage.testset.sufficiency import SecondRun

Side = Literal["retrieval", "LM", "other", "none", "undetermined"]
SIDES: tuple[Side, ...] = get_args(Side)
GrammarVerdict = Literal["LM", "retrieval", "unknown", "gap", "right", "undecided"]
GRAMMAR_VERDICTS: tuple[GrammarVerdict, ...] = get_args(GrammarVerdict)
"""What GRAMMAR says of an answer: whom it blames, that its group is a gap, that it is right, or nothing."""
_RETRIEVAL = frozenset({"retriever", "source text", "source chunking"})
_LM = frozenset({"prompt", "generator"})


@dataclass(frozen=True, slots=True)
class DiagnosedComponent:
    """What THELMA finds on one answer."""

    name: str
    """The component to repair, `none` or `undetermined`."""
    side: Side
    reading: str
    """What the pattern of scores means; empty if nothing was found."""
    sure: bool


@dataclass(frozen=True, slots=True)
class BlameAgreement:
    """How far GRAMMAR and THELMA blame the same module for the same answers."""

    run: str
    """The number of the run that THELMA's come from."""
    counts: Mapping[tuple[GrammarVerdict, Side], int]
    """Answers by what GRAMMAR says of them and what THELMA does."""
    missing: int
    """Answers that the run doesn't hold."""

    @property
    def both(self) -> int:
        """Wrong answers of non-robust groups that both blame on retrieval or on the language model."""
        return sum(
            self.counts.get((grammar, side), 0) for grammar in ("LM", "retrieval") for side in ("LM", "retrieval")
        )

    @property
    def agreeing(self) -> int:
        """Those of them that they blame on the same one."""
        return self.counts.get(("LM", "LM"), 0) + self.counts.get(("retrieval", "retrieval"), 0)

    def as_json(self) -> dict[str, Any]:
        """The whole cross table, for machines."""
        table = {grammar: {side: self.counts.get((grammar, side), 0) for side in SIDES} for grammar in GRAMMAR_VERDICTS}
        numbers = {"both_blame": self.both, "agree": self.agreeing, "not_in_the_run": self.missing}
        return {"run": self.run, "table": table, **numbers}


def diagnosed_components(
    diagnosed: Iterable[tuple[Record, Sequence[Finding]]], rules: Sequence[Rule] = RULES
) -> dict[str, DiagnosedComponent]:
    """Case id → what THELMA finds on it, by the findings of a run's cases and the rules that they come from."""
    found = {}
    for record, findings in diagnosed:
        name = component_of(record, findings, rules)
        first = next((one for one in findings if one.component == name), None)
        reading, sure = (first.reading, first.sure) if first else ("", True)
        found[record.case.id] = DiagnosedComponent(name, side_of(name), reading, sure)
    return found


def side_of(component: str) -> Side:
    """On which side a component to repair lies; one that lies on both, or on neither, is `other`."""
    if component == NONE:
        return "none"
    if component == UNDETERMINED:
        return "undetermined"
    parts = set(component.split(" or "))
    if parts <= _RETRIEVAL:
        return "retrieval"
    return "LM" if parts <= _LM else "other"


def grammar_verdict_of(one: TaggedRow) -> GrammarVerdict:
    """What GRAMMAR says of one answer."""
    if one.correct:
        return "right"
    return "gap" if one.tag == "gap" else one.blame or "undecided"


def blame_agreement(
    tagged: Sequence[TaggedRow], components: Mapping[str, DiagnosedComponent], run: str
) -> BlameAgreement:
    """Count the answers by both blames; what `diagnosed_components` gives is brought together with them by id."""
    known = [one for one in tagged if one.row.id in components]
    counts: Counter[tuple[GrammarVerdict, Side]] = Counter(
        (grammar_verdict_of(one), components[one.row.id].side) for one in known
    )
    return BlameAgreement(run, counts, len(tagged) - len(known))


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
