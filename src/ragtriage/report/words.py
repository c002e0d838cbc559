"""The words and signs that every renderer shares, so that colour never carries a meaning alone."""

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from ragtriage.core.display import one_line, plural, settled
from ragtriage.core.metric import Better, Metric
from ragtriage.core.statistics import IntervalEstimate
from ragtriage.diagnosis.findings import Finding
from ragtriage.diagnosis.rules import BAD, is_bad
from ragtriage.judges.judge_config import DECIDE
from ragtriage.metrics import metric_named
from ragtriage.metrics.citations import FALSE
from ragtriage.runs.summary import Summary
from ragtriage.trust.corrected_mean import CorrectedMean

TABLES: Mapping[str, Any] = tomllib.loads(files("ragtriage.report").joinpath("words.toml").read_text("utf-8"))
SIGNS: Mapping[str, str] = TABLES["signs"]
"""Kind of finding, look of a mark or state of a verdict → its sign."""
LOOK_WORDS: Mapping[str, str] = FALSE | TABLES["look_words"]
SEGMENT_WORDS: Mapping[str, str] = FALSE | TABLES["segment_words"]
STATE_WORDS: Mapping[str, str] = TABLES["state_words"]
SHORT_TITLES: Mapping[str, str] = TABLES["short_titles"]
LEVEL_SIGNS: Mapping[str, str] = {"low": "▼", "high": "▲"}
LESS = "↓"
"""Behind the title of a metric of which lower is better."""
FULL, EMPTY = "█", "░"
"""One place of a bar."""
DASH = "–"
"""Between the ends of an interval, and for what isn't there."""
REPEATED_SIGN, REPEATED_WORDS = "↻", "said twice"


def two_places(value: float) -> str:
    """A score as it is shown everywhere; what rounds to nothing has no sign."""
    return f"{settled(value, 2):.2f}"


def shown_time(iso: str) -> str:
    """A stored time as it is shown everywhere: `2026-11-23 15:36:55 UTC`."""
    return f"{iso[:19].replace('T', ' ')} UTC"


def title_of(name: str, metrics: Sequence[Metric] = ()) -> str:
    """The plain name of one of these metrics or a built-in one; its own name if it is neither."""
    metric = metric_named(name, metrics)
    return one_line(metric.title, 60) if metric else name


def better_of(name: str, metrics: Sequence[Metric] = ()) -> Better:
    """Which direction of a metric is good."""
    metric = metric_named(name, metrics)
    return metric.better if metric else "higher"


def titled(title: str, better: Better) -> str:
    """A metric's plain name, marked if lower is better."""
    return title if better == "higher" else f"{title} {LESS}"


def full_title(name: str, metrics: Sequence[Metric] = ()) -> str:
    """The plain name of a metric, marked if lower is better."""
    return titled(title_of(name, metrics), better_of(name, metrics))


def short_title(name: str) -> str:
    """A metric's name in a few characters; a parameter stays: `R(k=5)`."""
    base, bracket, value = name.partition("(")
    return SHORT_TITLES.get(base, base[:8]) + bracket + value


def level_sign(better: Better) -> str:
    """The sign of a score on the wrong side of its threshold."""
    return LEVEL_SIGNS[BAD[better]]


def bad_level(value: float | None, threshold: float | None, better: Better) -> str:
    """The sign and word of a value on the wrong side of its threshold, `▼ low`; empty for another."""
    return f"{level_sign(better)} {BAD[better]}" if is_bad(value, threshold, better) else ""


def place_within(value: float, within: tuple[float, float]) -> float:
    """Where a value lies between the ends of its range: 0 at the lower, 1 at the upper one and beyond."""
    low, high = within
    return settled(min(1.0, max(0.0, (value - low) / (high - low))))


def doubt_of(finding: Finding, metrics: Sequence[Metric] = ()) -> str:
    """Why a finding isn't sure, with the metrics under their plain names; empty if it is."""
    text = one_line(finding.doubt, 300)
    for name in sorted(finding.scores, key=len, reverse=True):
        text = text.replace(name, title_of(name, metrics))
    return text


def citing_of(summary: Summary) -> str:
    """How many responses cite something: what the means of the citation metrics are taken over. Empty if not asked."""
    if summary.citing is None:
        return ""
    cite, of = summary.citing
    return f"{cite:,} of {plural(of, 'response')} {'cites' if of == 1 else 'cite'} something ({cite / of:.0%})"


def share_text(hits: int, of: int, share: IntervalEstimate) -> str:
    """A share with its interval: `17 of 20 (64–95 %)`."""
    if share.low is None or share.high is None:
        return "0 of 0"
    return f"{hits:,} of {of:,} ({100 * share.low:.0f}{DASH}{100 * share.high:.0f} %)"


UNMEASURED = "yes from .5 on, which nobody measured on your texts: ragtriage trust label, trust calibrate"


def flagged_of(summary: Summary, judge: str) -> str:
    """How many verdicts a check speaks against."""
    against = (
        "that the same judge speaks against" if DECIDE in judge else "with a quote that stands in none of the texts"
    )
    return f"{plural(summary.flagged, 'verdict')} of yes {against}: read them yourself"


def corrected_of(found: CorrectedMean) -> str:
    """A corrected mean: "corrected 0.74, 0.66–0.82, from 120 labels"."""
    return f"corrected {found.mean:.2f}, {found.low:.2f}{DASH}{found.high:.2f}, from {plural(found.labels, 'label')}"
