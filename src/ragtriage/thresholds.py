"""From which value on a score counts as good: defaults, each with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ragtriage.errors import ConfigError

MARGIN = 0.1
"""How near a score may lie to its threshold before a finding is *near a threshold* and not *sure*."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """Below `value` a score is low, at or above it high."""

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
    }
)
"""Metric name → default threshold; a metric that isn't here has none and can't be low or high."""


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
            raise ConfigError(f"the threshold of {name!r} is {value!r}: give a number between 0 and 1")
        chosen[name] = float(value)
    return {name: threshold.value for name, threshold in DEFAULTS.items()} | chosen
