"""What stands above every picture of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ragtriage.core.metric import Metric
from ragtriage.diagnosis import RULES, Rule
from ragtriage.trust.calibration.corrected_mean import CorrectedMean


@dataclass(frozen=True, slots=True)
class Header:
    """Which run it is, what it was made of and how far it got."""

    run: str
    """The run's number."""
    input: str = ""
    """What was evaluated: a file's name."""
    judge: str = ""
    """Who judged, for example `embedded`."""
    created: str = ""
    """When it began, as it is to be shown."""
    state: str = "finished"
    """`finished`, or how it stands else: `open`, `interrupted`."""
    of: int | None = None
    """How many cases there were to evaluate, where that is known; fewer were done if the run isn't finished."""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """Metric name → the value at which a score is just good enough."""
    rules: Sequence[Rule] = RULES
    """The diagnosis table that it was read with."""
    rejected: int = 0
    """Rows of the input that couldn't be used."""
    rejections: tuple[str, ...] = ()
    """The first of them, each with its place and reason: "row 7: the query is missing"."""
    spent: str = ""
    """What the judge took, in words; empty for one that sends no request."""
    version: str = ""
    """Of ragtriage."""
    metrics: Sequence[Metric] = ()
    """Those that were computed; the built-in ones may be left out, since their titles are known."""

    corrections: Mapping[str, CorrectedMean] = field(default_factory=dict)
    """Metric name → its mean corrected for the judge's errors, where people labelled some of its components."""
    judge_card: Mapping[str, Any] | None = None
    """What is known of the judge: see `ragtriage.trust.judge_card`."""

    def partial(self, done: int) -> bool:
        """Whether this isn't the whole of the input."""
        return self.state != "finished" or (self.of is not None and done < self.of)
