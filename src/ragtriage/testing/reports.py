"""What a test looked at goes with its report, so that nothing is lost with a process that ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragtriage.testing.suite import found

if TYPE_CHECKING:
    import pytest


def add_properties(item: pytest.Item) -> None:
    """Put the scores that a test looked at into its user properties, each once."""
    suite = found(item.config)
    if suite is not None:
        item.user_properties += [one for one in suite.results.properties() if one not in item.user_properties]


def attach(config: pytest.Config, report: pytest.TestReport) -> None:
    """Put what was gathered since the last report onto this one, in types that travel between processes."""
    suite = found(config)
    gathered = suite.results.taken() if suite is not None else None
    if gathered is not None:
        report.ragtriage = gathered  # type: ignore[attr-defined]  # a report takes along whatever it is given
