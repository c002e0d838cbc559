"""From one case's scores to findings: which component to repair, and why."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ragtriage.core.metric import Metric
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Cell, Missing, Part, Score, Verdict, Verdicts
from ragtriage.diagnosis.rules import KINDS, RULES, Kind, Rule
from ragtriage.diagnosis.thresholds import BAD, MARGIN, is_bad, level_of
from ragtriage.metrics import METRICS
from ragtriage.metrics.decompositions import CLAIMS, SEGMENTS
from ragtriage.metrics.groundedness import SUPPORTED_BY_CONVERSATION
from ragtriage.metrics.response import ANSWERED_BY_RESPONSE, DECLINES

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English: waste is shown in tokens without asking for anybody's tokenizer."""

NONE = "none"
"""The component of a healthy case."""
UNDETERMINED = "undetermined"
"""The component of a case on which no failure rule could be decided, or the judge can't tell."""
BY_CONVERSATION = "supported by the conversation, not by the sources"
"""The fault of a claim that only the conversation before the query supports."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One component that speaks for a finding."""

    metric: str
    text: str
    """The component, quoted."""
    fault: str
    """What is wrong with it, in plain words."""
    explanation: str = ""
    """The judge's."""
    source: int | None = None
    """The source it belongs to, by position from 0."""
    span: tuple[int, int] | None = None
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that holds for a case."""

    rule: str
    kind: Kind
    component: str
    reading: str
    advice: str
    sure: bool
    """False where it hangs on a score near its threshold or on verdicts that the judge isn't sure of."""
    doubt: str
    """Why it isn't sure; empty if it is."""
    scores: Mapping[str, float]
    """The scores that the rule reads, and those named beside."""
    severity: float
    """How far the bad scores lie beyond their thresholds, summed: what the worst cases are sorted by."""
    evidence: tuple[Evidence, ...] = ()
    tokens: int = 0
    """Waste only: about how many tokens of sources weren't needed."""


def diagnose(
    record: Record,
    thresholds: Mapping[str, float],
    rules: Sequence[Rule] = RULES,
    metrics: Sequence[Metric] = METRICS,
) -> tuple[Finding, ...]:
    """The findings on one case, failures first; empty for a healthy one.

    Args:
        record: an evaluated case.
        thresholds: metric name → the value at which a score is just good enough.
        rules: the table.
        metrics: where the plain words for a metric's bad components stand, and which direction is good.
    """
    scores = {name: outcome for name, outcome in record.outcomes.items() if isinstance(outcome, Score)}
    by_name = {m.name: m for m in metrics}
    levels = {
        name: level_of(score.value, thresholds[name], by_name[name].better)
        for name, score in scores.items()
        if name in thresholds and name in by_name
    }
    refused = declined(record)
    if refused and levels.get("response_query_coverage") == "high":
        refused = False  # what answers most of the query doesn't decline it
    conversed = from_conversation(record)
    found = [
        _finding(rule, scores, thresholds, by_name, conversed)
        for rule in _applicable(rules, refused=refused)
        if all(levels.get(name) == level for name, level in rule.when.items())
        and (not rule.faults or _bad(rule, scores, by_name))
        and rule.confidence[0] <= certain(rule, scores, thresholds, by_name) < rule.confidence[1]
    ]
    return tuple(sorted(found, key=lambda f: KINDS.index(f.kind)))


def certain(
    rule: Rule, scores: Mapping[str, Score], thresholds: Mapping[str, float], metrics: Mapping[str, Metric]
) -> float:
    """How certain it is that the scores are high and low as a rule wants them, in [0, 1].

    The lowest confidence among the verdicts that are needed for it, the most confident first. A verdict without a
    confidence is taken at its word. Only scores where higher is better and that say what they consist of are looked at.
    """
    lowest = 1.0
    for name, level in rule.when.items():
        score, good = scores[name], level != BAD[metrics[name].better]
        if metrics[name].better != "higher" or not any(part.good is good for part in score.parts):
            continue
        cells = [part.cell for part in score.parts if part.good is good]
        known = [1.0 if not isinstance(c, Verdict) or c.confidence is None else c.confidence for c in cells]
        enough = math.ceil(thresholds[name] * score.judged - 1e-9)
        needed = max(1, enough if good else score.judged - enough + 1)
        lowest = min([lowest, *sorted(known, reverse=True)[:needed]])
    return lowest


def declined(record: Record) -> bool | None:
    """Whether the response declines to answer: the judge says so, and a sub-question stays unanswered.

    Returns:
        None where the judge was asked and couldn't tell, and where it says so, the response claims something, and
        nobody asked which sub-questions it answers: it may decline a part only.
    """
    answered = record.steps.get(str(ANSWERED_BY_RESPONSE))
    if isinstance(answered, Verdicts) and _all_yes(answered.best()):
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
    listed = [record.steps.get(str(step)) for step in (CLAIMS, SEGMENTS)]
    return any(not c.remark for components in listed if isinstance(components, tuple) for c in components)


def _all_yes(cells: Sequence[Cell]) -> bool:
    return bool(cells) and all(isinstance(cell, Verdict) and cell.value == "yes" for cell in cells)


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


