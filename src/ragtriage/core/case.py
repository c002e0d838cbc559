"""What is evaluated, one question-answer exchange of a RAG application, and what was found out about it: a record."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ragtriage.core.steps import Step
from ragtriage.core.verdicts import Component, Known, Outcome, Part, Score, Undefined, Verdict, Verdicts, is_doubtful


@dataclass(frozen=True, slots=True)
class Source:
    """One retrieved text."""

    text: str
    """What the generator was given."""
    id: str | None = None
    """The application's own name for it, where it has one."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier message of a conversation."""

    role: str
    """Who spoke, for example `user` or `assistant`."""
    text: str


LEAST_WEIGHT, MOST_WEIGHT = 1e-9, 1e9
"""Of a case: beyond these, sums of weights and of their squares lose the other cases, or overflow."""
WINDOW = 64
"""Cases in flight: enough to fill an API's concurrency."""


def counted_weight(weight: float) -> float:
    """A weight as it counts: one that no reader takes, but an earlier one took, counts as the nearest that it takes."""
    return min(max(weight, LEAST_WEIGHT), MOST_WEIGHT)


@dataclass(frozen=True, slots=True)
class Case:
    """One query, what was retrieved for it and what was answered (the "RAG triad" of THELMA, section 3)."""

    id: str
    """Unique within a file or data set."""
    query: str
    """The user's words."""
    sources: tuple[Source, ...] | None = ()
    """The retrieved texts in the retriever's order; empty if nothing was retrieved, None if that wasn't recorded."""
    response: str | None = None
    """The answer; None if none was given (a time-out, a retriever-only file), which is not the empty string."""
    reference: str | None = None
    """A true answer, where one is known."""
    history: tuple[Turn, ...] = ()
    """The conversation before the query."""
    samples: tuple[str, ...] = ()
    """Further responses to the same query, drawn at temperature 1."""
    relevant_ids: tuple[str, ...] | None = None
    """The ids of the sources that should have been retrieved, where they are known."""
    tags: Mapping[str, Any] = field(default_factory=dict)
    """Every other column of the input, kept for slicing."""
    weight: float = 1.0
    """How many cases this one stands for (a sampled production stream), from `LEAST_WEIGHT` to `MOST_WEIGHT`."""
    time: str | None = None
    """When it happened, ISO 8601."""
    trace_id: str | None = None
    citation_mark: str | None = None
    """A regular expression for the application's own citation marks; None for the usual ones, as `[1]`. What the group
    `name`, else the first group, else the whole match holds names the sources."""

    @property
    def known_sources(self) -> tuple[Source, ...]:
        """The retrieved texts; none if they weren't recorded."""
        return self.sources or ()


MOST_PARTS = 4
"""Components that are listed for one score, the bad ones first."""
LONGEST = 72
"""Characters of a component that are shown."""
_SIGNS: Mapping[bool | None, str] = {False: "✗", None: "?", True: "✓"}
"""Whether a component speaks for the answer → its sign, the most pressing first."""
CHECK_SIGN = "!"
"""The sign of a component whose verdict speaks against the answer, and isn't sure."""


def scores_text(outcomes: Mapping[str, Outcome]) -> str:
    """A line for each score and each of the components that it rests on."""
    width = max(map(len, outcomes), default=0)
    return "\n".join(line.rstrip() for name, outcome in outcomes.items() for line in _lines(name, outcome, width))


def scores_in_short(outcomes: Mapping[str, Outcome]) -> str:
    """The scores on one line."""
    values = (f"{outcome.value:.2f}" if isinstance(outcome, Score) else "undefined" for outcome in outcomes.values())
    return ", ".join(f"{name} {value}" for name, value in zip(outcomes, values, strict=True))


def _lines(name: str, outcome: Outcome, width: int) -> Iterator[str]:
    if isinstance(outcome, Undefined):
        yield f"  {name:{width}}     –  {outcome}"
        return
    shown = [*filter(None, [counted_text(outcome.parts)]), *_parts(outcome.parts)]
    yield f"  {name:{width}}  {outcome.value:4.2f}  {shown[0] if shown else ''}"
    yield from (f"  {'':{width}}        {line}" for line in shown[1:])


def counted_text(parts: Sequence[Part]) -> str:
    """What an expected share is made of, as a person counts it: `2 ✓ 1 ! of 3`; empty where no verdict has a chance.

    `!` is a no that isn't sure, to be checked; `?` an unknown.
    """
    if not any(isinstance(part.cell, Verdict) and part.cell.chance is not None for part in parts):
        return ""
    signs = [_sign(part) for part in parts]
    counts = " ".join(f"{signs.count(sign)} {sign}" for sign in ("✓", CHECK_SIGN, "?", "✗") if sign in signs)
    return f"{counts} of {len(parts)}"


def _sign(part: Part) -> str:
    return CHECK_SIGN if part.good is False and is_doubtful(part) else _SIGNS[part.good]


def _parts(parts: Sequence[Part]) -> Iterator[str]:
    order = list(_SIGNS)
    for part in sorted(parts, key=lambda part: order.index(part.good))[:MOST_PARTS]:
        yield f"{_sign(part)} {_cut(part.component.text)}"
    rest = parts[MOST_PARTS:]
    if rest:
        yield f"and {len(rest)} more"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


@dataclass(frozen=True, slots=True, repr=False)
class Record:
    """A case with all that was found out about it; as a text, its scores with the verdicts that they rest on."""

    case: Case
    steps: Mapping[str, Known] = field(default_factory=dict)
    """Every planned step, by its text form."""
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    """Every metric, by its name."""
    language: str = "en"
    """ISO 639-1."""
    seconds: float = 0.0
    """From the case's first question to its last answer."""

    def __str__(self) -> str:
        query = " ".join(self.case.query.split())
        return f"{self.case.id}: {query}\n{scores_text(self.outcomes)}".rstrip()

    def __repr__(self) -> str:
        return f"<Record {self.case.id!r}: {scores_in_short(self.outcomes) or 'no scores'}>"

    def verdicts(self, step: Step) -> Verdicts | None:
        """What a match found out; None where it wasn't taken."""
        known = self.steps.get(str(step))
        return known if isinstance(known, Verdicts) else None

    def components(self, step: Step) -> tuple[Component, ...] | None:
        """What a text was broken into; None where it wasn't."""
        known = self.steps.get(str(step))
        return known if isinstance(known, tuple) else None


class Sink(Protocol):
    """What keeps records as they come."""

    def keep(self, record: Record) -> None:
        """Store one record; keeping the same case twice is harmless.

        Raises:
            StoreError: it can't be stored.
        """
