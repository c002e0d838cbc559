"""A scored test set as its HTML page shows it: groups, the worst first, with every phrasing and whom it blames."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragtriage.report.testset_document import PRESENCE_WORDS, WORDS, kind_of
from ragtriage.testset.beyond import Beyond
from ragtriage.testset.both_blames import Component
from ragtriage.testset.corpus import GapFound
from ragtriage.testset.correctness import Decision
from ragtriage.testset.groups import Rule, Tag, Tagged
from ragtriage.testset.matching import truths_for_judge
from ragtriage.testset.rows import Row

TAG_WORDS: Mapping[Tag, str] = WORDS["tag"]
"""Tag → how it is written, in the order in which groups are shown."""
TAG_LOOK: Mapping[Tag, str] = WORDS["tag_look"]
BLAME_WORDS: Mapping[str, str] = WORDS["blame"]
REASONS: Mapping[Rule, tuple[str, str]] = WORDS["reasons"]
"""Rule → why the language model is at fault, and why retrieval is."""
MOST_IDS = 12
"""Ids of retrieved documents that are shown."""


@dataclass(frozen=True, slots=True)
class AnswerReport:
    """One phrasing and its answer."""

    row: Row
    criterion: str
    look: str
    """`right`, `wrong` or `undecided`."""
    decision: Decision
    blame: str
    rule: str
    """Why it is blamed so."""
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
    return sorted(
        (_group(name, answers, gaps.get(name), beyond) for name, answers in members.items()),
        key=lambda one: (order.index(one.tag), one.right - len(one.answers), one.id),
    )


def _group(name: str, answers: Sequence[tuple[Tagged, Decision]], gap: GapFound | None, beyond: Beyond) -> GroupReport:
    tag = min((one.tag for one, _ in answers), key=list(TAG_WORDS).index)
    ordered = sorted(answers, key=lambda pair: (pair[0].row.cluster, pair[0].row.id))
    reports = tuple(_answer(one, decision, beyond.components.get(one.row.id)) for one, decision in ordered)
    rows = [one.row for one, _ in ordered]
    known = next((row.answer for row in rows if row.answer is not None), None)
    where = ", ".join(gap.documents[:MOST_IDS]) if gap else ""
    first = {name: value for row in reversed(rows) for name, value in row.columns.items() if value is not None}
    return GroupReport(
        id=name,
        tag=tag,
        look=TAG_LOOK[tag],
        question=min((row.query for row in rows if row.query), key=len, default=name),
        truth="unknown" if known is None else truths_for_judge(known)[0] or "there is none",
        right=sum(report.look == "right" for report in reports),
        answers=reports,
        blames=tuple(dict.fromkeys(report.blame for report in reports if report.blame)),
        presence=kind_of(gap) if gap else "",
        corpus=f"{PRESENCE_WORDS[kind_of(gap)]} ({'; '.join(filter(None, (where, gap.why)))})" if gap else "",
        sql=str(first.get("sql") or ""),
        parameters=_shown(first.get("parameters")),
    )


def _answer(one: Tagged, decision: Decision, component: Component | None) -> AnswerReport:
    return AnswerReport(
        one.row,
        _shown(one.row.columns.get("criterion")),
        {True: "right", False: "wrong", None: "undecided"}[one.correct],
        decision,
        BLAME_WORDS[one.blame] if one.blame else "",
        _because(one),
        component,
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
