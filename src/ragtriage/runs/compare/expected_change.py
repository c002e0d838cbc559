"""The expected numbers of cases with a finding on two sides, and their difference with an interval.

The difference is Σ(p_new − p_base) over the pairs. Its interval holds three things:

- which cases there are: n² · SE² of the mean difference, as for every other number of a comparison (`difference`);
- whether each case truly has the finding: Σ p(1 − p) of both sides over the pairs of which something changed, as if the
  two sides were independent, which errs wide; where nothing changed both sides are right or wrong alike;
- how far these texts differ from those that the chances were calibrated on. Both sides ask the same questions of the
  same documents, so one step in the log odds moves both, and the difference by V_new − V_base with V = Σ p(1 − p):
  mostly it cancels.

Where every probability is 0 or 1 the last two are 0, and it is the interval of the findings that are shown.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ragtriage.core.statistics import Z
from ragtriage.runs.compare.case_table import DIGESTED
from ragtriage.runs.compare.comparison import ExpectedChange
from ragtriage.runs.compare.difference import ROUNDING, Numbers, difference
from ragtriage.runs.compare.matched import Matched
from ragtriage.runs.expected import BETWEEN_DOMAINS, ExpectedCount


def expected_of(likely: Numbers) -> ExpectedCount:
    """How many cases have something.

    Args:
        likely: shape (n,), the probability of each; NaN where it can't be decided, which counts for nothing.
    """
    return ExpectedCount.of(float(np.nansum(likely)), float(np.nansum(likely * (1.0 - likely))), len(likely))


def expected_change(matched: Matched, rule: str) -> ExpectedChange | None:
    """How many pairs have a finding by its probability, before and after; None where that says no more than the count.

    Args:
        matched: the two sides.
        rule: its name; not one of a doubt.
    """
    paired = matched.likely(rule)
    if paired is None:
        return None
    own = replace(paired, weight=np.ones(len(paired.base)))  # every case counts alike, as in the counts beside it
    there = ~np.isnan(own.change)
    base, new = own.base[there], own.new[there]
    apart, after = base * (1.0 - base), new * (1.0 - new)
    if not there.any() or not (apart.sum() + after.sum() > ROUNDING):
        return None
    counts = expected_of(base), expected_of(new)
    moved = float(new.sum() - base.sum())
    changed = matched.texts.judged(DIGESTED)[there] | (np.abs(new - base) > ROUNDING)
    found = difference(own)
    if not changed.any() or found is None or found.low is None or found.high is None:
        return ExpectedChange(*counts, moved, None, None)
    doubt = math.sqrt(float((apart + after)[changed].sum()))
    shifted = BETWEEN_DOMAINS * float(after.sum() - apart.sum())
    n = found.cases
    down, up = (math.hypot(n * (end - found.difference), Z * doubt, Z * shifted) for end in (found.low, found.high))
    return ExpectedChange(*counts, moved, max(-float(n), moved - down), min(float(n), moved + up))
