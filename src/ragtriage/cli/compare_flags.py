"""The flags of a comparison: gates, which metrics, and by what settings both sides are read."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from ragtriage.config import Settings, named_numbers
from ragtriage.core.errors import ConfigError
from ragtriage.core.suggestions import near_names
from ragtriage.metrics import GROUPS, metric_named
from ragtriage.runs.compare.gates import CompareGates, share_limits, worse_limits


@dataclass(frozen=True)
class GateFlags:
    """Gates that compare two sides, and that count findings."""

    fail_if_worse: list[str] | None = None
    at_most: list[str] | None = None
    cant_tell: Literal["warn", "fail"] = "warn"

    def gates(
        self,
        settings: Settings,
        metrics: Collection[str],
        *,
        fail_below: list[str] | None = None,
        fail_above: list[str] | None = None,
    ) -> CompareGates:
        """All gates of a command, with those of the settings; flags go first.

        Args:
            settings: the user's.
            metrics: names of metrics beside the built-in ones.
            fail_below: the values of `--fail-below`.
            fail_above: the values of `--fail-above`.
        """
        return CompareGates(
            {**settings.fail_below, **named_numbers(fail_below or (), "--fail-below", metrics)},
            {**settings.fail_above, **named_numbers(fail_above or (), "--fail-above", metrics)},
            worse_limits(self.fail_if_worse or (), settings.fail_if_worse),
            share_limits(self.at_most or (), settings.at_most),
            self.cant_tell == "fail",
        )


def chosen_metrics(given: str, known: Iterable[str]) -> frozenset[str]:
    """The metrics that `--metrics` names, of those that a side has.

    Raises:
        ConfigError: a name is neither a metric of a side nor a group, or none is left.
    """
    there = dict.fromkeys(known)
    chosen: dict[str, None] = {}
    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        bare = name.removeprefix("-")
        built_in = metric_named(bare)
        some = [m.name for m in GROUPS[bare]] if bare in GROUPS else [built_in.name if built_in else bare]
        if bare not in GROUPS and some[0] not in there:
            near = near_names(bare, [*there, *GROUPS])
            hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(there)}"
            raise ConfigError(f"--metrics {bare}: no side has it: {hint}")
        if name.startswith("-"):
            chosen = {one: None for one in (chosen or there) if one not in some}
        else:
            chosen |= {one: None for one in some if one in there}
    if not chosen:
        raise ConfigError(f"--metrics {given!r} leaves no metric: separate names by commas, or leave it out")
    return frozenset(chosen)


def share_of(text: str, flag: str) -> float:
    """`0.9` or `90%` → a share.

    Raises:
        ConfigError: it is no number from 0 to 1.
    """
    try:
        value = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise ConfigError(f"{flag} {text}: give a share from 0 to 1, for example 0.9")
    return value
