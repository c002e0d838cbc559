"""From which value on a score counts as good: the defaults, each with its reason, stand in `thresholds.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Literal

from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Better

Level = Literal["low", "high"]
BAD: Mapping[Better, Level] = MappingProxyType({"higher": "low", "lower": "high"})
"""Which direction is good → the level that is bad."""

_ROUNDING = 1e-9
"""A mean of verdicts such as 4/5 must not fall below 0.8 by rounding."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """The value at which a score is just good enough; see `level_of`."""

    value: float
    why: str


def _read() -> Mapping[str, Threshold]:
    rows = tomllib.loads(files(__package__).joinpath("thresholds.toml").read_text("utf-8"))
    return MappingProxyType({name: Threshold(**row) for name, row in rows.items()})


DEFAULTS: Mapping[str, Threshold] = _read()
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


def distance_past_threshold(value: float | None, threshold: float | None, better: Better = "higher") -> float:
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
