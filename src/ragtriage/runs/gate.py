"""Whether a run is good enough: means held against lowest allowed values, or highest where lower is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Better, Metric
from ragtriage.runs.summary import Summary

FLAGS: Mapping[Better, Literal["--fail-below", "--fail-above"]] = {"higher": "--fail-below", "lower": "--fail-above"}
"""Which direction of a metric is good → the flag that sets its gate."""


@dataclass(frozen=True, slots=True)
class Gates:
    """What the means of a run must keep to."""

    under: Mapping[str, float]
    """Metric name → its lowest allowed mean."""
    over: Mapping[str, float]
    """The same for metrics of which lower is better: the highest allowed mean."""

    def check(self, metrics: Sequence[Metric]) -> None:
        """Refuse a gate on a metric that isn't computed, or in its wrong direction, before anything is judged.

        Raises:
            ConfigError: says which.
        """
        directions = {m.name: m.better for m in metrics}
        for better, flag in FLAGS.items():
            limits = self.under if better == "higher" else self.over
            for name, limit in limits.items():
                if name not in directions:
                    raise ConfigError(f"{flag} {name}: it isn't computed here; add it to --metrics")
                if directions[name] != better:
                    other = FLAGS[directions[name]]
                    raise ConfigError(f"{flag} {name}: {directions[name]} is better, so write {other} {name}={limit:g}")

    def failing(self, summary: Summary) -> list[str]:
        """One sentence for every gate that fails; a mean that can't be computed fails its gate."""
        means = {m.name: m.mean for m in summary.metrics}
        lines = []
        for limits, side, word in ((self.under, 1, "least"), (self.over, -1, "most")):
            for name, limit in limits.items():
                mean = means[name]
                if mean is None:
                    lines.append(f"gate failed: {name} is undefined on every case, at {word} {limit:g} was asked for")
                elif side * (mean - limit) < -1e-9:
                    lines.append(f"gate failed: mean {name} is {mean:.3f}, at {word} {limit:g} was asked for")
        return lines
