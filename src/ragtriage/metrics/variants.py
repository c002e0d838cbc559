"""Metrics with a value in their name: `self_distinctness(threshold=0.9)`, `retrieval_recall(k=5)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Metric
from ragtriage.metrics.generator import query_similarity, query_similarity_of
from ragtriage.metrics.response import self_distinctness, self_distinctness_at
from ragtriage.metrics.retrieval import (
    retrieval_at,
    retrieval_mrr,
    retrieval_ndcg,
    retrieval_precision,
    retrieval_recall,
)

MOST = 1000
"""The largest number that makes sense for a k, or for questions to be written."""
_FORM = re.compile(r"(\w+)\s*\(\s*(\w+)\s*=\s*([^()=]*?)\s*\)")


def variant_named(name: str) -> Metric | None:
    """The metric of this name, if the name carries a value; None if it doesn't, or no such metric takes one.

    Raises:
        ConfigError: the metric takes another word or value; says which.
    """
    form = _FORM.fullmatch(name)
    if form is None or form[1] not in VARIANTS:
        return None
    word, example, make = VARIANTS[form[1]]
    if form[2] == word:
        try:
            return make(form[3])
        except ValueError:
            pass
    raise ConfigError(f"{name!r}: write it as {form[1]}({word}={example})")


def _threshold(value: str) -> float | None:
    if value.lower() == "none":
        return None
    if not re.fullmatch(r"\d*\.?\d+", value):
        raise ValueError(value)
    return float(value)


def _count(value: str) -> int:
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= MOST:
        raise ValueError(value)
    return int(value)


def _at(base: Metric, value: str) -> Metric:
    return retrieval_at(base, _count(value))


VARIANTS: Mapping[str, tuple[str, str, Callable[[str], Metric]]] = {
    self_distinctness.name: ("threshold", "0.9", lambda value: self_distinctness_at(_threshold(value))),
    query_similarity.name: ("n", "5", lambda value: query_similarity_of(_count(value))),
    **{
        base.name: ("k", "5", partial(_at, base))
        for base in (retrieval_precision, retrieval_recall, retrieval_mrr, retrieval_ndcg)
    },
}
"""Metric → the word before the `=`, an example of a value, and what makes the metric of a value."""
