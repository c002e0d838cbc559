"""Whether a run is good enough: means held against lowest allowed values."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ragtriage.errors import ConfigError
from ragtriage.summary import Summary


def check_gates(gates: Mapping[str, float], metrics: Collection[str]) -> None:
    """Refuse a gate on a metric that isn't computed, before anything is judged.

    Raises:
        ConfigError: says which.
    """
    for name in gates:
        if name not in metrics:
            raise ConfigError(f"--fail-under {name}: it isn't computed here; add it to --metrics")


def failing(gates: Mapping[str, float], summary: Summary) -> list[str]:
    """One sentence for every gate that fails; a mean that can't be computed fails its gate."""
    means = {m.name: m.mean for m in summary.metrics}
    lines = []
    for name, lowest in gates.items():
        mean = means[name]
        if mean is None:
            lines.append(f"gate failed: {name} is undefined on every case, at least {lowest:g} was asked for")
        elif mean < lowest - 1e-9:
            lines.append(f"gate failed: mean {name} is {mean:.3f}, at least {lowest:g} was asked for")
    return lines
