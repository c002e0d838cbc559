"""Self-contained HTML files: a scored test set with every group, and how far scores without references are right.

Tables like tables 2 and 1 of GRAMMAR; the second page also shows the answers that scores misjudge.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragtriage.report.templating import environment, page_parts, pages, shares, write_page
from ragtriage.report.testset_document import WORDS, cross_rows, kind_of, score_rows, share_of, terms_of
from ragtriage.testset.answered_rows import Row
from ragtriage.testset.corpus import GapLookup
from ragtriage.testset.correctness import Decision, truths_for_judge
from ragtriage.testset.failure_analysis import SIDES, BlameRule, DiagnosedComponent, FailureAnalysis, Tag, TaggedRow
from ragtriage.testset.reliability import Misjudged, Published, Reliability
from ragtriage.testset.scoring import ModularScores

TAG_WORDS: Mapping[Tag, str] = WORDS["tag"]
"""Tag → how it is written, in the order in which groups are shown."""
REASONS: Mapping[BlameRule, tuple[str, str]] = WORDS["reasons"]
"""Rule → why the language model is at fault, and why retrieval is."""
MOST_IDS = 12
"""Ids of retrieved documents that are shown."""
LONGEST = 1500
"""Characters of a response that are shown."""
MOST_BYTES = 12_000_000
"""Of all groups together, so that a browser can open the file."""


def write_testset_page(
    path: Path,
    title: str,
    scores: ModularScores,
    even: ModularScores | None,
    tagged: Sequence[TaggedRow],
    decisions: Sequence[Decision],
    analysis: FailureAnalysis,
    *,
    most_bytes: int = MOST_BYTES,
) -> None:
    """Write the page; it loads nothing, and an older file is replaced only when the new one is complete.

    `even` are the scores of a balanced sample of the rows. Groups beyond `most_bytes` are only counted.
    """
    groups = group_reports(tagged, decisions, analysis)
    clusters, compared = list(scores.clusters.values()), scores.comparison
    names = [compared.first, compared.second] if compared else list(scores.clusters)
    stream = environment().get_template("testset.html.j2").generate(
        title=title,
        answers=len(tagged),
        groups=groups,
        in_full=list(pages(_rendered(groups, list(scores.clusters)), most_bytes)),
        clusters=clusters,
        shown=names,
        compared=compared,
        rows=list(score_rows(scores, even, names)),
        terms=terms_of(scores.terms, decisions, clusters),
        shares=shares(Counter(group.tag for group in groups), TAG_WORDS),
        analysis=analysis,
        gaps=Counter(map(kind_of, analysis.gaps or ())),
        cross=list(cross_rows(analysis.blames)) if analysis.blames else [],
        words=WORDS,
        sides=SIDES,
        **page_parts(["testset.js"], "report.css", "testset.css"),
    )  # fmt: skip
    write_page(path, stream)


def _rendered(groups: Sequence[GroupReport], clusters: list[str]) -> Iterator[str]:
    template = environment().get_template("testset_group.html.j2")
    for group in groups:
        places = sorted({clusters.index(one.row.cluster) for one in group.answers if one.look == "wrong"})
        yield template.render(group=group, places=places, tag=TAG_WORDS[group.tag], longest=LONGEST, most_ids=MOST_IDS)


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
    component: DiagnosedComponent | None
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
    """Of a gap: what the corpus says of it; empty where the corpus wasn't searched."""
    corpus: str
    """The same in words, with the documents."""
    sql: str
    parameters: str


def group_reports(
    tagged: Sequence[TaggedRow], decisions: Sequence[Decision], analysis: FailureAnalysis
) -> list[GroupReport]:
    """All groups, the most telling first: non-robust, gap, undecided, robust; in each those with most wrong answers.

    With groups per cluster, a group of two clusters is shown once, under the tag that comes first.
    """
    members: dict[str, list[tuple[TaggedRow, Decision]]] = defaultdict(list)
    for one, decision in zip(tagged, decisions, strict=True):
        members[one.row.group].append((one, decision))
    gaps = {gap.group: gap for gap in analysis.gaps or ()}
    order = list(TAG_WORDS)
    return sorted(
        (_group(name, answers, gaps.get(name), analysis) for name, answers in members.items()),
        key=lambda one: (order.index(one.tag), one.right - len(one.answers), one.id),
    )


