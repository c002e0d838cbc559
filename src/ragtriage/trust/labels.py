"""What a person said about a judge's verdicts: one label an item, kept with how the item was drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Pick = Literal["random", "disagreements"]


@dataclass(frozen=True, slots=True)
class Label:
    """One person's yes or no on one item: one component of one metric in one case of a run."""

    run: str
    case: str
    metric: str
    """The metric that shows the component's verdict, as `groundedness`."""
    component: int
    """Its position among the components that this metric shows of this case, from 0."""
    text: str
    """The component, so that the file can be read and that a changed run is noticed."""
    label: bool | None
    """What the person said; None: skipped."""
    verdict: Literal["yes", "no", "unknown"]
    """What the judge had said, as the metric counts it."""
    score: float | None = None
    """The judge's probability of yes; None if it gives none."""
    chance: float | None = None
    """The probability, in (0, 1], with which the item was drawn; None for one that was picked on purpose."""
    pick: Pick = "random"
    by: str = ""
    """Who labelled it, where that was given."""
    draw: str = ""
    """Which draw the chance is of, as `draw_name` writes it; empty where that isn't known, or nothing was drawn."""
