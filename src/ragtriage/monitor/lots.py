"""Which cases are judged: drawn by lot, a larger share of small parts of the traffic, and those that always are."""

import hashlib
import re
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from ragtriage.core.case import LEAST_WEIGHT, MOST_WEIGHT, Case
from ragtriage.core.errors import ConfigError
from ragtriage.runs.case_row import digest

MOST_PARTS = 50
"""Values of the tag that have a share of their own: the first that come. All others are one part."""
MINUTES = 60
"""So many minutes before tell how many cases a part has a minute."""


class Shares:
    """The shares of one pass over the traffic, in the order of time."""

    def __init__(self, lots: "Lots") -> None:
        self._lots = lots
        self._first = 0
        """The minute of the first case."""
        self._came: deque[tuple[int, Counter[str | None]]] = deque()
        """Minutes with arrivals, the last of them the present one, and how many of each part came."""
        self._before: Counter[str | None] = Counter()
        """How many of each part came in the minutes that count, without the present one."""
        self._parts: set[str] = set()
        self._begun: dict[bytes, float] = {}
        self.others: set[bytes] = set()
        """Digests of the values that have no share of their own."""

    def of(self, case: Case, moment: float) -> float:
        """The share that is drawn of what a case belongs to, in [0, 1].

        A conversation keeps the share of its beginning, so that it is drawn as a whole.
        """
        at_least = self._lots.at_least
        if at_least is None:
            return self._lots.share
        part = self._part(stratum_of(case.tags, case.time, at_least.tag))
        self._go_to(int(moment // 60))
        self._came[-1][1][part] += 1
        named = drawn_with(case)
        share = self._decided(part, at_least.per_minute)
        return share if named == case.id else self._begun.setdefault(digest(named), share)

    def _part(self, value: str) -> str | None:
        if value in self._parts or len(self._parts) < MOST_PARTS:
            self._parts.add(value)
            return value
        self.others.add(digest(value))
        return None

    def _go_to(self, minute: int) -> None:
        if not self._came:
            self._first = minute
        elif self._came[-1][0] == minute:
            return
        else:
            self._before += self._came[-1][1]
        self._came.append((minute, Counter()))
        while self._came[0][0] < minute - MINUTES:
            self._before -= self._came.popleft()[1]

    def _decided(self, part: str | None, per_minute: float) -> float:
        """By what came before the present minute; all where nothing did."""
        came = self._before[part]
        minutes = min(self._came[-1][0] - self._first, MINUTES)
        return max(self._lots.share, min(1.0, per_minute * minutes / came)) if came else 1.0


CONVERSATION, NOT_RECORDED, KEPT, VERSION = "conversation", "not_recorded", "kept", "version"
"""Tags: the conversation that a case belongs to; that its response wasn't recorded; by which rule it was kept; the
version of the application."""
HOUR = "hour"
"""What cases are parted by where no tag has this name: the hour of their time, UTC."""
NO_VALUE = "(none)"
_SIZE = 16
_RULE = re.compile(r"\s*(?P<tag>[^<>=]+?)\s*(?P<sign><=|>=|<|>|=)\s*(?P<value>.+?)\s*")
_COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    "<": float.__lt__, ">": float.__gt__, "<=": float.__le__, ">=": float.__ge__,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class KeepRule:
    """Cases that are always judged: by the value of a tag, or by a number that it is below or above."""

    text: str
    """As it was given."""
    tag: str
    sign: str
    value: str

    @classmethod
    def parse(cls, text: str) -> "KeepRule":
        """`tenant=acme`, `seconds>10`, `score.user<0`."""
        found = _RULE.fullmatch(text)
        if not found or (found["sign"] != "=" and _number(found["value"]) is None):
            raise ConfigError(f"--keep {text!r}: write TAG=VALUE, or TAG<NUMBER or TAG>NUMBER, as in 'seconds>10'")
        return cls(text.strip(), found["tag"], found["sign"], found["value"])

    def holds(self, tags: Mapping[str, Any]) -> bool:
        """Whether a case has to be kept; one without the tag hasn't."""
        there = tags.get(self.tag)
        if there is None:
            return False
        number, limit = _number(there), _number(self.value)
        if self.sign != "=":
            return number is not None and limit is not None and _COMPARED[self.sign](number, limit)
        return as_text(there) == self.value or (number is not None and number == limit)


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool | Mapping | list) else float(value)
    except (TypeError, ValueError):
        return None


def as_text(value: Any) -> str:
    """A tag's value as people write it: `true`, `acme`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class AtLeast:
    """How many cases of each part of the traffic are to be drawn a minute, so that a small one is seen too."""

    tag: str
    """By whose values the traffic is parted."""
    per_minute: float

    @classmethod
    def parse(cls, text: str, tag: str | None) -> "AtLeast":
        """`0.5/min`."""
        found = re.fullmatch(r"([0-9]*\.?[0-9]+)/min", text.strip())
        if not found or not float(found[1]) > 0:
            raise ConfigError(f"--at-least {text!r}: write a number of cases a minute above 0, for example 0.5/min")
        if tag is None:
            raise ConfigError("--at-least needs the tag whose values are each to be seen: name it with --stratify")
        return cls(tag, float(found[1]))


@dataclass(frozen=True, slots=True)
class Lots:
    """Draws cases: a `share` of the lots, in [0, 1]; by `at_least` a larger one of small parts of the traffic."""

    share: float = 1.0
    seed: int = 0
    keep: Sequence[KeepRule] = field(default=())
    at_least: AtLeast | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise ConfigError(f"--sample {self.share:g}: give a share from 0 to 1, for example 0.1")

    def choose(self, case: Case, share: float | None = None) -> Case | None:
        """The case as it is judged, with its weight and why it was kept; None if it isn't judged.

        `share` is drawn of the lots of its part of the traffic; None: as of all.
        """
        share = self.share if share is None else share
        drawn = lot_of(case, self.seed) < share
        kept = next((rule for rule in self.keep if rule.holds(case.tags)), None)
        if not (drawn or kept):
            return None
        weight = min(case.weight / share, MOST_WEIGHT) if drawn else LEAST_WEIGHT
        return replace(case, weight=weight, tags={**case.tags, KEPT: kept.text} if kept else case.tags)


def lot_of(case: Case, seed: int) -> float:
    """A case's lot, in [0, 1): all cases of a conversation have the same, all of a trace too."""
    told = hashlib.blake2b(f"{seed}:{drawn_with(case)}".encode("utf-8", "surrogatepass"), digest_size=_SIZE).digest()
    return (int.from_bytes(told, "big") >> 75) / 2**53  # so many bits a float holds, so that none becomes 1


def drawn_with(case: Case) -> str:
    """What all cases that are drawn together have in common: the conversation, else the trace, else the id."""
    return str(case.tags.get(CONVERSATION) or case.trace_id or case.id)


def is_drawn(weight: float) -> bool:
    """Whether a case's lot was drawn, by the case's weight: it wasn't only kept."""
    return weight > LEAST_WEIGHT


def stratum_of(tags: Mapping[str, Any], time: str | None, tag: str | None) -> str:
    """The part of the traffic that a case belongs to, by a tag; empty where all traffic is one."""
    if tag is None:
        return ""
    value = tags.get(tag)
    if value is None and tag == HOUR and (moment := moment_of(time)):
        return f"{moment:%H}"
    return NO_VALUE if value is None or value == "" else as_text(value)


def moment_of(time: str | None) -> datetime | None:
    """A case's time, UTC; a time without zone is taken for UTC."""
    if time is None:
        return None
    try:
        found = datetime.fromisoformat(time)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
