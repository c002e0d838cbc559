"""What the gates of a comparison say: pass, fail, or can't tell."""

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np

from ragtriage.core.display import MINUS, p_text, plural, signed
from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Metric
from ragtriage.core.statistics import LEVEL, Flags, wilson_interval
from ragtriage.core.validation import near_names
from ragtriage.diagnosis.rules import Rule
from ragtriage.metrics import metric_named
from ragtriage.runs.compare.comparison import COMPARED, GateOutcome, GateResult, MetricComparison
from ragtriage.runs.compare.matched import Matched
from ragtriage.runs.compare.rows import expected_of
from ragtriage.runs.compare.sides import Side
from ragtriage.runs.compare.statistics import MeanDifference, Paired, binomial_p, cases_needed, difference
from ragtriage.runs.metric_tally import weighted_interval

FAIL_IF_WORSE, AT_MOST = "--fail-if-worse", "--at-most"
FAIL_BELOW, FAIL_ABOVE = "--fail-below", "--fail-above"
Counted = Literal["shown", "sure", "expected"]
L = TypeVar("L")
_COUNTED: Mapping[str, Counted] = {"": "shown", "sure": "sure", "expected": "expected"}


@dataclass(frozen=True, slots=True)
class WorseLimit:
    """`--fail-if-worse METRIC[@TAG:VALUE][=MARGIN]`."""

    name: str
    metric: str
    margin: float = 0.0
    """How much worse is still good enough, in the metric's unit."""
    slice: tuple[str, str] | None = None
    """Tag and value; None for all pairs."""


@dataclass(frozen=True, slots=True)
class ShareLimit:
    """`--at-most RULE[:sure|:expected]=SHARE`."""

    name: str
    rule: str
    share: float
    """The largest allowed share of cases, in [0, 1]."""
    counts: Counted = "shown"
    """What of the rule is counted: the findings that are shown, those that are sure, or the expected number of cases
    that have it."""


@dataclass(frozen=True, slots=True)
class CompareGates:
    """All gates of a comparison."""

    fail_below: Mapping[str, float]
    fail_above: Mapping[str, float]
    fail_if_worse: tuple[WorseLimit, ...] = ()
    at_most: tuple[ShareLimit, ...] = ()
    cant_tell_fails: bool = False
    """Whether a gate that can't tell fails the command: see `fail_if_worse`, and `at_most` with `:expected`."""

    def __bool__(self) -> bool:
        return bool(self.fail_below or self.fail_above or self.fail_if_worse or self.at_most)

    def check(self, metrics: Sequence[Metric], rules: Sequence[Rule]) -> None:
        """Refuse a gate on a metric that isn't computed, a rule that isn't there, or a margin beyond the range."""
        known = {m.name: m for m in metrics}
        for flag, means in ((FAIL_BELOW, self.fail_below), (FAIL_ABOVE, self.fail_above)):
            for name in means:
                _computed(flag, name, known)
        for limit in self.fail_if_worse:
            low, high = _computed(FAIL_IF_WORSE, limit.metric, known).range
            if limit.margin >= high - low:
                raise ConfigError(f"{FAIL_IF_WORSE} {limit.name}: a margin of {high - low:g} or more can't be exceeded")
        kinds = {rule.name: rule.kind for rule in rules}
        for share in self.at_most:
            if share.rule not in kinds:
                raise ConfigError(f"{AT_MOST} {share.rule}: no rule is called so{_near(share.rule, kinds)}")
            if share.counts == "expected" and kinds[share.rule] == "doubt":
                raise ConfigError(
                    f"{AT_MOST} {share.name}: a doubt is about the judge and isn't expected of a case: leave out "
                    ":expected"
                )


def _computed(flag: str, name: str, known: Mapping[str, Metric]) -> Metric:
    if name not in known:
        raise ConfigError(f"{flag} {name}: it isn't computed here{_near(name, known)}")
    return known[name]


def _near(name: str, known: Iterable[str]) -> str:
    known = list(known)
    near = near_names(name, known)
    return f": did you mean {near[0]}?" if near else f": there is {', '.join(known)}"


