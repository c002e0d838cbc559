"""From which value on a score counts as good: defaults, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Better

Level = Literal["low", "high"]
BAD: Mapping[Better, Level] = MappingProxyType({"higher": "low", "lower": "high"})
"""Which direction is good → the level that is bad."""

MARGIN = 0.1
"""How near a score may lie to its threshold before a finding is *near a threshold* and not *sure*."""
_ROUNDING = 1e-9
"""A mean of verdicts such as 4/5 must not fall below 0.8 by rounding."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """The value at which a score is just good enough; see `level_of`."""

    value: float
    why: str


DEFAULTS: Mapping[str, Threshold] = MappingProxyType(
    {
        "source_precision": Threshold(0.5, "below it most of the retrieved sources weren't needed"),
        "fact_precision": Threshold(0.1, "below one fact in ten the chunks are too big"),
        "source_query_coverage": Threshold(0.75, "half of a two-part question unanswered is a failure"),
        "response_precision": Threshold(0.5, "below it most of what is said wasn't asked"),
        "response_query_coverage": Threshold(0.75, "an answer to half of the question leaves the user asking again"),
        "self_distinctness": Threshold(0.75, "more than one sentence in four says again what another says"),
        "groundedness": Threshold(0.8, "0.5 would pass an answer half of which is made up"),
        "hallucination": Threshold(0.2, "the other side of groundedness at 0.8"),
        "claim_relevancy": Threshold(0.75, "more than one claim in four is about something else"),
        "relevant_noise_sensitivity": Threshold(0.25, "fewer claims may be true and merely not in the reference"),
        "irrelevant_noise_sensitivity": Threshold(0.25, "fewer claims may be true and merely not in the reference"),
        "citation_groundedness": Threshold(
            0.8, "the source of the method had 0.87 to 0.9 in use; 0.75 for a weak model"
        ),
        "citation_recall": Threshold(0.5, "below it most of what is said can't be looked up where it stands"),
        "citation_precision": Threshold(0.75, "more than one citation in four leads to what doesn't support it"),
        "answer_precision": Threshold(0.75, "more than one claim in four isn't in the true answer"),
        "answer_recall": Threshold(0.75, "more than one claim in four of the true answer isn't said"),
        "answer_f1": Threshold(0.75, "as for the two that it is the mean of"),
        "context_recall": Threshold(0.75, "more than one claim in four of the true answer isn't in the sources"),
        "self_consistency": Threshold(0.75, "more than one question in four is answered otherwise another time"),
        "sample_agreement": Threshold(0.75, "more than one sample in four gives another answer"),
        "retrieval_recall": Threshold(0.75, "what isn't retrieved can't be said"),
        "retrieval_mrr": Threshold(0.5, "below it the first relevant source stands third or later"),
        "retrieval_ndcg": Threshold(0.5, "below it irrelevant sources stand before most relevant ones"),
    }
)
"""Metric name → default threshold; a metric that isn't here has none and can't be low or high."""


def level_of(value: float, threshold: float, better: Better = "higher") -> Level:
    """Whether a score is low or high. One that lies at its threshold is good, whichever direction that is.

    Where higher is better: low below the threshold, high at or above it. Where lower is better: high above the
    threshold, low at or below it.
    """
    if better == "higher":
        return "low" if value < threshold - _ROUNDING else "high"
    return "high" if value > threshold + _ROUNDING else "low"


def is_bad(value: float | None, threshold: float | None, better: Better = "higher") -> bool:
    """Whether a value lies on the wrong side of its threshold; False if either isn't there."""
    return value is not None and threshold is not None and level_of(value, threshold, better) == BAD[better]


def beyond(value: float | None, threshold: float | None, better: Better = "higher") -> float:
    """How far a value lies on the wrong side of its threshold; 0 if it doesn't, or either isn't there."""
    if value is None or threshold is None or not is_bad(value, threshold, better):
        return 0.0
    return abs(value - threshold)


def thresholds_with(own: Mapping[str, object]) -> dict[str, float]:
    """The defaults, overridden by a user's own values.

    Args:
        own: metric name → value; a name without a default is added.

    Raises:
        ConfigError: a value isn't a number in [-1, 1].
    """
    chosen: dict[str, float] = {}
    for name, value in own.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not -1 <= value <= 1:
            raise ConfigError(f"the threshold of {name!r} is {value!r}: give a number between -1 and 1")
        chosen[name] = float(value)
    return {name: threshold.value for name, threshold in DEFAULTS.items()} | chosen
