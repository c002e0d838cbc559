"""What must be known before a metric can be computed.

A step is a frozen, hashable description. Two metrics that write the same step share its work without knowing of each
other. A step may depend on another's outcome, and the condition is data too, so that a plan can say "at least n, at
most m questions" before anything is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ragtriage.errors import ConfigError

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
]
"""What a text is broken into, or what is written or picked from it. `segments` (by citation marks), `sources` and
`samples` (as they were given), `ids` and `whole` (the text itself) ask no judge."""

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


@dataclass(frozen=True, slots=True)
class Decompose:
    """Break a text of the case into components."""

    of: Field
    into: Unit
    count: int | None = None
    """How many components are to be written; None where the text decides."""

    def __str__(self) -> str:
        return f"{self.into}({self.of})" if self.count is None else f"{self.into}({self.of}, {self.count})"


@dataclass(frozen=True, slots=True)
class OnlyWhere:
    """A condition on an earlier step's outcome: ask only about the components of which it holds."""

    step: Match
    holds: Literal["lacks yes", "has yes", "wasn't asked"] = "lacks yes"
    """What is to hold of a component's best verdict there."""
    also: OnlyWhere | None = None
    """A further condition."""

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
        """Refuse a step that can't be asked.

        Raises:
            ConfigError: `holds`, the target `criterion` and a criterion don't come together, or it is asked of a query.
        """
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

    def __str__(self) -> str:
        target = f"“{self.criterion}”" if self.criterion else self.against
        text = f"{self.relation}({self.components}, {target})"
        return f"{text} {self.where}" if self.where else text


Step = Decompose | Match


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
