"""What can be held against a judge without labels: it contradicts itself, or changes its mind over nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragtriage.core import questions as ask
from ragtriage.core.case import Case
from ragtriage.core.options import WINDOW
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Score, Verdict
from ragtriage.diagnosis import RULES, diagnose, needs_of
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.protocol import Judge
from ragtriage.metrics.groundedness import groundedness
from ragtriage.metrics.response import response_query_coverage
from ragtriage.metrics.source import source_query_coverage
from ragtriage.trust.perturb.paraphrase import reworded

METRICS = (source_query_coverage, response_query_coverage, groundedness)
"""What the rules of contradictions read."""
REORDERED = (source_query_coverage, groundedness)
"""What is asked of several sources together."""
CONTRADICTIONS = tuple(rule for rule in RULES if rule.kind == "doubt" and not rule.declines)
"""Of the rules of doubt those that find one; a refusal that the judge can't tell is none."""
UNSEEN = "none by construction: a language model is shown the sources in an order of their own"
"""Why nothing is asked again of language models: the request would be the same, byte for byte."""
UNSEEN_BY_MODELS = (
    "not asked: language models are shown the sources in an order of their own; test the embedded judge alone, for free"
)  # fmt: skip
"""The same where the embedded judge stands beside them."""
AT_ONCE = 256
"""Paraphrases that are asked about together."""


@dataclass(frozen=True, slots=True)
class Move:
    """One verdict that isn't the same where it should be."""

    case: str
    text: str
    """What was judged, as it stood."""
    again: str
    """How it was put the second time; the same where only the sources were reordered."""
    before: str
    """yes or no."""
    after: str
    """yes, no or unknown."""


@dataclass(frozen=True, slots=True)
class Moves:
    """Verdicts that were asked for twice."""

    verdicts: int
    """How many could be compared."""
    moved: tuple[Move, ...]
    failed: int = 0
    """How many weren't, since the judge failed the second time."""
    unasked: str = ""
    """Why nothing was asked a second time; empty if it was."""

    @property
    def share(self) -> float | None:
        """Moved / compared, in [0, 1]; None if nothing was compared."""
        return len(self.moved) / self.verdicts if self.verdicts else None

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines."""
        moved = [
            {"id": m.case, "text": m.text, "again": m.again, "before": m.before, "after": m.after} for m in self.moved
        ]
        return {"verdicts": self.verdicts, "share": self.share, "failed": self.failed, "unasked": self.unasked or None,
                "moved": moved}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Stability:
    """What was found against a judge without labels."""

    cases: int
    """Cases on which a contradiction could have shown: all scores that the rule reads are defined."""
    contradictions: tuple[str, ...]
    """The ids of the cases on which the judge contradicts itself."""
    reordered: Moves
    """The sources in the opposite order."""
    paraphrased: Moves
    """The response's claims in other words, by rules."""
    failed: int = 0
    """Cases on which the judge failed."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines."""
        return {
            "cases": self.cases,
            "failed": self.failed,
            "contradictions": list(self.contradictions),
            "reordered": self.reordered.as_json(),
            "paraphrased": self.paraphrased.as_json(),
        }


def stability_of(
    cases: Sequence[Case],
    judge: Judge,
    thresholds: Mapping[str, float],
    *,
    unseen: str = "",
    window: int = WINDOW,
    advance: Callable[[], None] = lambda: None,
) -> Stability:
    """Look for contradictions, and for verdicts that move with the order of the sources or the words of a claim.

    A contradiction is what the diagnosis calls so: an answer that the sources support but don't hold.

    Args:
        cases: as they are, not made worse.
        judge: who judges.
        thresholds: from where on a score is high.
        unseen: why the order of the sources can't matter to this judge, so that nothing is asked about it again; see
            `UNSEEN`.
        window: how many cases may be in flight.
        advance: called for every case that is done, twice for one with several sources.

    Raises:
        JudgeError: the judge can't work at all.
        StoreError: the judge's memory can't be read or written.
    """
    several = [] if unseen else reordered(cases)
    before: dict[str, Record] = {}
    for record in evaluate_sync(cases, judge, metrics=METRICS, also=needs_of(CONTRADICTIONS), window=window):
        before[record.case.id] = record
        advance()
    verdicts, moves = 0, []
    for record in evaluate_sync(several, judge, metrics=REORDERED, window=window):
        known = _judged(before[record.case.id])
        for place, (text, value) in _judged(record).items():
            if known.get(place, ("", ""))[0] == text and {known[place][1], value} <= {"yes", "no"}:
                verdicts += 1
                if known[place][1] != value:
                    moves.append(Move(record.case.id, text, text, known[place][1], value))
        advance()
    order = {case.id: i for i, case in enumerate(cases)}
    moves.sort(key=lambda move: (order[move.case], move.text))
    records = [before[case.id] for case in cases]
    decided = [one for one in records if all(isinstance(o, Score) for o in one.outcomes.values())]
    contradicting = tuple(one.case.id for one in decided if diagnose(one, thresholds, CONTRADICTIONS, METRICS))
    failed = sum(any(not isinstance(o, Score) and o.failed for o in one.outcomes.values()) for one in records)
    paraphrases = asyncio.run(_paraphrased(_rewordings(records), judge))
    return Stability(len(decided), contradicting, Moves(verdicts, tuple(moves), unasked=unseen), paraphrases, failed)


def reordered(cases: Sequence[Case]) -> list[Case]:
    """The cases that have several sources, these in the opposite order."""
    return [replace(case, sources=case.sources[::-1]) for case in cases if len(case.sources) > 1]


def _judged(record: Record) -> dict[tuple[str, int], tuple[str, str]]:
    """(metric, position) → the component's text and verdict."""
    found: dict[tuple[str, int], tuple[str, str]] = {}
    for metric in REORDERED:
        outcome = record.outcomes.get(metric.name)
        for i, part in enumerate(outcome.parts if isinstance(outcome, Score) else ()):
            if isinstance(part.cell, Verdict):
                found[metric.name, i] = (part.component.text, part.cell.value)
    return found


def _rewordings(records: Sequence[Record]) -> list[tuple[Move, ask.Question]]:
    """Every claim that was judged and that rules have other words for: its move with `after` still open."""
    wanted = []
    for record in records:
        outcome, case = record.outcomes[groundedness.name], record.case
        if record.language != "en" or not isinstance(outcome, Score) or not case.sources:
            continue
        texts = [source.text for source in case.sources]
        for part in outcome.parts:
            again = reworded(part.component.text)
            if again and isinstance(part.cell, Verdict) and part.cell.value != "unknown":
                question = ask.supported(again, texts, case.query, case.response or "")
                wanted.append((Move(case.id, part.component.text, again, part.cell.value, ""), question))
    return wanted


async def _paraphrased(wanted: Sequence[tuple[Move, ask.Question]], judge: Judge) -> Moves:
    """Every claim asked about once more in other words."""
    moved, verdicts = [], 0
    for start in range(0, len(wanted), AT_ONCE):
        some = wanted[start : start + AT_ONCE]
        async for position, answer in judge.ask([question for _, question in some]):
            if isinstance(answer, Verdict):
                verdicts += 1
                if answer.value != some[position][0].before:
                    moved.append((start + position, replace(some[position][0], after=answer.value)))
    in_order = tuple(move for _, move in sorted(moved, key=lambda item: item[0]))
    return Moves(verdicts, in_order, len(wanted) - verdicts)
