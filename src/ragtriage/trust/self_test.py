"""The self-test of a judge on a user's own cases: agreement by metric, failures, and what needs no labels.

That is: contradictions, and verdicts that change when the meaning doesn't.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragtriage.core import questions as ask
from ragtriage.core.case import WINDOW, Case, Record
from ragtriage.core.validation import as_builtins
from ragtriage.core.verdicts import Component, Score, Undefined, Verdict
from ragtriage.diagnosis.findings import diagnose
from ragtriage.diagnosis.rules import RULES, needs_of
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.evaluation.estimate import estimate_evaluation
from ragtriage.judges.protocol import Judge
from ragtriage.judges.wrappers import AnswerMemory
from ragtriage.metrics import metrics_named
from ragtriage.metrics.thelma import groundedness, response_query_coverage, source_query_coverage
from ragtriage.text.claims import split_claims
from ragtriage.trust.pair_files import LabelledPair, pair_row
from ragtriage.trust.pair_scoring import (
    CostEstimate,
    PairAgreement,
    ScoredPair,
    ScoreValue,
    agreement_by_length,
    agreement_by_overlap,
    answers_to,
    pair_agreement,
    version_key,
)
from ragtriage.trust.wording import is_copy, reworded

METRICS = (source_query_coverage, response_query_coverage, groundedness)
"""What the rules of contradictions read."""
REORDERED = (source_query_coverage, groundedness)
"""What is asked of several sources together."""
CONTRADICTIONS = tuple(rule for rule in RULES if rule.kind == "doubt" and not rule.declines)
"""Of the rules of doubt those that find one; a refusal that the judge can't tell is none."""
ORDER_UNSEEN = "none by construction: a language model is shown the sources in an order of their own"
"""Why nothing is asked again of language models: the request would be the same, byte for byte."""
ORDER_UNSEEN_BY_MODELS = (
    "not asked: language models are shown the sources in an order of their own; test the embedded judge alone, for free"
)  # fmt: skip
"""The same where the embedded judge stands beside them."""


@dataclass(frozen=True, slots=True)
class ChangedVerdict:
    """One verdict that isn't the same where it should be."""

    id: str
    """The case's."""
    text: str
    """What was judged, as it stood."""
    again: str
    """How it was put the second time; the same where only the sources were reordered."""
    before: str
    """yes or no."""
    after: str
    """yes, no or unknown."""


@dataclass(frozen=True, slots=True)
class RepeatedVerdicts:
    """Verdicts that were asked for twice."""

    verdicts: int
    """How many could be compared."""
    share: float | None
    """Moved / compared, in [0, 1]; None if nothing was compared."""
    failed: int
    """How many weren't, since the judge failed the second time."""
    unasked: str | None
    """Why nothing was asked a second time; None if it was."""
    moved: tuple[ChangedVerdict, ...]


@dataclass(frozen=True, slots=True)
class Stability:
    """A judge's contradictions and unstable verdicts; its fields are the stable form for machines."""

    cases: int
    """Cases on which a contradiction could have shown: all scores that the rule reads are defined."""
    failed: int
    """Cases on which the judge failed."""
    contradictions: tuple[str, ...]
    """The ids of the cases on which the judge contradicts itself."""
    reordered: RepeatedVerdicts
    """The sources in the opposite order."""
    paraphrased: RepeatedVerdicts
    """The response's claims in other words, by rules."""


