"""The words and signs that every picture shares, so that colour never carries a meaning alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ragtriage.core.metric import Better
from ragtriage.metrics.citations import FALSE
from ragtriage.report.coverage import State
from ragtriage.report.marks import Look
from ragtriage.runs.summary import Summary
from ragtriage.trust.calibration.corrected_mean import CorrectedMean


def two_places(value: float) -> str:
    """A score as it is shown everywhere; what rounds to nothing has no sign."""
    return f"{round(value, 2) + 0.0:.2f}"


LOOK_WORDS: Mapping[Look, str] = MappingProxyType(
    {
        "unsupported": "not supported by the sources",
        "check": "check this: perhaps not supported",
        "dangling": FALSE["dangling"],
        "unattributed": FALSE["unattributed"],
        "uncited": FALSE["uncited"],
        "misattributed": FALSE["misattributed"],
        "unknown": "the judge could not tell",
        "extraneous": "supported, but not needed to answer",
        "supported": "supported by the sources",
        "essential": "needed to answer",
        "remark": "a remark about the sources, not a claim",
        "plain": "not judged",
    }
)
STATE_WORDS: Mapping[State, str] = MappingProxyType(
    {
        "yes": "yes",
        "no": "no",
        "check": "probably no",
        "unknown": "can't tell",
        "failed": "the judge failed",
        "not asked": "not asked",
    }
)
REPEATED_WORDS = "said twice"
KIND_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "failure": "failure",
        "quality": "quality",
        "doubt": "doubt",
        "waste": "waste",
        "right": "done right",
        "undetermined": "undetermined",
        "healthy": "healthy",
    }
)


@dataclass(frozen=True, slots=True)
class Signs:
    """One alphabet of signs."""

    looks: Mapping[Look, str]
    states: Mapping[State, str]
    repeated: str
    low: str
    high: str
    less: str
    """Behind the title of a metric of which lower is better."""
    full: str
    """One filled place of a bar."""
    empty: str
    arrow: str
    dot: str
    """Between things on one line."""
    dash: str
    """Between the ends of an interval, and for what isn't there."""
    kinds: Mapping[str, str]


SIGNS = Signs(
    MappingProxyType(
        {
            "unsupported": "✗",
            "dangling": "∅",
            "uncited": "✗",
            "misattributed": "⇄",
            "unattributed": "⊕",
            "check": "!",
            "unknown": "?",
            "extraneous": "○",
            "supported": "✓",
            "essential": "★",
            "remark": "“",
            "plain": "",
        }
    ),
    MappingProxyType({"yes": "✓", "no": "✗", "check": "!", "unknown": "?", "failed": "⊘", "not asked": "·"}),
    "↻",
    "▼",
    "▲",
    "↓",
    "█",
    "░",
    "→",
    "·",
    "–",
    MappingProxyType(
        {"failure": "✗", "quality": "◆", "doubt": "?", "waste": "○", "right": "✓", "undetermined": "?", "healthy": "✓"}
    ),
)
"""For whatever shows Unicode."""

ASCII = Signs(
    MappingProxyType(
        {
            "unsupported": "x",
            "dangling": "0",
            "uncited": "x",
            "misattributed": "~",
            "unattributed": "@",
            "check": "!",
            "unknown": "?",
            "extraneous": "o",
            "supported": "+",
            "essential": "*",
            "remark": '"',
            "plain": "",
        }
    ),
    MappingProxyType({"yes": "+", "no": "x", "check": "!", "unknown": "?", "failed": "E", "not asked": "."}),
    "=",
    "v",
    "^",
    "(lower is better)",
    "#",
    ".",
    "->",
    "-",
    "-",
    MappingProxyType(
        {"failure": "x", "quality": "o", "doubt": "?", "waste": ".", "right": "+", "undetermined": "?", "healthy": "+"}
    ),
)
"""For a terminal that doesn't."""


def titled(title: str, better: Better, signs: Signs) -> str:
    """A metric's plain name, marked if lower is better."""
    return title if better == "higher" else f"{title} {signs.less}"


def place_within(value: float, within: tuple[float, float]) -> float:
    """Where a value lies between the ends of its range: 0 at the lower, 1 at the upper one and beyond."""
    low, high = within
    return min(1.0, max(0.0, (value - low) / (high - low)))


def level_mark(better: Better, signs: Signs) -> str:
    """The sign of a score that lies on the wrong side of its threshold."""
    return signs.low if better == "higher" else signs.high


def plural(count: int, one: str, many: str = "") -> str:
    """A count with its noun: `1 case`, `2,000 cases`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def citing_of(summary: Summary) -> str:
    """How many responses cite something: what the means of the citation metrics are taken over. Empty if not asked."""
    if summary.citing is None:
        return ""
    cite, of = summary.citing
    return f"{cite:,} of {plural(of, 'response')} {'cites' if of == 1 else 'cite'} something ({cite / of:.0%})"


def flagged_of(summary: Summary) -> str:
    """How many verdicts a check speaks against."""
    return (
        f"{plural(summary.flagged, 'verdict')} of yes with a quote that stands in none of the texts: read them yourself"
    )


def corrected_of(found: CorrectedMean, dash: str = "–") -> str:
    """A corrected mean beside the raw one: "corrected 0.74, 0.66–0.82, from 120 labels"."""
    interval = f"{found.low:.2f}{dash}{found.high:.2f}"
    return f"corrected {found.mean:.2f}, {interval}, from {plural(found.labels, 'label')}"
