"""From one case's scores to findings: which component to repair, and why, also where a response declines."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragtriage.core.case import Record
from ragtriage.core.display import settled
from ragtriage.core.metric import Metric
from ragtriage.core.verdicts import (
    NOT_SUPPORTED,
    Cell,
    Known,
    Missing,
    Part,
    Score,
    Verdict,
    Verdicts,
    chance_of,
    is_yes,
    shifted,
    with_chance,
)
from ragtriage.diagnosis.disagreeing_sources import DISAGREES, disagreements
from ragtriage.diagnosis.rules import (
    BAD,
    BLAMING,
    COSTS,
    KINDS,
    RULES,
    SURE,
    Costs,
    FindingKind,
    Likelihood,
    Rule,
    doubt_of,
    is_bad,
)
from ragtriage.metrics import METRICS
from ragtriage.metrics.aggregate import CLAIMS, SEGMENTS
from ragtriage.metrics.thelma import (
    ANSWERED_BY_ONE,
    ANSWERED_BY_RESPONSE,
    ANSWERED_TOGETHER,
    DECLINES,
    SUPPORTED_BY_CONVERSATION,
)

WEIGHT = 2.16
"""By how much the log odds that sources answer fall where the response surely declines."""
BASE = 0.48
"""By how much they rise where it surely doesn't; both fitted on natural cases: see `docs/diagnosis.md`."""
_MOVED = (ANSWERED_BY_ONE, ANSWERED_TOGETHER)


def scores_beside_response(record: Record, metrics: Sequence[Metric]) -> dict[str, Score]:
    """The scores of a case as findings read them, by name: those of its sources in the light of its response.

    Only what is computed from whether the sources answer differs from the record's scores, and only where it is known
    whether the response declines.
    """
    scores = _scores(record)
    moved = steps_beside_response(record.steps)
    if moved is not record.steps:
        for metric in metrics:
            needs = metric.needs.values()
            known = all(str(step) in moved for step in needs)
            if metric.name in scores and known and any(step in _MOVED for step in needs):
                outcome = metric(moved)
                if isinstance(outcome, Score):
                    scores[metric.name] = outcome
    return scores


def steps_beside_response(steps: Mapping[str, Known]) -> Mapping[str, Known]:
    """The steps of one case, with the chances that sources answer moved by whether the response declines.

    Only verdicts with a chance strictly between 0 and 1 are moved, of a judge that measures probabilities. The very
    same steps where nobody knows whether the response declines.
    """
    declines = steps.get(str(DECLINES))
    chances = [chance_of(cell) for cell in declines.best()] if isinstance(declines, Verdicts) else []
    known = [chance for chance in chances if chance is not None]
    if not known:
        return steps
    by = BASE - WEIGHT * max(known)
    found = dict(steps)
    for step in _MOVED:
        verdicts = steps.get(str(step))
        if isinstance(verdicts, Verdicts):
            rows = (tuple(_moved(cell, by) for cell in row) for row in verdicts.cells)
            found[str(step)] = Verdicts(verdicts.components, tuple(rows))
    return found


def _moved(cell: Cell, by: float) -> Cell:
    if not isinstance(cell, Verdict) or cell.chance is None or cell.score is None or cell.value == "unknown":
        return cell
    return with_chance(cell, shifted(cell.chance, by))


MOST_EVIDENCE = 3
"""Pieces of evidence that a finding quotes when it is printed."""
CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English: waste is shown in tokens without asking for anybody's tokenizer."""

CONTRADICTED_BY_SOURCE = "contradicted by another source"
"""The fault of a sentence of a source that another source contradicts."""
BY_CONVERSATION = "supported by the conversation, not by the sources"
"""The fault of a claim that only the conversation before the query supports."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One component that speaks for a finding."""

    metric: str
    text: str
    fault: str
    """What is wrong with it, in plain words."""
    explanation: str = ""
    source: int | None = None
    """The source it belongs to, by position from 0."""
    span: tuple[int, int] | None = None
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that holds for a case."""

    rule: str
    kind: FindingKind
    component: str
    reading: str
    advice: str
    sure: bool
    """Whether it is so likely that it can be shown without a doubt: from `SURE` on."""
    doubt: str
    """Why it isn't sure; empty if it is."""
    scores: Mapping[str, float]
    """The scores that the rule reads, and those named beside."""
    severity: float
    """How far the bad scores lie beyond their thresholds, summed: what the worst cases are sorted by."""
    evidence: tuple[Evidence, ...] = field(default=(), repr=False)
    tokens: int = 0
    """Waste only: about how many tokens of sources weren't needed."""
    probability: float = 1.0
    """That the scores are low and high as the rule wants them, in [0, 1]; 1 where no verdict has a chance."""

    def __str__(self) -> str:
        lines = [f"{self.component} ({self.kind}, {'sure' if self.sure else 'not sure'}): {self.reading}"]
        lines += [
            f"  “{' '.join(one.text.split())}” {'' if one.sure else 'perhaps '}{one.fault}".rstrip()
            for one in self.evidence[:MOST_EVIDENCE]
        ]
        if len(self.evidence) > MOST_EVIDENCE:
            lines.append(f"  and {len(self.evidence) - MOST_EVIDENCE} more")
        return "\n".join([*lines, f"  → {self.advice}"] if self.advice else lines)