def worse_limits(items: Collection[str], settings: Mapping[str, float] | None = None) -> tuple[WorseLimit, ...]:
    """`["groundedness@topic:billing=0.05"]` → its gates; those of the settings come first, and give way."""
    return _limits(_worse, lambda one: (one.metric, one.slice), items, settings, FAIL_IF_WORSE)


def _limits(
    read: Callable[[str, str], L],
    about: Callable[[L], object],
    items: Collection[str],
    settings: Mapping[str, float] | None,
    flag: str,
) -> tuple[L, ...]:
    table = f"[{flag.removeprefix('--').replace('-', '_')}]"
    found = {about(limit): limit for limit in (read(f"{n}={v:g}", table) for n, v in (settings or {}).items())}
    own: set[object] = set()
    for item in items:
        limit = read(item, flag)
        if about(limit) in own:
            once = "margin" if flag == FAIL_IF_WORSE else "share"
            raise ConfigError(f"{flag} names {item.rpartition('=')[0] or item} twice: give one {once}")
        own.add(about(limit))
        found[about(limit)] = limit
    return tuple(found.values())


def _worse(item: str, where: str) -> WorseLimit:
    wrong = ConfigError(f"{where} {item!r}: write it as METRIC or METRIC=MARGIN, for example groundedness=0.03")
    head, at, rest = item.partition("@")
    if at:
        chosen, margin = _slice(rest, item, where)
    else:
        head, _, margin = item.partition("=")
        chosen = None
        if "=" in item and not margin.strip():
            raise wrong
    name = head.strip()
    if not name:
        raise wrong
    built_in = metric_named(name)
    return WorseLimit(item, built_in.name if built_in else name, _number(margin, item, where), chosen)


def _slice(rest: str, item: str, where: str) -> tuple[tuple[str, str], str]:
    """`topic:billing=0.05`, or `topic:"a=b"=0.05` → ((tag, value), margin)."""
    tag, colon, value = rest.partition(":")
    if not colon or not tag.strip():
        raise ConfigError(f"{where} {item!r}: name a slice as METRIC@TAG:VALUE, for example groundedness@topic:billing")
    if value.startswith('"'):
        try:
            text, end = json.JSONDecoder().raw_decode(value)
        except ValueError:
            raise ConfigError(f"{where} {item!r}: the value {value!r} isn't a text in JSON's quotes") from None
        return (tag.strip(), str(text)), value[end:].removeprefix("=")
    plain, sign, margin = value.rpartition("=")
    return (tag.strip(), plain if sign else value), margin if sign else ""


def slice_value(value: str) -> str:
    """A tag's value as it is shown and typed: in JSON's quotes where it holds what would be read otherwise."""
    odd = value != value.strip() or any(sign in value for sign in '=@:"') or not value.isprintable()
    return json.dumps(value, ensure_ascii=False) if odd else value


def _number(text: str, item: str, where: str) -> float:
    if not text.strip():
        return 0.0
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise ConfigError(f"{where} {item!r}: the margin must be a number from 0 on, for example groundedness=0.03")
    return value


def share_limits(items: Collection[str], settings: Mapping[str, float] | None = None) -> tuple[ShareLimit, ...]:
    """`["unsupported_claims:sure=2%"]` → its gates; those of the settings come first, and give way."""
    return _limits(_share, lambda one: (one.rule, one.counts), items, settings, AT_MOST)


def share_in(text: str) -> float:
    """`0.02` or `2%` → a share; NaN for what is no number."""
    try:
        return float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        return math.nan


def _share(item: str, where: str) -> ShareLimit:
    head, sign, text = item.rpartition("=")
    rule, colon, counted = head.strip().partition(":")
    share = share_in(text)
    if not sign or not rule or counted not in _COUNTED or (colon and not counted) or not 0 <= share <= 1:
        raise ConfigError(
            f"{where} {item!r}: write it as RULE=SHARE or RULE:sure=SHARE or RULE:expected=SHARE, for example "
            "unsupported_claims=2%"
        )
    return ShareLimit(item, rule, share, _COUNTED[counted])


