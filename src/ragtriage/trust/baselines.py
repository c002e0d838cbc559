"""What length and word overlap alone say of a pair: what a judge has to beat to have measured anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ragtriage.core.case import Case
from ragtriage.core.metric import Metric
from ragtriage.metrics import metric_named
from ragtriage.text import split_sentences
from ragtriage.trust.pairs import Pair
from ragtriage.trust.wording import content

SOURCES = ("source_precision", "fact_precision", "source_query_coverage")
"""The metrics that are about the sources' length; the others are about the response's."""
LONGER_IS_BETTER = ("source_query_coverage", "response_query_coverage")
"""Coverage likes more text; everything else less."""


def by_length(pair: Pair) -> float:
    """The length that speaks for the better version, minus the same of the worse one, in characters.

    Of the part that the metric is about: coverage likes more of it, every other metric less.
    """
    sign = 1 if pair.metric in LONGER_IS_BETTER else -1
    return float(sign * (_length(pair.metric, pair.better) - _length(pair.metric, pair.worse)))


def by_overlap(pair: Pair) -> float | None:
    """The metric's plainest form in words, better minus worse, in [-1, 1]; None for metrics that have none."""
    form = _FORMS.get(pair.metric)
    return form(pair.better) - form(pair.worse) if form else None


def agreement_by_length(pairs: Sequence[Pair]) -> float | None:
    """The share of pairs whose better version has the length that its metric likes; None over nothing."""
    return sum(by_length(pair) > 0 for pair in pairs) / len(pairs) if pairs else None


def agreement_by_overlap(pairs: Sequence[Pair]) -> float | None:
    """The share of pairs whose better version overlaps as its metric likes; None over nothing, or without a form."""
    found = [by_overlap(pair) for pair in pairs]
    known = [value for value in found if value is not None]
    return sum(value > 1e-9 for value in known) / len(known) if known else None


def title_of(name: str) -> str:
    """A metric's plain name."""
    metric: Metric | None = metric_named(name)
    return metric.title if metric else name


def _length(metric: str, case: Case) -> int:
    if metric in SOURCES:
        return sum(len(source.text) for source in case.sources)
    return len(case.response or "")


def _share(text: str, within: str) -> float:
    """The share of a text's content words that occur in another."""
    words, there = content(text), set(content(within))
    return sum(word in there for word in words) / max(1, len(words))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def _sentences(text: str | None) -> list[str]:
    return [one.text for one in split_sentences(text or "")]


def _closest(response: str | None) -> float:
    """The highest Jaccard similarity between the words of two sentences."""
    bags = [set(content(one)) for one in _sentences(response)]
    pairs = [(a, b) for i, a in enumerate(bags) for b in bags[:i]]
    return max((len(a & b) / max(1, len(a | b)) for a, b in pairs), default=0.0)


def _every_sentence(case: Case) -> list[str]:
    return [sentence for source in case.sources for sentence in _sentences(source.text)]


_FORMS: Mapping[str, Callable[[Case], float]] = MappingProxyType(
    {
        "source_precision": lambda c: _mean([_share(c.query, s.text) for s in c.sources]),
        "fact_precision": lambda c: _mean([_share(c.query, sentence) for sentence in _every_sentence(c)]),
        "source_query_coverage": lambda c: max((_share(c.query, s.text) for s in c.sources), default=0.0),
        "response_precision": lambda c: _mean([_share(c.query, one) for one in _sentences(c.response)]),
        "response_query_coverage": lambda c: _share(c.query, c.response or ""),
        "self_distinctness": lambda c: 1 - _closest(c.response),
        "groundedness": lambda c: _mean(
            [_share(one, " ".join(s.text for s in c.sources)) for one in _sentences(c.response)]
        ),
    }
)
