"""Contextual sufficiency: an application is asked again, with sources that suffice.

Where a group's answers are partly right, the sources of a right answer are known to suffice ("GRAMMAR", section 3.3).
If the answer is right with these, retrieval was at fault; if it is wrong again, the language model.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from ragtriage.core.case import Case, Source
from ragtriage.judges.protocol import Judge
from ragtriage.readers.field_values import sources_of
from ragtriage.readers.problems import RowContext, RowLimits, RowProblem
from ragtriage.testset.answered_rows import Row
from ragtriage.testset.correctness import Decision, Given, SecondAnswer, decide
from ragtriage.testset.matching import TOLERANCE, truths_for_judge

_LIMITS = RowLimits(max_text=sys.maxsize, max_sources=sys.maxsize)
"""None: what was retrieved is given again as it was."""
_SELECTED = re.compile(r"^\s*SELECT\s+(?:DISTINCT\s+)?(.+?)\s+FROM\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class SecondQuestion:
    """One wrong answer's query, with sources that suffice."""

    place: int
    """Of its row."""
    case: Case
    """What the application is asked; its id changes with the sources, so that an old reply is never taken for it."""
    given: Given


@dataclass(frozen=True, slots=True)
class SecondQuestions:
    """What can be asked again, and what can't."""

    questions: tuple[SecondQuestion, ...]
    without_sources: int
    """Wrong answers for which no sources that suffice are known."""
    without_truth: int
    """Wrong answers whose true answer isn't known, so that a second one can't be told right or wrong."""


@dataclass(frozen=True, slots=True)
class SecondRun:
    """What came of asking again, in numbers."""

    asked: int
    right: int
    """Now right: retrieval was at fault."""
    wrong: int
    """Wrong again: the language model was."""
    undecided: int
    """Without a response, or with one of which nobody could tell."""
    without_sources: int
    without_truth: int


def second_run_counts(questions: SecondQuestions, decisions: Sequence[Decision]) -> SecondRun:
    """Count what came of asking again, by the decisions of `decide_second_answers`."""
    found = [decisions[one.place].second_answer for one in questions.questions]
    told = Counter(again.correct for again in found if again)
    undecided = len(found) - told.total()
    return SecondRun(len(found), told[True], told[False], undecided, questions.without_sources, questions.without_truth)


def second_questions(
    rows: Sequence[Row], decisions: Sequence[Decision], given: Given = "sibling", texts: Mapping[str, str] | None = None
) -> SecondQuestions:
    """What to ask again: every wrong answer of a group that has right ones.

    Args:
        rows: as they were answered.
        decisions: one a row.
        given: `sibling`: the sources of the group's first right answer, by id, that has them with their texts; `gold`:
            the database's row as a text, put together from the columns `parameters`, `sql` and `answer`.
        texts: id → text of documents, for rows that hold ids of what was retrieved and no texts.
    """
    right: dict[str, list[Row]] = defaultdict(list)
    for row, decision in zip(rows, decisions, strict=True):
        if decision.correct:
            right[row.group].append(row)
    questions, bare, untold = [], 0, 0
    for place, (row, decision) in enumerate(zip(rows, decisions, strict=True)):
        if decision.correct is not False or not right[row.group]:
            continue
        if not row.answer or not row.query:
            untold += 1
            continue
        if given == "gold":
            sources: tuple[Source, ...] = (Source(gold_text(row), "gold row"),)
        else:
            siblings = sorted(right[row.group], key=lambda one: (one.id, one.query))
            sources = next((found for one in siblings if (found := _sources(one, texts or {}))), ())
        if not sources:
            bare += 1
            continue
        case = Case(_name(row, sources), row.query, sources, tags=row.columns)
        questions.append(SecondQuestion(place, case, given))
    return SecondQuestions(tuple(questions), bare, untold)


def decide_second_answers(
    rows: Sequence[Row],
    decisions: Sequence[Decision],
    questions: Sequence[SecondQuestion],
    responses: Mapping[str, str],
    judge: Callable[[], Judge] | None,
    tolerance: float = TOLERANCE,
) -> list[Decision]:
    """The decisions, with what came of asking again.

    A question without a response, or with one that stays undecided, changes nothing: contexts are compared for it.

    Args:
        rows: as they were answered first.
        decisions: one a row.
        questions: what was asked again.
        responses: case id → what the application answered the second time.
        judge: see `decide`.
        tolerance: for numbers, see `typed_match`.

    Raises:
        JudgeError: the judge can't work at all.
    """
    answered = [one for one in questions if one.case.id in responses]
    second = [replace(rows[one.place], response=responses[one.case.id], correct=None) for one in answered]
    found = list(decisions)
    for one, row, decision in zip(answered, second, decide(second, judge, tolerance), strict=True):
        if decision.correct is not None:
            answer = SecondAnswer(one.given, decision.correct, row.response or "")
            found[one.place] = replace(found[one.place], second_answer=answer)
    return found


def gold_text(row: Row) -> str:
    """The database's row as a text: what the query was about, and the value that it selected.

    `parameters` and `sql` are read where the row has them; else the true answer stands under the query.
    """
    parameters = row.columns.get("parameters")
    known = parameters if isinstance(parameters, Mapping) else {}
    selected = _SELECTED.search(str(row.columns.get("sql") or ""))
    name = _words(selected[1]) if selected and "," not in selected[1] else "answer"
    lines = [f"{_words(str(column))}: {value}" for column, value in known.items()]
    return "\n".join([*(lines or [row.query]), f"{name}: {truths_for_judge(row.answer or ())[0]}"])


def _words(column: str) -> str:
    """A column as a person reads it: `project.start_date` is `project start date`."""
    plain = re.sub(r"[\"\'`\[\]]", "", column).replace("_", " ").replace(".", " ")
    return " ".join(plain.split())


def _sources(row: Row, texts: Mapping[str, str]) -> tuple[Source, ...]:
    """What a row says was retrieved, with the texts; nothing where some aren't known."""
    try:
        found = sources_of(row.columns.get("sources") or [], RowContext(_LIMITS))
    except RowProblem:
        found = ()
    if found or not row.retrieved or not all(name in texts for name in row.retrieved):
        return found
    return tuple(Source(texts[name], name) for name in row.retrieved)


def _name(row: Row, sources: Sequence[Source]) -> str:
    """An id of the second question that is its own for the row, its query and what is given."""
    told = [row.group, row.cluster, row.query, *(part for one in sources for part in (one.id or "", one.text))]
    digest = blake2b("\0".join(told).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{row.id}@{digest}"
