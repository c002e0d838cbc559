"""`--fail-if-worse`: whether a metric is worse by more than a margin, by the whole of its interval."""

from __future__ import annotations

import numpy as np

from ragtriage.core.display import MINUS, p_text, plural, signed
from ragtriage.core.errors import ConfigError
from ragtriage.runs.compare.case_table import Flags
from ragtriage.runs.compare.comparison import COMPARED, GateResult, MetricComparison, Outcome
from ragtriage.runs.compare.difference import Difference, Paired, cases_needed, difference
from ragtriage.runs.compare.gate_limits import WorseLimit, slice_value
from ragtriage.runs.compare.matched import Matched
from ragtriage.runs.compare.metric_rows import SIGNIFICANT
from ragtriage.runs.compare.swaps import binomial_p


def margin_outcome(low: float, high: float, margin: float) -> Outcome:
    """What an interval says of a margin, where up is better.

    Worse if all of it lies below −margin; better if all of it lies above 0; no worse if none of it lies below −margin;
    else can't tell. An end that lies on −margin isn't below it.
    """
    if high < -margin:
        return "worse"
    if low > 0:
        return "better"
    return "no worse" if low >= -margin else "can't tell"


def margin_result(matched: Matched, row: MetricComparison | None, limit: WorseLimit, level: float) -> GateResult:
    """What one gate says; where lower is better everything is mirrored before the test.

    Args:
        matched: the two sides.
        row: the metric's row; None if it was left out.
        limit: the gate.
        level: of the interval.

    Raises:
        ConfigError: no pair is in the slice that it names.
    """
    name = limit.metric + (f" ({limit.slice[0]}: {slice_value(limit.slice[1])})" if limit.slice else "")
    unknown = f"can't tell whether {name} is worse"
    if row is None or row.verdict not in COMPARED or row.verdict == "undefined":
        why = row.why if row else "it isn't among --metrics"
        return _result(limit, row, "can't tell", f"{unknown}: {why}", level)
    if row.verdict == "not touched":
        return _result(limit, row, "no worse", f"{name} is no worse: nothing that it is judged by changed", level)
    paired = matched.scores(limit.metric)[0]
    if limit.slice:
        paired = paired.at(_of_slice(matched, limit))
    found = difference(paired, row.range[1] - row.range[0], level)
    outcome, says = _said(name, limit, row.direction, paired, found)
    return _result(limit, row, outcome, says, level, found)


def _said(
    name: str, limit: WorseLimit, direction: int, paired: Paired, found: Difference | None
) -> tuple[Outcome, str]:
    """What an interval says of one metric."""
    unknown = f"can't tell whether {name} is worse"
    if found is None or found.low is None or found.high is None or found.se is None or found.sees is None:
        few = "no pair has it on both sides" if found is None else "one case or group alone has no interval"
        return "can't tell", f"{unknown}: {few}"
    low, high = (found.low, found.high) if direction == 1 else (-found.high, -found.low)
    outcome = margin_outcome(low, high, limit.margin)
    told = f"{signed(found.difference)}, {level_text(found.level)} interval {signed(found.low)} to {signed(found.high)}"
    weak = f"; these pairs see {found.sees:.3f} at best" if found.sees > limit.margin > 0 else ""
    if outcome == "worse":
        side = "below" if direction == 1 else "above"
        end = f"{-direction * limit.margin + 0.0:g}".replace("-", MINUS)
        return outcome, f"{name} is worse: {told}, wholly {side} {end}"
    if outcome == "can't tell":
        needed = cases_needed(found.cases, found.se, limit.margin)
        if needed is not None and needed > found.cases:
            weak = f": {plural(found.cases, 'case')}; some {needed:,} would settle a margin of {limit.margin:g}"
        by = f" by more than {limit.margin:g}" if limit.margin else ""
        return outcome, f"{unknown}{by}: {told}{weak}"
    had, has = ~np.isnan(paired.base), ~np.isnan(paired.new)
    lost, gained = int((had & ~has).sum()), int((has & ~had).sum())
    p = binomial_p(lost, gained)
    if lost > gained and p < SIGNIFICANT:  # an application could pass by saying less
        less = f"but {lost:,} cases lost the score and {gained:,} gained one (p {p_text(p)})"
        return "can't tell", f"{unknown}: {told}, {less}"
    return outcome, f"{name} is {outcome}: {told}{weak}"


def _result(
    limit: WorseLimit,
    row: MetricComparison | None,
    outcome: Outcome,
    says: str,
    level: float,
    found: Difference | None = None,
) -> GateResult:
    return GateResult(
        kind="fail_if_worse",
        name=limit.name,
        metric=limit.metric,
        limit=limit.margin,
        outcome=outcome,
        failed=outcome == "worse",
        says=says,
        low=found.low if found else None,
        high=found.high if found else None,
        level=level,
        value=found.difference if found else None,
        slice=limit.slice,
        title=row.title if row else "",
    )


def _of_slice(matched: Matched, limit: WorseLimit) -> Flags:
    tag, value = limit.slice or ("", "")
    chosen = np.array([one == value for one in matched.tag(tag)], bool)
    if not chosen.any():
        raise ConfigError(f"--fail-if-worse {limit.name}: no paired case has {value!r} as its {tag}")
    return chosen


def level_text(level: float) -> str:
    """A level in percent, `95 %`, `98.3 %`."""
    return f"{round(100 * level, 1):g} %"
