"""What length and word overlap alone get on pairs: a judge has to beat them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ragtriage.core.case import Case
from ragtriage.trust.baselines import OF_SOURCES, closest, overlap, sentences
from ragtriage.trust.content_words import content_words
from ragtriage.trust.pairs.pair_files import Pair

LONGER_IS_BETTER = ("source_query_coverage", "response_query_coverage")
"""Coverage likes more text; everything else less."""


def pair_overlap(pair: Pair) -> float | None:
    """The metric's plainest form in words, better minus worse, in [-1, 1]; None for metrics that have none."""
    form = _CASE_OVERLAP.get(pair.metric)
    return form(pair.better) - form(pair.worse) if form else None


def pair_length(pair: Pair) -> float:
    """The length that speaks for the better version, minus the same of the worse one, in characters.

    Of the part that the metric is about: coverage likes more of it, every other metric less.
    """
    sign = 1 if pair.metric in LONGER_IS_BETTER else -1
    return float(sign * (_case_length(pair.metric, pair.better) - _case_length(pair.metric, pair.worse)))


def agreement_by_length(pairs: Sequence[Pair]) -> float | None:
    """The share of pairs whose better version has the length that its metric likes; None over nothing."""
    return sum(pair_length(pair) > 0 for pair in pairs) / len(pairs) if pairs else None


def agreement_by_overlap(pairs: Sequence[Pair]) -> float | None:
    """The share of pairs whose better version overlaps as its metric likes; None over nothing, or without a form."""
    known = [value for pair in pairs if (value := pair_overlap(pair)) is not None]
    return sum(value > 1e-9 for value in known) / len(known) if known else None


def _case_length(metric: str, case: Case) -> int:
    if metric in OF_SOURCES:
        return sum(len(source.text) for source in case.sources)
    return len(case.response or "")


def _share(text: str, within: str | None) -> float:
    return overlap(text, within or "", content_words)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


_CASE_OVERLAP: Mapping[str, Callable[[Case], float]] = MappingProxyType(
    {
        "source_precision": lambda c: _mean([_share(c.query, s.text) for s in c.sources]),
        "fact_precision": lambda c: _mean([_share(c.query, one) for s in c.sources for one in sentences(s.text)]),
        "source_query_coverage": lambda c: max((_share(c.query, s.text) for s in c.sources), default=0.0),
        "response_precision": lambda c: _mean([_share(c.query, one) for one in sentences(c.response)]),
        "response_query_coverage": lambda c: _share(c.query, c.response),
        "self_distinctness": lambda c: 1 - closest(sentences(c.response), content_words),
        "groundedness": lambda c: _mean(
            [_share(one, " ".join(s.text for s in c.sources)) for one in sentences(c.response)]
        ),
    }
)
