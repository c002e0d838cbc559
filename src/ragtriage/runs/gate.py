"""Quality gates: whether the means of a run are good enough."""

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
    """Limits on the means of a run."""

    fail_below: Mapping[str, float]
    """Metric name → its lowest allowed mean."""
    fail_above: Mapping[str, float]
    """The highest allowed mean of a metric of which lower is better."""

    def check(self, metrics: Sequence[Metric]) -> None:
        """Refuse a gate on a metric that isn't computed, or in its wrong direction, before anything is judged.

        Raises:
            ConfigError: says which.
        """
        directions = {m.name: m.better for m in metrics}
        for better, flag in FLAGS.items():
            limits = self.fail_below if better == "higher" else self.fail_above
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
        for limits, side, word in ((self.fail_below, 1, "least"), (self.fail_above, -1, "most")):
            for name, limit in limits.items():
                mean = means[name]
                if mean is None:
                    lines.append(f"gate failed: {name} is undefined on every case, at {word} {limit:g} was asked for")
                elif side * (mean - limit) < -1e-9:
                    lines.append(f"gate failed: mean {name} is {mean:.3f}, at {word} {limit:g} was asked for")
        return lines