def diagnose(
    record: Record,
    thresholds: Mapping[str, float],
    rules: Sequence[Rule] = RULES,
    metrics: Sequence[Metric] = METRICS,
    costs: Costs = COSTS,
) -> tuple[Finding, ...]:
    """The findings on one case, failures first and of these the likeliest; empty if nothing was found.

    Args:
        record: an evaluated case.
        thresholds: metric name → the value at which a score is just good enough.
        rules: the table.
        metrics: where the plain words for a metric's bad components stand, and which direction is good.
        costs: from which probability on a fault is shown.
    """
    return assess(record, thresholds, rules, metrics, costs).findings


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the rules say of one case."""

    findings: tuple[Finding, ...]
    """Those that are likely enough to be shown; failures first and of these the likeliest."""
    probabilities: Mapping[str, float]
    """Rule → the probability that it holds, also where that is too low to be shown; those that are 0 are left out."""


def assess(
    record: Record,
    thresholds: Mapping[str, float],
    rules: Sequence[Rule] = RULES,
    metrics: Sequence[Metric] = METRICS,
    costs: Costs = COSTS,
) -> Assessment:
    """The findings on one case, and how likely every rule is to hold; arguments as of `diagnose`."""
    scores, known = scores_beside_response(record, metrics), {m.name: m for m in metrics}
    likelihood = Likelihood(scores, thresholds, known)
    disagreeing = disagreements(record) if any(DISAGREES in rule.faults for rule in rules) else ()
    conversed = claims_from_conversation(record)
    scored = _Scored(scores, _scores(record), thresholds, known, conversed, likelihood, disagreeing)
    refused = declined(record)
    coverage = scored.scores.get("response_query_coverage")
    if refused and coverage and not is_bad(coverage.value, thresholds.get("response_query_coverage")):
        refused = False  # what answers most of the query doesn't decline it
    likely = {rule.name: (rule, scored.probability(rule)) for rule in _applicable(rules, refused=refused)}
    found = [scored.finding(rule, p) for rule, p in likely.values() if scored.shown(rule, p, costs)]
    return Assessment(
        tuple(sorted(found, key=lambda f: (KINDS.index(f.kind), -settled(f.probability, 2)))),
        {name: p for name, (_, p) in likely.items() if p > 0.0},
    )


@dataclass(frozen=True, slots=True)
class _Scored:
    scores: Mapping[str, Score]
    """As rules read them: those of the sources in the light of the response."""
    shown_scores: Mapping[str, Score]
    """As they were computed."""
    thresholds: Mapping[str, float]
    metrics: Mapping[str, Metric]
    conversed: Collection[str]
    """The claims that the conversation supports though the sources don't."""
    likelihood: Likelihood
    disagreeing: Sequence[Part]
    """The sentences of sources that contradict each other, which only a rule on that quotes."""

    def probability(self, rule: Rule) -> float:
        """That a rule holds; 0 where a score that it reads isn't defined."""
        bad = [part for _, part in self.bad(rule)] if rule.faults else []
        if not rule.when.keys() <= self.scores.keys() or (rule.faults and not bad):
            return 0.0
        levels = {name: level for name, level in rule.when.items() if level != "any"}
        return self.likelihood.of_bad(levels, bad) if bad else self.likelihood.of(levels)

    def against(self, rule: Rule) -> list[str]:
        return [name for name, level in rule.when.items() if level == BAD[self.metrics[name].better]]

    def bad(self, rule: Rule) -> list[tuple[str, Part]]:
        """The bad components that a rule quotes, each with its metric."""
        return [(n, part) for n, part in self._quoted(rule) if part.good is False and _is_fault(part, rule)]

    def evidence(self, rule: Rule) -> list[tuple[str, Part]]:
        """The bad components; where several doubtful ones make a score low and none is bad, the most doubtful."""
        doubtful = [(n, part) for n, part in self._quoted(rule) if part.good and 0.0 < doubt_of(part) < 1.0]
        return self.bad(rule) or sorted(doubtful, key=lambda one: -settled(doubt_of(one[1]), 2))[:1]

    def shown(self, rule: Rule, probability: float, costs: Costs) -> bool:
        """Whether a rule is likely enough, and if it blames the answer, rests on a component that is surely bad.

        Doubts about many components may add up to a likely failure; but nobody can check one that names nothing firm.
        A rule with bounds of its own needs none.
        """
        if not probability or not rule.shown(probability, costs):
            return False
        quoted = [part for _, part in self._quoted(rule)]
        return (
            rule.kind not in BLAMING
            or rule.likely is not None
            or not quoted
            or any(_is_firm(part) for _, part in self.bad(rule))
        )

    def _quoted(self, rule: Rule) -> Iterator[tuple[str, Part]]:
        names = self.against(rule) if rule.quotes is None else rule.quotes
        if DISAGREES in rule.faults:
            return ((name, part) for name in names for part in self.disagreeing)
        return ((name, part) for name in names if name in self.scores for part in self.scores[name].parts)

    def finding(self, rule: Rule, probability: float) -> Finding:
        bad = self.evidence(rule)
        named = [*rule.when, *(name for name in rule.further if name in self.scores)]
        doubts = [*self._doubts(rule, probability, [part for _, part in bad])]
        return Finding(
            rule.name,
            rule.kind,
            rule.component,
            rule.reading,
            rule.advice,
            not doubts,
            "; ".join(doubts),
            {name: self.shown_scores[name].value for name in named},
            sum(abs(self.thresholds[name] - self.scores[name].value) for name in self.against(rule))
            or len(bad) / max(1, sum(self.scores[name].judged for name, level in rule.when.items() if level == "any")),
            tuple(self._evidence(name, part) for name, part in bad),
            sum(len(part.component.text) for _, part in self.bad(rule)) // CHARACTERS_PER_TOKEN
            if rule.kind == "waste"
            else 0,
            probability,
        )

    def _evidence(self, name: str, part: Part) -> Evidence:
        metric, cell, component = self.metrics.get(name), part.cell, part.component
        fault = CONTRADICTED_BY_SOURCE if part.kind == DISAGREES else metric.fault_of(part) if metric else ""
        if name == "groundedness" and metric and component.text in self.conversed:
            fault = BY_CONVERSATION
        explanation, sure = (cell.explanation, cell.sure) if isinstance(cell, Verdict) else ("", True)
        sure = sure and part.good is False
        return Evidence(name, component.text, fault, explanation, component.source, component.span, sure)

    def _doubts(self, rule: Rule, probability: float, bad: Sequence[Part]) -> Iterator[str]:
        if settled(probability) < SURE:
            yield f"{settled(probability, 2):.0%} likely"
        elif bad and not any(isinstance(part.cell, Verdict) and part.cell.sure for part in bad):
            yield "the judge isn't sure of any verdict that it rests on"
        if "groundedness" in rule.when and (told := sum(part.component.text in self.conversed for part in bad)):
            yield f"the conversation before the query supports {told} of the claims"


