"""Groups of phrasings: how they are tagged, and which module a wrong answer is blamed on.

The tags and the context comparison are those of "GRAMMAR: Grounded and Modular Methodology for Assessment of
Closed-Domain Retrieval-Augmented Language Models", section 3.3.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from ragtriage.testset.answered_rows import Row
from ragtriage.testset.correctness import Decision, Given

Tag = Literal["gap", "robust", "non_robust", "undecided"]
TAGS: tuple[Tag, ...] = get_args(Tag)
Scope = Literal["pooled", "per cluster"]
Blame = Literal["LM", "retrieval", "unknown"]
Rule = Literal["second run", "gold row", "one document", "relevant ids", "shared documents"]
RULES: Mapping[Rule, str] = MappingProxyType(
    {
        "second run": "it is wrong again when given the sources of a right answer",
        "gold row": "it is wrong again when given the database's row",
        "one document": "its document is among those of the group's right answers",
        "relevant ids": "all documents that are needed, as the file names them, were retrieved",
        "shared documents": "all documents that the group's right answers have in common were retrieved",
    }
)
"""Rule → when the language model is at fault, and not retrieval. The first two are contextual sufficiency, the others
the comparison of contexts."""
_RULE_OF: Mapping[Given, Rule] = MappingProxyType({"sibling": "second run", "gold": "gold row"})


@dataclass(frozen=True, slots=True)
class TaggedRow:
    """One row with all that its group says about it."""

    row: Row
    correct: bool | None
    tag: Tag
    blame: Blame | None = None
    """Of a wrong answer in a non-robust group: which module is at fault. None for all other rows."""
    rule: Rule | None = None
    """By which rule."""


def tag_rows(rows: Sequence[Row], decisions: Sequence[Decision], scope: Scope = "pooled") -> list[TaggedRow]:
    """Tag every row with its group's tag, and blame wrong answers of non-robust groups on a module.

    A group is *gap* if all its answers are wrong, *robust* if all are right, *non-robust* if some are, and *undecided*
    as soon as one answer is undecided. Where the application was asked again with sources that suffice, that decides on
    whom a wrong answer is blamed; elsewhere contexts are compared.

    Args:
        rows: of all clusters.
        decisions: one a row.
        scope: `pooled`: a group holds its phrasings of all clusters; `per cluster`: those of one.

    Returns:
        One a row, in the order of the rows.
    """
    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        members[row.group, row.cluster if scope == "per cluster" else ""].append(i)
    tagged: dict[int, TaggedRow] = {}
    for places in members.values():
        tag = _tag([decisions[i].correct for i in places])
        rule, sufficient = _sufficient([(rows[i], decisions[i].correct) for i in places])
        for i in places:
            row, correct, again = rows[i], decisions[i].correct, decisions[i].second_answer
            if tag != "non_robust" or correct:
                tagged[i] = TaggedRow(row, correct, tag)
            elif again is None:
                tagged[i] = TaggedRow(row, correct, tag, _blame(row, rule, sufficient), rule)
            else:
                tagged[i] = TaggedRow(row, correct, tag, "retrieval" if again.correct else "LM", _RULE_OF[again.given])
    return [tagged[i] for i in range(len(rows))]


def _tag(answers: Sequence[bool | None]) -> Tag:
    if None in answers:
        return "undecided"
    if all(answers):
        return "robust"
    return "non_robust" if any(answers) else "gap"


def _sufficient(members: Sequence[tuple[Row, bool | None]]) -> tuple[Rule, frozenset[str]]:
    """The rule for a group, and the documents that it goes by.

    With one retrieved document each it is the paper's rule: one of the documents of right answers must be there. With
    several that would nearly always blame the language model, so all of the needed ones must be there: those that the
    file names, else those that all right answers have in common.
    """
    if all(len(row.retrieved) <= 1 for row, _ in members if row.retrieved is not None):
        return "one document", frozenset(one for row, correct in members if correct for one in row.retrieved or ())
    named = [frozenset(row.relevant_ids) for row, _ in members if row.relevant_ids]
    if named:
        return "relevant ids", frozenset.union(*named)
    right = [frozenset(row.retrieved) for row, correct in members if correct and row.retrieved is not None]
    return "shared documents", frozenset.intersection(*right) if right else frozenset()


def _blame(row: Row, rule: Rule, documents: frozenset[str]) -> Blame:
    if row.retrieved is None or not documents:  # nothing to compare: no side can be blamed
        return "unknown"
    found = documents.intersection(row.retrieved)
    return "LM" if (found if rule == "one document" else found == documents) else "retrieval"