def stability_of(
    cases: Sequence[Case],
    judge: Judge,
    thresholds: Mapping[str, float],
    *,
    order_unseen: str = "",
    window: int = WINDOW,
    advance: Callable[[], None] = lambda: None,
) -> Stability:
    """Look for contradictions, and for verdicts that move with the order of the sources or the words of a claim.

    A contradiction is what the diagnosis calls so: an answer that the sources support but don't hold.

    Args:
        cases: as they are, not made worse.
        judge: who judges.
        thresholds: from where on a score is high.
        order_unseen: why the order of the sources can't matter to this judge, so that nothing is asked about it again;
            see `ORDER_UNSEEN`.
        window: how many cases may be in flight.
        advance: called for every case that is done, twice for one with several sources.
    """
    before: dict[str, Record] = {}
    for record in evaluate_sync(cases, judge, metrics=METRICS, also=needs_of(CONTRADICTIONS), window=window):
        before[record.case.id] = record
        advance()
    verdicts, moves = 0, []
    again = [] if order_unseen else reordered(cases)
    for record in evaluate_sync(again, judge, metrics=REORDERED, also=needs_of(CONTRADICTIONS), window=window):
        known = _verdicts(before[record.case.id])
        for place, (text, value) in _verdicts(record).items():
            text_before, value_before = known.get(place, ("", ""))
            if text_before == text and {value_before, value} <= {"yes", "no"}:
                verdicts += 1
                if value_before != value:
                    moves.append(ChangedVerdict(record.case.id, text, text, value_before, value))
        advance()
    order = {case.id: i for i, case in enumerate(cases)}
    moves.sort(key=lambda move: (order[move.id], move.text))
    records = [before[case.id] for case in cases]
    decided = [one for one in records if all(isinstance(o, Score) for o in one.outcomes.values())]
    return Stability(
        len(decided),
        sum(any(not isinstance(o, Score) and o.failed for o in one.outcomes.values()) for one in records),
        tuple(one.case.id for one in decided if diagnose(one, thresholds, CONTRADICTIONS, METRICS)),
        _moves(verdicts, moves, unasked=order_unseen or None),
        _paraphrased(records, judge),
    )


def cost_of_stability(
    cases: Sequence[Case], judge: Judge, memory: AnswerMemory | None = None, *, order_unseen: str = ""
) -> CostEstimate:
    """What `stability_of` would take; the claims that are asked about in other words are counted by rules."""
    several = [] if order_unseen else reordered(cases)
    first = estimate_evaluation(cases, judge, metrics=METRICS, also=needs_of(CONTRADICTIONS), sample=0, memory=memory)
    second = estimate_evaluation(several, judge, metrics=REORDERED, sample=0, memory=memory)
    least, most = first.least + second.least, first.most + second.most
    asked = sum(first.questions.values()) + sum(second.questions.values())
    for case in cases:
        claims = split_claims(case.response or "", case.query)
        if wanted := [question for _, question in reworded_questions(case, claims)]:
            taken = judge.estimate(wanted)
            least, most, asked = least + taken, most + taken, asked + len(wanted)
    return CostEstimate(("contradictions and moves",), 0, len(cases) + len(several), least, most, asked)


def reordered(cases: Sequence[Case]) -> list[Case]:
    """The cases that have several sources, these in the opposite order."""
    return [replace(case, sources=case.known_sources[::-1]) for case in cases if len(case.known_sources) > 1]


def reworded_questions(case: Case, claims: Iterable[Component]) -> Iterator[tuple[str, ask.Question]]:
    """(the claim, the same claim as a question in other words) where rules have other words for it."""
    sources = [source.text for source in case.known_sources]
    for claim in claims if sources else ():
        if again := reworded(claim.text):
            yield claim.text, ask.supported(again, sources, case.query, case.response or "")


def _verdicts(record: Record) -> dict[tuple[str, int], tuple[str, str]]:
    """(metric, position) → the component's text and verdict."""
    found: dict[tuple[str, int], tuple[str, str]] = {}
    for metric in REORDERED:
        outcome = record.outcomes.get(metric.name)
        for i, part in enumerate(outcome.parts if isinstance(outcome, Score) else ()):
            if isinstance(part.cell, Verdict):
                found[metric.name, i] = (part.component.text, part.cell.value)
    return found


def _paraphrased(records: Sequence[Record], judge: Judge) -> RepeatedVerdicts:
    """Every claim that was judged and that rules have other words for, asked about once more in these."""
    wanted: list[tuple[ChangedVerdict, ask.Question]] = []
    for record in records:
        outcome, case = record.outcomes[groundedness.name], record.case
        for part in outcome.parts if record.language == "en" and isinstance(outcome, Score) else ():
            if isinstance(part.cell, Verdict) and part.cell.value != "unknown":
                for text, question in reworded_questions(case, [part.component]):
                    wanted.append((ChangedVerdict(case.id, text, question.subject, part.cell.value, ""), question))
    answers = answers_to([question for _, question in wanted], judge)
    again = [
        replace(move, after=answer.value)
        for (move, _), answer in zip(wanted, answers, strict=True)
        if isinstance(answer, Verdict)
    ]
    return _moves(len(again), [move for move in again if move.before != move.after], len(wanted) - len(again))


