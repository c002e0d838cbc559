"""From one case's scores to findings: which component to repair, and why."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragtriage.core.metric import Metric
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Missing, Part, Score, Verdict, Verdicts, is_yes
from ragtriage.diagnosis.rules import KINDS, RULES, Kind, Rule
from ragtriage.diagnosis.thresholds import BAD, MARGIN, Level, is_bad, level_of
from ragtriage.metrics import METRICS
from ragtriage.metrics.decompositions import CLAIMS, SEGMENTS
from ragtriage.metrics.groundedness import SUPPORTED_BY_CONVERSATION
from ragtriage.metrics.response import ANSWERED_BY_RESPONSE, DECLINES

MOST_EVIDENCE = 3
"""Pieces of evidence that a finding quotes when it is printed."""
CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English: waste is shown in tokens without asking for anybody's tokenizer."""

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
    evidence: tuple[Evidence, ...] = field(default=(), repr=False)
    tokens: int = 0
    """Waste only: about how many tokens of sources weren't needed."""

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
) -> tuple[Finding, ...]:
    """The findings on one case, failures first; empty if nothing was found.

    Args:
        record: an evaluated case.
        thresholds: metric name → the value at which a score is just good enough.
        rules: the table.
        metrics: where the plain words for a metric's bad components stand, and which direction is good.
    """
    scored = _Scored(_scores(record), thresholds, {m.name: m for m in metrics}, claims_from_conversation(record))
    levels = scored.levels()
    refused = declined(record)
    if refused and levels.get("response_query_coverage") == "high":
        refused = False  # what answers most of the query doesn't decline it
    found = [
        scored.finding(rule)
        for rule in _applicable(rules, refused=refused)
        if all(name in levels and level in ("any", levels[name]) for name, level in rule.when.items())
        and (not rule.faults or scored.bad(rule))
        and rule.confidence[0] <= scored.certain(rule) < rule.confidence[1]
    ]
    return tuple(sorted(found, key=lambda f: KINDS.index(f.kind)))


@dataclass(frozen=True, slots=True)
class _Scored:
    """One case's scores, as rules read them."""

    scores: Mapping[str, Score]
    thresholds: Mapping[str, float]
    metrics: Mapping[str, Metric]
    conversed: Collection[str]
    """The claims that the conversation supports though the sources don't."""

    def levels(self) -> dict[str, Level]:
        """Metric name → whether its score is low or high, where it has a threshold."""
        return {
            name: level_of(score.value, self.thresholds[name], self.metrics[name].better)
            for name, score in self.scores.items()
            if name in self.thresholds and name in self.metrics
        }

    def against(self, rule: Rule) -> list[str]:
        """The metrics of a rule's pattern that are to be bad."""
        return [name for name, level in rule.when.items() if level == BAD[self.metrics[name].better]]

    def bad(self, rule: Rule) -> list[tuple[str, Part]]:
        """The bad components that a rule quotes, each with its metric."""
        return [
            (name, part)
            for name in (self.against(rule) if rule.quotes is None else rule.quotes)
            if name in self.scores
            for part in self.scores[name].parts
            if part.good is False and (not rule.faults or part.kind in rule.faults)
        ]

    def certain(self, rule: Rule) -> float:
        """How certain it is that the scores are high and low as a rule wants them, in [0, 1].

        The lowest confidence among the verdicts that are needed for it, the most confident first. A verdict without a
        confidence is taken at its word. Only scores where higher is better and that say what they consist of count.
        """
        lowest = 1.0
        for name, level in rule.when.items():
            if level == "any":
                continue
            score, good = self.scores[name], level != BAD[self.metrics[name].better]
            cells = [part.cell for part in score.parts if part.good is good]
            if self.metrics[name].better != "higher" or not cells:
                continue
            known = [1.0 if not isinstance(c, Verdict) or c.confidence is None else c.confidence for c in cells]
            enough = math.ceil(self.thresholds[name] * score.judged - 1e-9)
            needed = max(1, enough if good else score.judged - enough + 1)
            lowest = min([lowest, *sorted(known, reverse=True)[:needed]])
        return lowest

    def finding(self, rule: Rule) -> Finding:
        """What a rule that holds says, with its evidence and its doubts."""
        bad = self.bad(rule)
        named = [*rule.when, *(name for name in rule.further if name in self.scores)]
        doubts = [*self._doubts(rule, [part for _, part in bad])]
        return Finding(
            rule.name,
            rule.kind,
            rule.component,
            rule.reading,
            rule.advice,
            not doubts,
            "; ".join(doubts),
            {name: self.scores[name].value for name in named},
            sum(abs(self.thresholds[name] - self.scores[name].value) for name in self.against(rule))
            or len(bad) / max(1, sum(self.scores[name].judged for name, level in rule.when.items() if level == "any")),
            tuple(self._evidence(name, part) for name, part in bad),
            sum(len(part.component.text) for _, part in bad) // CHARACTERS_PER_TOKEN if rule.kind == "waste" else 0,
        )

    def _evidence(self, name: str, part: Part) -> Evidence:
        metric, cell, component = self.metrics.get(name), part.cell, part.component
        fault = metric.fault_of(part) if metric else ""
        if name == "groundedness" and metric and component.text in self.conversed:
            fault = BY_CONVERSATION
        explanation, sure = (cell.explanation, cell.sure) if isinstance(cell, Verdict) else ("", True)
        return Evidence(name, component.text, fault, explanation, component.source, component.span, sure)

    def _doubts(self, rule: Rule, bad: Sequence[Part]) -> Iterator[str]:
        doubted = False
        for doubt in filter(None, (self._doubt(name) for name, level in rule.when.items() if level != "any")):
            doubted = True
            yield doubt
        if self.certain(rule) < rule.sure_from:
            doubted = True
            yield "the judge isn't certain enough of verdicts that it hangs on"
        if bad and not doubted and not any(isinstance(part.cell, Verdict) and part.cell.sure for part in bad):
            yield "the judge isn't sure of any verdict that it rests on"
        if "groundedness" in rule.when and (told := sum(part.component.text in self.conversed for part in bad)):
            yield f"the conversation before the query supports {told} of the claims"

    def _doubt(self, name: str) -> str:
        """Why a score's level isn't sure; empty if it is."""
        metric, score, threshold = self.metrics[name], self.scores[name], self.thresholds[name]
        upwards = metric.better == "higher"
        if abs(score.value - threshold) < MARGIN - 1e-9 and score.value != metric.range[upwards]:  # else it is perfect
            return f"{name} {score.value:.2f} lies near its threshold of {threshold:.2f}"
        if not is_bad(score.value, threshold, metric.better) or not score.parts:
            return ""
        unsure = sum(p.good is False and isinstance(p.cell, Verdict) and not p.cell.sure for p in score.parts)
        spared = unsure / max(1, score.judged)
        if not is_bad(score.value + spared if upwards else score.value - spared, threshold, metric.better):
            return f"{name} {score.value:.2f} rests on verdicts that the judge isn't sure of"
        return ""


def _scores(record: Record) -> dict[str, Score]:
    return {name: outcome for name, outcome in record.outcomes.items() if isinstance(outcome, Score)}


def declined(record: Record) -> bool | None:
    """Whether the response declines to answer: the judge says so, and a sub-question stays unanswered.

    Returns:
        None where the judge was asked and couldn't tell, and where it says so, the response claims something, and
        nobody asked which sub-questions it answers: it may decline a part only.
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