def _group(
    name: str, answers: Sequence[tuple[TaggedRow, Decision]], gap: GapLookup | None, analysis: FailureAnalysis
) -> GroupReport:
    tag = min((one.tag for one, _ in answers), key=list(TAG_WORDS).index)
    ordered = sorted(answers, key=lambda pair: (pair[0].row.cluster, pair[0].row.id))
    reports = tuple(_answer(one, decision, analysis.components.get(one.row.id)) for one, decision in ordered)
    rows = [one.row for one, _ in ordered]
    known = next((row.answer for row in rows if row.answer is not None), None)
    where = ", ".join(gap.documents[:MOST_IDS]) if gap else ""
    first = {name: value for row in reversed(rows) for name, value in row.columns.items() if value is not None}
    return GroupReport(
        id=name,
        tag=tag,
        look=WORDS["tag_look"][tag],
        question=min((row.query for row in rows if row.query), key=len, default=name),
        truth="unknown" if known is None else truths_for_judge(known)[0] or "there is none",
        right=sum(report.look == "right" for report in reports),
        answers=reports,
        blames=tuple(dict.fromkeys(report.blame for report in reports if report.blame)),
        presence=kind_of(gap) if gap else "",
        corpus=f"{WORDS['presence'][kind_of(gap)]} ({'; '.join(filter(None, (where, gap.why)))})" if gap else "",
        sql=str(first.get("sql") or ""),
        parameters=_shown(first.get("parameters")),
    )


def _answer(one: TaggedRow, decision: Decision, component: DiagnosedComponent | None) -> AnswerReport:
    return AnswerReport(
        one.row,
        _shown(one.row.columns.get("criterion")),
        {True: "right", False: "wrong", None: "undecided"}[one.correct],
        decision,
        WORDS["blame"][one.blame] if one.blame else "",
        _because(one),
        component,
    )


def _because(one: TaggedRow) -> str:
    if one.rule is None or one.blame is None:
        return ""
    if one.blame == "unknown":
        return f"{one.rule}: there is nothing to compare"
    return f"{one.rule}: {REASONS[one.rule][one.blame == 'retrieval']}"


def _shown(value: Any) -> str:
    if value is None or value == {}:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def write_reliability_page(
    path: Path,
    title: str,
    found: Sequence[Reliability],
    wrong: Mapping[str, Sequence[Misjudged]],
    interval: str,
    published: Mapping[str, Published],
    *,
    most_bytes: int = MOST_BYTES,
) -> None:
    """Write the page; it loads nothing, and an older file is replaced only when the new one is complete.

    `wrong` holds the answers that each score misjudges; what is beyond `most_bytes` is only counted.
    """
    most = most_bytes // max(1, len(wrong))
    stream = environment().get_template("reliability.html.j2").generate(
        title=title,
        found=found,
        wrong={name: list(pages(_rendered_answers(answers), most)) for name, answers in wrong.items()},
        counts={name: _counts(answers) for name, answers in wrong.items()},
        interval=interval.capitalize(),
        published=published,
        share_of=share_of,
        **page_parts([], "report.css", "testset.css"),
    )  # fmt: skip
    write_page(path, stream)


def _counts(answers: Sequence[Misjudged]) -> tuple[int, int]:
    """How many wrong answers pass, and how many right ones don't."""
    passed = sum(one.passed for one in answers)
    return passed, len(answers) - passed


def _rendered_answers(answers: Sequence[Misjudged]) -> Iterator[str]:
    template = environment().get_template("reliability_answer.html.j2")
    for one in answers:
        samples = one.row.columns.get("samples")
        yield template.render(
            one=one,
            truth="; ".join(truths_for_judge(one.row.answer)) if one.row.answer is not None else "",
            samples=[str(text) for text in samples] if isinstance(samples, list) else [],
            longest=LONGEST,
        )
