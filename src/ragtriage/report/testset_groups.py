"""A scored test set as its HTML page shows it: groups, the worst first, with every phrasing and whom it blames."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragtriage.report.testset_document import PRESENCE_WORDS, kind_of
from ragtriage.testset.beyond import Beyond
from ragtriage.testset.both_blames import Component
from ragtriage.testset.correctness import Decision
from ragtriage.testset.groups import Rule, Tag, Tagged
from ragtriage.testset.matching import truths_for_judge

TAG_WORDS: Mapping[Tag, str] = {
    "non_robust": "non-robust",
    "gap": "gap",
    "undecided": "undecided",
    "robust": "robust",
}
"""Tag → how it is written, in the order in which groups are shown."""
TAG_LOOK: Mapping[Tag, str] = {"non_robust": "failure", "gap": "waste", "undecided": "doubt", "robust": "healthy"}
"""Tag → the look of a kind that it shares."""
BLAME_WORDS = {"LM": "language model", "retrieval": "retrieval", "unknown": "can't tell"}
REASONS: Mapping[Rule, tuple[str, str]] = {
    "second run": ("wrong again when given the sources of a right answer", "right when given those of a right answer"),
    "gold row": ("wrong again when given the database's row", "right when given the database's row"),
    "one document": (
        "its document is among those of the group's right answers",
        "its document is not among those of the group's right answers",
    ),
    "relevant ids": (
        "all documents that are needed were retrieved",
        "not all documents that are needed were retrieved",
    ),
    "shared documents": (
        "all documents that the group's right answers share were retrieved",
        "not all documents that the group's right answers share were retrieved",
    ),
}
"""Rule → why the language model is at fault, and why retrieval is."""
LONGEST = 1500
"""Characters of a response that are shown."""
MOST_IDS = 12
"""Ids of retrieved documents that are shown."""


@dataclass(frozen=True, slots=True)
class AnswerReport:
    """One phrasing and its answer."""

    id: str
    cluster: str
    criterion: str
    query: str
    response: str | None
    cut: int
    """Characters of the response that aren't shown."""
    look: str
    """`right`, `wrong` or `undecided`."""
    decided: str
    """By whom, and why."""
    retrieved: tuple[str, ...]
    more: int
    """Ids that aren't shown."""
    listed: bool
    """Whether it is known what was retrieved."""
    blame: str
    rule: str
    """Why it is blamed so."""
    again: str | None
    """What it answered the second time, where it was asked again."""
    component: Component | None
    """What THELMA finds."""


@dataclass(frozen=True, slots=True)
class GroupReport:
    """All phrasings of one question."""

    id: str
    tag: Tag
    look: str
    question: str
    """Its shortest phrasing."""
    truth: str
    right: int
    answers: tuple[AnswerReport, ...]
    blames: tuple[str, ...]
    """Whom its wrong answers are blamed on, each once."""
    presence: str
    """Of a gap: the key of PRESENCE_WORDS; empty where the corpus wasn't searched."""
    corpus: str
    """The same in words, with the documents."""
    sql: str
    parameters: str
    template: str


def group_reports(tagged: Sequence[Tagged], decisions: Sequence[Decision], beyond: Beyond) -> list[GroupReport]:
    """All groups, the most telling first: non-robust, gap, undecided, robust; in each those with most wrong answers.

    With groups per cluster, a group of two clusters is shown once, under the tag that comes first.

    Args:
        tagged: all answers.
        decisions: one an answer.
        beyond: what was found out beyond the scores.
    """
    members: dict[str, list[tuple[Tagged, Decision]]] = defaultdict(list)
    for one, decision in zip(tagged, decisions, strict=True):
        members[one.row.group].append((one, decision))
    gaps = {gap.group: gap for gap in beyond.gaps or ()}
    order = list(TAG_WORDS)
    found = []
    for name, answers in members.items():
        tag = min((one.tag for one, _ in answers), key=order.index)
        ordered = sorted(answers, key=lambda pair: (pair[0].row.cluster, pair[0].row.id))
        views = tuple(_answer(one, decision, beyond.components.get(one.row.id)) for one, decision in ordered)
        rows = [one.row for one, _ in ordered]
        known = next((row.answer for row in rows if row.answer is not None), None)
        gap = gaps.get(name)
        where = ", ".join(gap.documents[:MOST_IDS]) if gap else ""
        first = {name: value for row in reversed(rows) for name, value in row.columns.items() if value is not None}
        found.append(
            GroupReport(
                id=name,
                tag=tag,
                look=TAG_LOOK[tag],
                question=min((row.query for row in rows if row.query), key=len, default=name),
                truth="unknown" if known is None else truths_for_judge(known)[0] or "there is none",
                right=sum(view.look == "right" for view in views),
                answers=views,
                blames=tuple(dict.fromkeys(view.blame for view in views if view.blame)),
                presence=kind_of(gap) if gap else "",
                corpus=f"{PRESENCE_WORDS[kind_of(gap)]} ({'; '.join(filter(None, (where, gap.why)))})" if gap else "",
                sql=str(first.get("sql") or ""),
                parameters=_shown(first.get("parameters")),
                template=_shown(first.get("template")),
            )
        )
    return sorted(found, key=lambda one: (order.index(one.tag), one.right - len(one.answers), one.id))


def _answer(one: Tagged, decision: Decision, component: Component | None) -> AnswerReport:
    row = one.row
    again = decision.again
    response = None if row.response is None else row.response[:LONGEST]
    ids = row.retrieved or ()
    return AnswerReport(
        id=row.id,
        cluster=row.cluster,
        criterion=_shown(row.columns.get("criterion")),
        query=row.query,
        response=response,
        cut=max(0, len(row.response or "") - LONGEST),
        look={True: "right", False: "wrong", None: "undecided"}[one.correct],
        decided=f"{decision.by}{': ' if decision.why else ''}{decision.why}",
        retrieved=ids[:MOST_IDS],
        more=max(0, len(ids) - MOST_IDS),
        listed=row.retrieved is not None,
        blame=BLAME_WORDS[one.blame] if one.blame else "",
        rule=_because(one),
        again=again.response[:LONGEST] if again else None,
        component=component,
    )


def _because(one: Tagged) -> str:
    """The rule behind a blame, as it applies here."""
    if one.rule is None or one.blame is None:
        return ""
    if one.blame == "unknown":
        return f"{one.rule}: there is nothing to compare"
    return f"{one.rule}: {REASONS[one.rule][one.blame == 'retrieval']}"


def _shown(value: Any) -> str:
    if value is None or value == {}:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
