"""What must be known before a metric can be computed.

A step is a frozen, hashable description. Two metrics that write the same step share its work without knowing of each
other. A step may depend on another's outcome, and the condition is data too, so that a plan can say "at least n, at
most m questions" before anything is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from ragtriage.core.errors import ConfigError

Field = Literal["query", "sources", "response", "reference", "samples", "relevant ids"]
"""What a case holds that a step may look at."""

Unit = Literal[
    "claims",
    "facts",
    "questions",
    "sentences",
    "segments",
    "sources",
    "samples",
    "ids",
    "whole",
    "questions_answered_by",
    "needed_sentences",
    "standalone",
]
"""What a text is broken into, or what is written or picked from it. `segments` (by citation marks), `sources` and
`samples` (as they were given), `ids` and `whole` (the text itself) ask no judge. `standalone` is the query as it is
understood without the conversation before it; the other steps read it in place of the query."""

Relation = Literal[
    "essential", "relevant", "answered", "supported", "similar", "declines", "same_answer", "holds", "retrieved"
]
"""What is asked about a component; `retrieved`, whether an id is that of a source, is seen without a judge."""

Target = Literal[
    "query",
    "sources",
    "each source",
    "response",
    "reference",
    "conversation",
    "other components",
    "criterion",
    "cited sources",
    "each citation",
    "other citations",
    "true segments",
]
"""What a component is held against: a whole field, every single source, the other components of its text, or a yes/no
criterion that the step carries. A segment is held against the sources that it cites: all together, each citation alone,
or for each citation all the others; or against the segments for which the step of its condition found yes. What cites
nothing isn't asked about citations."""

Condition = Literal["lacks yes", "has yes", "wasn't asked", "names sources"]
"""What is to hold of a component's best verdict at an earlier step; `names sources`: of the component itself, that all
that it cites is a source."""

UNITS_OF: Mapping[Field, tuple[Unit, ...]] = {
    "query": ("questions", "sentences", "whole", "standalone"),
    "sources": ("sources", "facts", "sentences", "needed_sentences"),
    "response": ("claims", "sentences", "segments", "whole", "questions_answered_by"),
    "reference": ("claims", "sentences", "whole"),
    "samples": ("samples",),
    "relevant ids": ("ids",),
}
"""What each field can be broken into."""
CITING: tuple[Target, ...] = ("cited sources", "each citation", "other citations", "true segments")
"""The targets of segments alone."""
TARGETS_OF: Mapping[Relation, tuple[Target, ...]] = {
    "essential": ("query",),
    "relevant": ("query",),
    "answered": ("sources", "each source", "response", "reference", "conversation"),
    "supported": ("sources", "each source", "response", "reference", "conversation", *CITING),
    "similar": ("query", "sources", "each source", "response", "reference", "other components"),
    "declines": ("query",),
    "same_answer": ("response", "reference"),
    "holds": ("criterion",),
    "retrieved": ("each source",),
}
"""What each relation can be asked against; a judge would pass over any other target, or misread it."""
COMPONENTS_OF: Mapping[Relation | Target, tuple[str, ...]] = {
    "answered": ("questions(query)", "sentences(query)", "whole(query)"),
    "declines": ("whole(response)", "samples(samples)"),
    "same_answer": ("whole(response)", "whole(reference)", "samples(samples)"),
    "retrieved": ("ids(relevant ids)",),
    **dict.fromkeys(CITING, ("segments(response)",)),
}
"""Relation or target → the only components that it can be asked of, as text; the others are asked of any but ids."""


@dataclass(frozen=True, slots=True)
class Decompose:
    """Break a text of the case into components."""

    of: Field
    into: Unit
    count: int | None = None
    """How many components are to be written; None where the text decides."""

    def __post_init__(self) -> None:
        if self.into not in UNITS_OF.get(self.of, ()):
            possible = (
                f"{self.of!r} can be broken into {_listed(UNITS_OF[self.of])}"
                if self.of in UNITS_OF
                else (f"there is no such field; there are {_listed(UNITS_OF)}")
            )
            raise ConfigError(f"Decompose({self.of!r}, {self.into!r}): {possible}")

    def __str__(self) -> str:
        return f"{self.into}({self.of})" if self.count is None else f"{self.into}({self.of}, {self.count})"


@dataclass(frozen=True, slots=True)
class OnlyWhere:
    """A condition on an earlier step's outcome: ask only about the components of which it holds."""

    step: Match
    holds: Condition = "lacks yes"
    also: OnlyWhere | None = None

    def __str__(self) -> str:
        return f"where {self.step} {self.holds}" + (f" and {self.also}" if self.also else "")


@dataclass(frozen=True, slots=True)
class Match:
    """Ask for one verdict on every component (and, against `each source`, for every source)."""

    components: Decompose
    relation: Relation
    against: Target
    where: OnlyWhere | None = None
    criterion: str = ""
    """What `holds` asks of each component of the response or the sources, as a sentence that is true or not."""

    def __post_init__(self) -> None:
        asked = self.relation == "holds", self.against == "criterion", bool(self.criterion.strip())
        if any(asked) and not all(asked):
            raise ConfigError(
                f'Match({self.components}, {self.relation!r}, {self.against!r}): "holds" is asked against "criterion", '
                'with the sentence as criterion="…", and nothing else is'
            )
        if self.criterion and self.components.of not in {"response", "sources"}:
            raise ConfigError(
                f"a criterion can be asked of the response or the sources, not of the {self.components.of}"
            )
        problem = self._mismatch()
        if problem:
            raise ConfigError(f"Match({self.components}, {self.relation!r}, {self.against!r}): {problem}")

    def _mismatch(self) -> str:
        """Why relation, target and components don't go together; "" if they do."""
        if self.relation not in TARGETS_OF:
            return f"there is no such relation; there are {_listed(TARGETS_OF)}"
        if self.against not in TARGETS_OF[self.relation]:
            return f"{self.relation!r} can be asked against {_listed(TARGETS_OF[self.relation])}"
        own = str(self.components)
        for word in (self.relation, self.against):
            if word in COMPONENTS_OF and own not in COMPONENTS_OF[word]:
                return f"{word!r} is asked of {', '.join(COMPONENTS_OF[word])}, not of {own}"
        if self.components.into == "ids" and self.relation != "retrieved":
            return "of ids only 'retrieved' can be asked"
        if self.against == "true segments" and self.where is None:
            return "a condition has to say which segments are true"
        return ""

    def __str__(self) -> str:
        target = f"“{self.criterion}”" if self.criterion else self.against
        text = f"{self.relation}({self.components}, {target})"
        return f"{text} {self.where}" if self.where else text


Step = Decompose | Match


def _listed(words: Iterable[str]) -> str:
    return ", ".join(map(repr, words))


def conditions(step: Match) -> tuple[OnlyWhere, ...]:
    """All conditions of a match; all must hold."""
    found: list[OnlyWhere] = []
    where = step.where
    while where:
        found.append(where)
        where = where.also
    return tuple(found)


def only_where_not(step: Match, also: OnlyWhere | None = None) -> OnlyWhere:
    """Ask only about those components that `step` didn't find a yes for, and of which the further condition holds."""
    return OnlyWhere(step, also=also)
