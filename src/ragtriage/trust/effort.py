"""What scoring pairs would take, counted before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ragtriage.core import questions as ask
from ragtriage.core.case import Case
from ragtriage.diagnosis import needs_of
from ragtriage.evaluation.estimate import estimate_evaluation
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.judges.wrappers import AnswerMemory
from ragtriage.text import split_claims
from ragtriage.trust.pairs import Pair
from ragtriage.trust.pairwise import tasks
from ragtriage.trust.perturb.paraphrase import reworded
from ragtriage.trust.stability import CONTRADICTIONS, METRICS, REORDERED, reordered
from ragtriage.trust.writing import questions_to_write


@dataclass(frozen=True, slots=True)
class Effort:
    """What scoring the pairs of one metric would take."""

    metrics: tuple[str, ...]
    pairs: int
    cases: int
    """Versions that are evaluated; pairs share some."""
    least: Estimate
    """If every verdict is yes."""
    most: Estimate
    """If every verdict is no."""
    questions: int
    """Questions at most; without those whose answers are in memory."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines; prices in US dollars, null if not known."""
        return {**asdict(self), "metrics": list(self.metrics)}


def efforts_of(
    pairs: Sequence[Pair],
    judge: Judge,
    *,
    further: Mapping[str, Sequence[str]] | None = None,
    memory: AnswerMemory | None = None,
) -> list[Effort]:
    """What `score_pairs` would take, a metric at a time. Metrics share answers, so the sum is an upper bound.

    Args:
        pairs: of any metrics.
        judge: who would be asked.
        further: as for `score_pairs`.
        memory: what it would remember answers by.

    Raises:
        JudgeError: the judge can't work at all.
        StoreError: the memory can't be read.
    """
    found = []
    for task in tasks(pairs, further or {}):
        taken = estimate_evaluation(task.cases, judge, metrics=task.metrics, sample=0, memory=memory)
        names = tuple(m.name for m in task.metrics)
        count = sum(pair.metric in names for pair in pairs)
        asked = sum(taken.questions.values())
        found.append(Effort(names, count, taken.cases, taken.least, taken.most, asked))
    return found


def effort_of_writing(pairs: Sequence[Pair], judge: Judge) -> Effort:
    """What `write_changes` would take; what is scored afterwards is only known when it is written.

    Args:
        pairs: those that rules have made.
        judge: who would write; what a `Cached` one has in memory is left out.
    """
    wanted = [question for _, question in questions_to_write(pairs)]
    taken = judge.estimate(wanted)
    return Effort(("writing changes",), len(wanted), 0, taken, taken, len(wanted))


def effort_of_stability(
    cases: Sequence[Case], judge: Judge, memory: AnswerMemory | None = None, *, unseen: str = ""
) -> Effort:
    """What `stability_of` would take; the claims that are asked about in other words are counted by rules.

    Args:
        cases: as for `stability_of`.
        judge: who would be asked.
        memory: what it would remember answers by.
        unseen: as for `stability_of`.

    Raises:
        JudgeError: the judge can't work at all.
        StoreError: the memory can't be read.
    """
    several = [] if unseen else reordered(cases)
    first = estimate_evaluation(cases, judge, metrics=METRICS, also=needs_of(CONTRADICTIONS), sample=0, memory=memory)
    second = estimate_evaluation(several, judge, metrics=REORDERED, sample=0, memory=memory)
    least, most = first.least + second.least, first.most + second.most
    asked = sum(first.questions.values()) + sum(second.questions.values())
    for case in cases:
        claims = split_claims(case.response or "", case.query)
        texts = [source.text for source in case.sources]
        again = [text for claim in claims if (text := reworded(claim.text))]
        wanted = [ask.supported(text, texts, case.query, case.response or "") for text in again if texts]
        if wanted:
            taken = judge.estimate(wanted)
            least, most, asked = least + taken, most + taken, asked + len(wanted)
    return Effort(("contradictions and moves",), 0, len(cases) + len(several), least, most, asked)