def margin_outcome(low: float, high: float, margin: float) -> GateOutcome:
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

    `row` is None if the metric was left out.
    """
    name = limit.metric + (f" ({limit.slice[0]}: {slice_value(limit.slice[1])})" if limit.slice else "")
    unknown = f"can't tell whether {name} is worse"
    if row is None or row.verdict not in COMPARED:
        why = row.why if row else "it isn't among --metrics"
        return _result(limit, row, "can't tell", f"{unknown}: {why}", level)
    if row.verdict == "not touched":
        return _result(limit, row, "no worse", f"{name} is no worse: nothing that it is judged by changed", level)
    paired = matched.scores(limit.metric)[0]
    if limit.slice:
        paired = paired.at(_of_slice(matched, limit))
    found = difference(paired, row.range[1] - row.range[0], level)
    outcome, says = _said(name, limit, row.direction, found)
    less = _less_often(paired, level)
    if less and outcome == "worse":
        says += f"; {less}"
    elif less:
        outcome, says = "worse", f"{name} is worse: {less}"
    return _result(limit, row, outcome, says, level, found)


def _less_often(paired: Paired, level: float) -> str:
    """That significantly more cases lost a score than gained one; empty if not.

    An application that answers nothing has no score that could fall: that is why it fails a gate.
    """
    had, has = ~np.isnan(paired.base), ~np.isnan(paired.new)
    lost, gained = int((had & ~has).sum()), int((has & ~had).sum())
    p = binomial_p(lost, gained)
    if lost <= gained or p >= 1 - level:
        return ""
    return f"{plural(lost, 'case')} lost the score and {gained:,} gained one (p {p_text(p)})"


def _said(name: str, limit: WorseLimit, direction: int, found: MeanDifference | None) -> tuple[GateOutcome, str]:
    unknown = f"can't tell whether {name} is worse"
    if found is None or found.low is None or found.high is None or found.se is None or found.sees is None:
        few = "no pair has it on both sides" if found is None else "one case or group alone has no interval"
        return "can't tell", f"{unknown}: {few}"
    low, high = (found.low, found.high) if direction == 1 else (-found.high, -found.low)
    outcome = margin_outcome(low, high, limit.margin)
    interval = f"{round(100 * found.level, 1):g} % interval {signed(found.low)} to {signed(found.high)}"
    told = f"{signed(found.difference)}, {interval}"
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
    return outcome, f"{name} is {outcome}: {told}{weak}"


def _result(
    limit: WorseLimit,
    row: MetricComparison | None,
    outcome: GateOutcome,
    says: str,
    level: float,
    found: MeanDifference | None = None,
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


ROUNDING = 1e-9
"""A mean that is this near its limit lies on it."""


def gate_results(matched: Matched, rows: Sequence[MetricComparison], gates: CompareGates) -> list[GateResult]:
    """What every gate says, in the order of the flags.

    With K `--fail-if-worse` gates each interval has the level 1 − .05/K (Bonferroni).
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
        yield _limit(new, _computed(FAIL_BELOW, name, metrics), limit, "fail_below")
    for name, limit in gates.fail_above.items():
        yield _limit(new, _computed(FAIL_ABOVE, name, metrics), limit, "fail_above")


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
        outcome: GateOutcome = "fails" if failed else "passes"
        yield GateResult(
            "at_most", limit.name, limit.rule, limit.share, outcome, failed, says, low, high, LEVEL, share,
            title=limit.rule,
        )  # fmt: skip


def _expected(new: Side, limit: ShareLimit, *, cant_tell_fails: bool) -> GateResult:
    """A gate on an expected number: mere suspicions count, so that it has a limit of its own."""
    found, count = new.table.found, len(new.table)
    if found is None or limit.rule not in found.likely or not count:
        raise ConfigError(f"--at-most {limit.name}: findings weren't read, or it has no case")
    number = expected_of(found.likely[limit.rule])
    share, low, high = number.value / count, number.low / count, number.high / count
    if share <= limit.share + ROUNDING:
        outcome: GateOutcome = "passes"
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
