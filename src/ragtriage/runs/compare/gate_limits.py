"""The gates of a comparison as a user writes them, read and checked before anything is judged."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Metric
from ragtriage.core.validation import near_names
from ragtriage.diagnosis import Rule
from ragtriage.metrics import metric_named

FAIL_IF_WORSE, AT_MOST = "--fail-if-worse", "--at-most"
Counted = Literal["shown", "sure", "expected"]
_COUNTED: Mapping[str, Counted] = {"": "shown", "sure": "sure", "expected": "expected"}


@dataclass(frozen=True, slots=True)
class WorseLimit:
    """`--fail-if-worse METRIC[@TAG:VALUE][=MARGIN]`."""

    name: str
    """As it was given."""
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
        """Refuse a gate on a metric that isn't computed, a rule that isn't there, or a margin beyond the range.

        Raises:
            ConfigError: says which, with the nearest name.
        """
        known = {m.name: m for m in metrics}
        for limit in self.fail_if_worse:
            if limit.metric not in known:
                raise ConfigError(f"{FAIL_IF_WORSE} {limit.metric}: it isn't computed here{_near(limit.metric, known)}")
            low, high = known[limit.metric].range
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


def _near(name: str, known: Iterable[str]) -> str:
    known = list(known)
    near = near_names(name, known)
    return f": did you mean {near[0]}?" if near else f": there is {', '.join(known)}"


def worse_limits(
    items: Collection[str], settings: Mapping[str, float] | None = None, where: str = FAIL_IF_WORSE
) -> tuple[WorseLimit, ...]:
    """`["groundedness@topic:billing=0.05"]` → its gates; those of the settings come first, and give way.

    Raises:
        ConfigError: an item isn't METRIC[@TAG:VALUE][=MARGIN], its margin isn't a number from 0 on, or it stands twice.
    """
    found: dict[tuple[str, tuple[str, str] | None], WorseLimit] = {}
    for name, margin in (settings or {}).items():
        limit = _worse(f"{name}={margin:g}", "[fail_if_worse]")
        found[limit.metric, limit.slice] = limit
    own: set[object] = set()
    for item in items:
        limit = _worse(item, where)
        key = limit.metric, limit.slice
        if key in own:
            raise ConfigError(f"{where} names {item.rpartition('=')[0] or item} twice: give one margin")
        own.add(key)
        found[key] = limit
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


def share_limits(
    items: Collection[str], settings: Mapping[str, float] | None = None, where: str = AT_MOST
) -> tuple[ShareLimit, ...]:
    """`["unsupported_claims:sure=2%"]` → its gates; those of the settings come first, and give way.

    Raises:
        ConfigError: an item isn't RULE[:sure|:expected]=SHARE with a share in [0, 1] or in percent, or it stands twice.
    """
    found = {}
    for name, share in (settings or {}).items():
        limit = _share(f"{name}={share:g}", "[at_most]")
        found[limit.rule, limit.counts] = limit
    own: set[object] = set()
    for item in items:
        limit = _share(item, where)
        if (limit.rule, limit.counts) in own:
            raise ConfigError(f"{where} names {item.rpartition('=')[0]} twice: give one share")
        own.add((limit.rule, limit.counts))
        found[limit.rule, limit.counts] = limit
    return tuple(found.values())


def _share(item: str, where: str) -> ShareLimit:
    head, sign, text = item.rpartition("=")
    rule, colon, counted = head.strip().partition(":")
    percent = text.strip().endswith("%")
    try:
        share = float(text.strip().removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        share = math.nan
    if not sign or not rule or counted not in _COUNTED or (colon and not counted) or not 0 <= share <= 1:
        raise ConfigError(
            f"{where} {item!r}: write it as RULE=SHARE or RULE:sure=SHARE or RULE:expected=SHARE, for example "
            "unsupported_claims=2%"
        )
    return ShareLimit(item, rule, share, _COUNTED[counted])