def _is_firm(part: Part) -> bool:
    return not isinstance(part.cell, Verdict) or part.cell.chance is None or settled(doubt_of(part)) <= NOT_SUPPORTED


def _is_fault(part: Part, rule: Rule) -> bool:
    return not rule.faults or part.kind in rule.faults


def _scores(record: Record) -> dict[str, Score]:
    return {name: outcome for name, outcome in record.outcomes.items() if isinstance(outcome, Score)}


def declined(record: Record) -> bool | None:
    """Whether the response declines to answer: the judge says so, and a sub-question stays unanswered.

    None where the judge was asked and couldn't tell, and where it says so, the response claims something, and nobody
    asked which sub-questions it answers: it may decline a part only.
    """
    answered = record.verdicts(ANSWERED_BY_RESPONSE)
    if answered and answered.components and all(map(is_yes, answered.best())):
        return False
    step = record.steps.get(str(DECLINES))
    if isinstance(step, Missing):
        return None if step.failed else False
    cells = step.best() if isinstance(step, Verdicts) else ()
    values = [cell.value if isinstance(cell, Verdict) else "unknown" for cell in cells if cell]
    if "yes" in values:
        asked = answered is not None or isinstance(record.outcomes.get("response_query_coverage"), Score)
        return True if asked or not _claims_something(record) else None
    return None if "unknown" in values else False


def _claims_something(record: Record) -> bool:
    """Whether the response holds more than remarks, as far as it was broken into components."""
    return any(not c.remark for step in (CLAIMS, SEGMENTS) for c in record.components(step) or ())


def _applicable(rules: Iterable[Rule], *, refused: bool | None) -> Iterator[Rule]:
    """The rules that are to be read, with the faults that count.

    A failure can't be told from a right refusal where nobody knows whether the response declines; a false citation
    can, and is one in either.
    """
    for rule in rules:
        if refused is None:
            told = not rule.declines and rule.kind in {"quality", "waste"} and not rule.always
        else:
            told = rule.declines == refused
        if told:
            yield rule
        elif rule.always:
            yield replace(rule, faults=rule.always)


def decided_rules(record: Record, rules: Iterable[Rule]) -> frozenset[str]:
    """The names of the rules of which it can be told whether they hold on a case.

    Their scores are there, and it is known whether the response declines, where that decides.
    """
    scores, refused = _scores(record).keys(), declined(record)
    return frozenset(
        rule.name
        for rule in rules
        if rule.when.keys() <= scores
        and (refused is not None or (not rule.declines and rule.kind in {"quality", "waste"} and not rule.always))
    )


def claims_from_conversation(record: Record) -> frozenset[str]:
    """The claims that the conversation supports though the sources don't."""
    step = record.verdicts(SUPPORTED_BY_CONVERSATION)
    cells = zip(step.components, step.best(), strict=True) if step else ()
    return frozenset(component.text for component, cell in cells if is_yes(cell))
