"""What is wanted of a file: the named metrics or, where none is, those that its fields allow; and the gates."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ragtriage.cli.options import criteria_from
from ragtriage.config import Settings, named_numbers
from ragtriage.metrics.optional import default_groups
from ragtriage.runs.gate import Gates
from ragtriage.runs.tally import Criteria


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of one file."""

    criteria: Criteria
    gates: Gates
    by_default: tuple[str, ...] = ()
    """The groups that are computed although nobody named them; empty where somebody named metrics."""


@dataclass(frozen=True, slots=True)
class Wanting:
    """What the user's settings and flags say, before a file is known."""

    settings: Settings
    metrics: str | None
    """What `--metrics` gives."""
    paid: bool
    """Whether the judge costs money."""
    fail_below: Sequence[str] = ()
    fail_above: Sequence[str] = ()

    def of(self, fields: Collection[str]) -> Wanted:
        """What is wanted of a file with these fields. This loads metrics of one's own.

        Raises:
            ConfigError: a metric isn't known, or a gate is on one that isn't computed.
        """
        unnamed = self.metrics is None and not self.settings.metrics
        by_default = ("thelma", *default_groups(fields, paid=self.paid)) if unnamed else ()
        criteria = criteria_from(self.settings, self.metrics, by_default)
        computed = {m.name for m in criteria.metrics}
        gates = Gates(
            {**self.settings.fail_below, **named_numbers(self.fail_below, "--fail-below", computed)},
            {**self.settings.fail_above, **named_numbers(self.fail_above, "--fail-above", computed)},
        )
        gates.check(criteria.metrics)
        return Wanted(criteria, gates, by_default)
