"""What the gates of a comparison say: pass, fail, or can't tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from ragtriage.core.display import plural
from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Metric
from ragtriage.core.statistics import wilson_interval
from ragtriage.runs.compare.comparison import GateResult, MetricComparison, Outcome
from ragtriage.runs.compare.difference import LEVEL
from ragtriage.runs.compare.expected_change import expected_of
from ragtriage.runs.compare.gate_limits import CompareGates, ShareLimit
from ragtriage.runs.compare.margin_gate import margin_result
from ragtriage.runs.compare.matched import Matched
from ragtriage.runs.compare.sides import Side
from ragtriage.runs.metric_tally import weighted_interval

ROUNDING = 1e-9
"""A mean that is this near its limit lies on it."""


def gate_results(matched: Matched, rows: Sequence[MetricComparison], gates: CompareGates) -> list[GateResult]:
    """What every gate says, in the order of the flags.

    With K `--fail-if-worse` gates each interval has the level 1 − .05/K (Bonferroni).

    Args:
        matched: the two sides.
        rows: the metrics of both.
        gates: the limits; checked against the metrics and rules.
    """
    by_name = {row.name: row for row in rows}
    level = 1 - (1 - LEVEL) / max(1, len(gates.fail_if_worse))
    margins = (margin_result(matched, by_name.get(one.metric), one, level) for one in gates.fail_if_worse)
    return [
        *limit_results(matched.new, gates),
        *(replace(one, failed=gates.cant_tell_fails) if one.outcome == "can't tell" else one for one in margins),
        *share_results(matched.new, gates.at_most, cant_tell_fails=gates.cant_tell_fails),
    ]


def limit_results(new: Side, gates: CompareGates) -> Iterator[GateResult]:
    """The gates on the means of the new side."""
    metrics = {m.name: m for m in new.metrics}
    for name, limit in gates.fail_below.items():
        yield _limit(new, metrics[name], limit, "fail_below")
    for name, limit in gates.fail_above.items():
        yield _limit(new, metrics[name], limit, "fail_above")


def _limit(new: Side, metric: Metric, limit: float, kind: Literal["fail_below", "fail_above"]) -> GateResult:
    values = new.table.scores[metric.name]
    there = ~np.isnan(values)
    side, word = (1, "least") if kind == "fail_below" else (-1, "most")
    given = f"{metric.name}={limit:g}"
    if not there.any():
        says = f"{metric.name} is undefined on every case, at {word} {limit:g} was asked for"
        return GateResult(kind, given, metric.name, limit, "fails", True, says, title=metric.title)  # noqa: FBT003  # failed
    mean, low, high = weighted_interval(values[there], new.table.weight[there])
    failed = side * (mean - limit) < -ROUNDING
    chance = ", which is within chance of it" if not failed and low <= limit <= high else ""
    asked = f"at {word} {limit:g} was asked for"
    return GateResult(
        kind, given, metric.name, limit, "fails" if failed else "passes", failed,
        f"mean {metric.name} is {mean:.3f}, {asked}{chance}", low, high, LEVEL, mean, title=metric.title,
    )  # fmt: skip


def share_results(new: Side, limits: Sequence[ShareLimit], *, cant_tell_fails: bool = False) -> Iterator[GateResult]:
    """The gates on how many of the new side's cases have a finding, every case counted alike.

    Of findings that are shown, or sure, the interval is Wilson's; it is printed and decides nothing. Of an expected
    number it decides: the gate fails where all of it lies above the limit, passes where the expected number doesn't,
    and can't tell where that does and the interval holds the limit.

    Args:
        new: the side, whose findings were read.
        limits: the gates.
        cant_tell_fails: whether a gate that can't tell fails.
    """
    for limit in limits:
        if limit.counts == "expected":
            yield _expected(new, limit, cant_tell_fails=cant_tell_fails)
            continue
        found = new.table.found
        column = None if found is None else (found.sure if limit.counts == "sure" else found.holds).get(limit.rule)
        count = len(new.table)
        if column is None or not count:
            raise ConfigError(f"--at-most {limit.rule}: findings weren't read, or it has no case")
        share = float(np.nansum(column)) / count
        low, high = wilson_interval(share, count)
        failed = share > limit.share + ROUNDING
        what = f"{'sure ' if limit.counts == 'sure' else ''}{limit.rule}"
        says = (
            f"{share:.1%} of {plural(count, 'case')} have {what} (95 % interval {low:.1%} to {high:.1%}), at most "
            f"{limit.share:.1%} was asked for"
        )
        outcome: Outcome = "fails" if failed else "passes"
        yield GateResult(
            "at_most", limit.name, limit.rule, limit.share, outcome, failed, says, low, high, LEVEL, share,
            title=limit.rule,
        )  # fmt: skip


def _expected(new: Side, limit: ShareLimit, *, cant_tell_fails: bool) -> GateResult:
    """A gate on an expected number: mere suspicions count, so that it has a limit of its own."""
    found, count = new.table.found, len(new.table)
    if found is None or limit.rule not in found.likely or not count:
        raise ConfigError(
            f"--at-most {limit.name}: {new.header.name} doesn't say how likely findings are, or has no case: make "
            "its baseline anew, or evaluate the cases again"
        )
    number = expected_of(found.likely[limit.rule])
    share, low, high = number.value / count, number.low / count, number.high / count
    if share <= limit.share + ROUNDING:
        outcome: Outcome = "passes"
    else:
        outcome = "fails" if low > limit.share + ROUNDING else "can't tell"
    begins = {"passes": "", "fails": "", "can't tell": f"can't tell whether too many have {limit.rule}: "}[outcome]
    why = {
        "passes": ", which lies in that interval" if low <= limit.share < high else "",
        "fails": ", and all of that interval lies above it",
        "can't tell": ", which lies in that interval",
    }[outcome]
    says = (
        f"{begins}{share:.1%} of {plural(count, 'case')} are expected to have {limit.rule}, about {number.value:.0f} "
        f"(95 % interval {number.low:.0f} to {number.high:.0f}, {low:.1%} to {high:.1%}), at most {limit.share:.1%} "
        f"was asked for{why}"
    )
    failed = outcome == "fails" or (outcome == "can't tell" and cant_tell_fails)
    return GateResult(
        "at_most", limit.name, limit.rule, limit.share, outcome, failed, says, low, high, LEVEL, share,
        title=limit.rule, expected=True,
    )  # fmt: skip