def from_conversation(record: Record) -> frozenset[str]:
    """The claims that the conversation supports though the sources don't."""
    step = record.steps.get(str(SUPPORTED_BY_CONVERSATION))
    if not isinstance(step, Verdicts):
        return frozenset()
    pairs = zip(step.components, step.best(), strict=True)
    return frozenset(c.text for c, cell in pairs if isinstance(cell, Verdict) and cell.value == "yes")


def headline(record: Record, findings: Sequence[Finding], rules: Sequence[Rule] = RULES) -> str:
    """The one component under which a case is counted.

    The most pressing finding's; `none` for a healthy case, also if it carries waste; `undetermined` where the judge
    contradicts itself, or where no failure rule could be decided because scores are undefined.
    """
    findings = [finding for finding in findings if finding.kind != "waste"]
    if findings:
        return UNDETERMINED if findings[0].kind == "doubt" else findings[0].component
    scores = {name: outcome for name, outcome in record.outcomes.items() if isinstance(outcome, Score)}
    readable = [rule for rule in rules if rule.kind == "failure" and scores.keys() >= rule.when.keys()]
    if declined(record) is None and any(_hangs_on_declining(rule, scores) for rule in readable):
        return UNDETERMINED
    return NONE if any(not rule.declines for rule in readable) else UNDETERMINED


def _hangs_on_declining(rule: Rule, scores: Mapping[str, Score]) -> bool:
    """Whether it makes a difference to a rule that the response declines or doesn't."""
    parts = [part for name in rule.when for part in scores[name].parts]
    return not rule.always or any(
        part.good is False and part.kind in rule.faults and part.kind not in rule.always for part in parts
    )


def any_reads(rules: Sequence[Rule], computed: Collection[str]) -> bool:
    """Whether a rule's pattern is about no other metrics than these, so that it could hold at all."""
    return any(rule.when.keys() <= set(computed) for rule in rules)


def _finding(
    rule: Rule,
    scores: Mapping[str, Score],
    thresholds: Mapping[str, float],
    metrics: Mapping[str, Metric],
    conversed: Collection[str],
) -> Finding:
    against = [name for name, level in rule.when.items() if level == BAD[metrics[name].better]]
    bad = _bad(rule, scores, metrics)
    doubts = [doubt for name in rule.when if (doubt := _doubt(metrics[name], scores[name], thresholds[name]))]
    if certain(rule, scores, thresholds, metrics) < rule.sure_from:
        doubts.append("the judge isn't certain enough of verdicts that it hangs on")
    if bad and not doubts and not any(isinstance(part.cell, Verdict) and part.cell.sure for _, part in bad):
        doubts.append("the judge isn't sure of any verdict that it rests on")
    if "groundedness" in rule.when and (told := sum(part.component.text in conversed for _, part in bad)):
        doubts.append(f"the conversation before the query supports {told} of the claims")
    named = [*rule.when, *(name for name in rule.further if name in scores)]
    return Finding(
        rule.name,
        rule.kind,
        rule.component,
        rule.reading,
        rule.advice,
        not doubts,
        "; ".join(doubts),
        {name: scores[name].value for name in named},
        sum(abs(thresholds[name] - scores[name].value) for name in against),
        tuple(_evidence(name, part, _fault(metrics.get(name), part, conversed)) for name, part in bad),
        sum(len(part.component.text) for _, part in bad) // CHARACTERS_PER_TOKEN if rule.kind == "waste" else 0,
    )


def _against(rule: Rule, metrics: Mapping[str, Metric]) -> list[str]:
    """The metrics of a rule's pattern that are to be bad."""
    return [name for name, level in rule.when.items() if level == BAD[metrics[name].better]]


def _bad(rule: Rule, scores: Mapping[str, Score], metrics: Mapping[str, Metric]) -> list[tuple[str, Part]]:
    """The bad components that a rule quotes, each with its metric."""
    quotes = _against(rule, metrics) if rule.quotes is None else rule.quotes
    return [
        (name, part)
        for name in quotes
        if name in scores
        for part in scores[name].parts
        if part.good is False and (not rule.faults or part.kind in rule.faults)
    ]


def _fault(metric: Metric | None, part: Part, conversed: Collection[str]) -> str:
    if metric is None:
        return ""
    by_conversation = metric.name == "groundedness" and part.component.text in conversed
    return BY_CONVERSATION if by_conversation else metric.fault_of(part)


def _evidence(name: str, part: Part, fault: str) -> Evidence:
    cell = part.cell
    explanation, sure = (cell.explanation, cell.sure) if isinstance(cell, Verdict) else ("", True)
    return Evidence(name, part.component.text, fault, explanation, part.component.source, part.component.span, sure)


def _doubt(metric: Metric, score: Score, threshold: float) -> str:
    """Why a score's level isn't sure; empty if it is."""
    upwards = metric.better == "higher"
    perfect = metric.range[upwards]
    if abs(score.value - threshold) < MARGIN - 1e-9 and score.value != perfect:
        return f"{metric.name} {score.value:.2f} lies near its threshold of {threshold:.2f}"
    if not is_bad(score.value, threshold, metric.better) or not score.parts:
        return ""
    unsure = sum(part.good is False and isinstance(part.cell, Verdict) and not part.cell.sure for part in score.parts)
    spared = unsure / max(1, score.judged)
    if not is_bad(score.value + spared if upwards else score.value - spared, threshold, metric.better):
        return f"{metric.name} {score.value:.2f} rests on verdicts that the judge isn't sure of"
    return ""