def _moves(
    verdicts: int, moved: Sequence[ChangedVerdict], failed: int = 0, unasked: str | None = None
) -> RepeatedVerdicts:
    return RepeatedVerdicts(verdicts, len(moved) / verdicts if verdicts else None, failed, unasked, tuple(moved))


@dataclass(frozen=True, slots=True)
class MetricTest:
    """One metric's pairs."""

    metric: str
    agreement: PairAgreement
    length: float | None
    """What length alone would have got, in [0, 1]."""
    overlap: float | None
    """What word overlap alone would have got, in [0, 1]; None for a metric without a form in words."""
    failures: tuple[ScoredPair, ...]
    """The pairs whose better version doesn't score higher, in the order of the file; not those the judge failed on."""
    copies: int = 0
    """Of `agreement.pairs`, repeats in the very words of the sentence: no rule has others, and they're easy to find."""
    copies_agreed: int = 0
    """Of `copies`, those that agree."""
    zeros: int = 0
    """Of `agreement.ties`, sources by which the judge finds nothing of use in either version: 0 against 0."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines."""
        failures = [
            {"better_score": _number(one.better), "worse_score": _number(one.worse), **pair_row(one.pair)}
            for one in self.failures
        ]
        numbers = {name: getattr(self, name) for name in ("length", "overlap", "copies", "copies_agreed", "zeros")}
        return {**as_builtins(self.agreement), **numbers, "failures": failures}


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What a self-test found."""

    metrics: tuple[MetricTest, ...]
    """Those that have pairs, in the order of METRICS."""
    skipped: Mapping[str, Mapping[str, int]]
    """A metric → why no pair was made → on how many cases; empty where pairs were given."""
    stability: Stability | None
    """None where it wasn't looked for."""

    @property
    def incomplete(self) -> bool:
        """Whether the judge failed somewhere: the same command tries that again."""
        stable = self.stability
        beside = stable is not None and (stable.failed or stable.reordered.failed or stable.paraphrased.failed)
        return bool(beside) or any(one.agreement.failed for one in self.metrics)

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines."""
        return {
            "metrics": {one.metric: one.as_json() for one in self.metrics},
            "skipped": as_builtins(self.skipped),
            "stability": as_builtins(self.stability),
        }


def self_test_of(
    scored: Sequence[ScoredPair],
    skipped: Mapping[str, Mapping[str, int]],
    stability: Stability | None,
    seed: int = 0,
) -> SelfTest:
    """Put together what was scored; the pairs each by its own metric."""
    tests = []
    for metric in metrics_named(sorted({one.pair.metric for one in scored})) if scored else ():
        name = metric.name
        some = [one for one in scored if one.pair.metric == one.metric == name]
        counted = [one for one in some if not one.failed]
        pairs = [one.pair for one in counted]
        copies = [one for one in counted if one.pair.change and is_copy(one.pair.change.before, one.pair.change.after)]
        of_sources = name in {"source_precision", "fact_precision"}
        tests.append(
            MetricTest(
                name,
                pair_agreement(some, seed),
                agreement_by_length(pairs),
                agreement_by_overlap(pairs),
                tuple(one for one in counted if not one.agrees),
                len(copies),
                sum(one.agrees for one in copies),
                sum(one.better == one.worse == 0 for one in some) if of_sources else 0,
            )
        )
    return SelfTest(tuple(tests), skipped, stability)


def base_cases(pairs: Sequence[LabelledPair]) -> list[Case]:
    """The better versions of pairs, each once, under the name of their group."""
    found: dict[Any, Case] = {}
    numbers: Counter[str] = Counter()
    for pair in pairs:
        key = version_key(pair.better)
        if key not in found:
            numbers[pair.group] += 1
            number = numbers[pair.group]
            found[key] = replace(pair.better, id=pair.group if number == 1 else f"{pair.group} ({number})")
    return list(found.values())


def _number(value: ScoreValue) -> float | None:
    return None if isinstance(value, Undefined) else value
