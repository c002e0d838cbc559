"""What tests on pairs would cost, estimated before anything is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragtriage.core.case import Case
from ragtriage.diagnosis import needs_of
from ragtriage.evaluation.estimate import rehearse
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.judges.wrappers import AnswerMemory
from ragtriage.text import split_claims
from ragtriage.trust.pairs.pair_files import Pair
from ragtriage.trust.pairs.pair_scoring import scoring_tasks
from ragtriage.trust.pairs.stability import CONTRADICTIONS, METRICS, REORDERED, reordered, reworded_questions
from ragtriage.trust.perturb.model_written import questions_to_write


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What scoring the pairs of one metric would take; its fields are the stable form for machines.

    Prices are in US dollars, None if not known.
    """

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


def cost_of_pairs(
    pairs: Sequence[Pair],
    judge: Judge,
    *,
    further: Mapping[str, Sequence[str]] | None = None,
    memory: AnswerMemory | None = None,
) -> list[CostEstimate]:
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
    for task in scoring_tasks(pairs, further or {}):
        taken = rehearse(task.cases, judge, metrics=task.metrics, sample=0, memory=memory)
        names = tuple(m.name for m in task.metrics)
        count = sum(pair.metric in names for pair in pairs)
        found.append(CostEstimate(names, count, taken.cases, taken.least, taken.most, sum(taken.questions.values())))
    return found


def cost_of_writing(pairs: Sequence[Pair], judge: Judge) -> CostEstimate:
    """What `write_changes` would take; what is scored afterwards is only known when it is written.

    Args:
        pairs: those that rules have made.
        judge: who would write; what a `Cached` one has in memory is left out.
    """
    wanted = [question for _, question in questions_to_write(pairs)]
    taken = judge.estimate(wanted)
    return CostEstimate(("writing changes",), len(wanted), 0, taken, taken, len(wanted))


def cost_of_stability(
    cases: Sequence[Case], judge: Judge, memory: AnswerMemory | None = None, *, order_unseen: str = ""
) -> CostEstimate:
    """What `stability_of` would take; the claims that are asked about in other words are counted by rules.

    Args:
        cases: as for `stability_of`.
        judge: who would be asked.
        memory: what it would remember answers by.
        order_unseen: as for `stability_of`.

    Raises:
        JudgeError: the judge can't work at all.
        StoreError: the memory can't be read.
    """
    several = [] if order_unseen else reordered(cases)
    first = rehearse(cases, judge, metrics=METRICS, also=needs_of(CONTRADICTIONS), sample=0, memory=memory)
    second = rehearse(several, judge, metrics=REORDERED, sample=0, memory=memory)
    least, most = first.least + second.least, first.most + second.most
    asked = sum(first.questions.values()) + sum(second.questions.values())
    for case in cases:
        claims = split_claims(case.response or "", case.query)
        if wanted := [question for _, question in reworded_questions(case, claims)]:
            taken = judge.estimate(wanted)
            least, most, asked = least + taken, most + taken, asked + len(wanted)
    return CostEstimate(("contradictions and moves",), 0, len(cases) + len(several), least, most, asked)
