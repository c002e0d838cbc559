"""Why answers of a test set failed: groups and their blame, a second run.

Tags of groups, the comparison of contexts and contextual sufficiency are those of GRAMMAR, section 3.3: where a group's
answers are partly right, the sources of a right answer suffice. Asked again with these, an application that is right
blames retrieval, one that is wrong again the language model.
"""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from types import MappingProxyType
from typing import Literal, get_args

from ragtriage.core.case import Case, Source
from ragtriage.judges.protocol import Judge
from ragtriage.readers.field_values import sources_of
from ragtriage.readers.problems import RowContext, RowLimits, RowProblem
from ragtriage.testset.answered_rows import Row
from ragtriage.testset.correctness import TOLERANCE, Decision, Given, SecondAnswer, decide, truths_for_judge

Tag = Literal["gap", "robust", "non_robust", "undecided"]
TAGS: tuple[Tag, ...] = get_args(Tag)
Scope = Literal["pooled", "per cluster"]
Blame = Literal["LM", "retrieval", "unknown"]
BlameRule = Literal["second run", "gold row", "one document", "relevant ids", "shared documents"]
BLAME_RULES: Mapping[BlameRule, str] = MappingProxyType(
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
_RULE_OF: Mapping[Given, BlameRule] = MappingProxyType({"sibling": "second run", "gold": "gold row"})


@dataclass(frozen=True, slots=True)
class TaggedRow:
    """One row with all that its group says about it."""

    row: Row
    correct: bool | None
    tag: Tag
    blame: Blame | None = None
    """Of a wrong answer in a non-robust group: which module is at fault. None for all other rows."""
    rule: BlameRule | None = None
    """By which rule."""


def tag_rows(rows: Sequence[Row], decisions: Sequence[Decision], scope: Scope = "pooled") -> list[TaggedRow]:
    """Tag every row with its group's tag, and blame wrong answers of non-robust groups on a module.

    A group is *gap* if all its answers are wrong, *robust* if all are right, *non-robust* if some are, and *undecided*
    as soon as one answer is undecided. Where the application was asked again with sources that suffice, that decides on
    whom a wrong answer is blamed; elsewhere contexts are compared. The scope is `pooled`, where a group holds its
    phrasings of all clusters, or `per cluster`. The tags come one a row, in the order of the rows.
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


def _sufficient(members: Sequence[tuple[Row, bool | None]]) -> tuple[BlameRule, frozenset[str]]:
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


def _blame(row: Row, rule: BlameRule, documents: frozenset[str]) -> Blame:
    if row.retrieved is None or not documents:  # nothing to compare: no side can be blamed
        return "unknown"
    found = documents.intersection(row.retrieved)
    return "LM" if (found if rule == "one document" else found == documents) else "retrieval"


_LIMITS = RowLimits(max_text=sys.maxsize, max_sources=sys.maxsize)
"""None: what was retrieved is given again as it was."""
_SELECTED = re.compile(r"^\s*SELECT\s+(?:DISTINCT\s+)?(.+?)\s+FROM\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class SecondQuestions:
    """What can be asked again with sources that suffice, and what can't."""

    given: Given
    cases: Mapping[int, Case]
    """Place of a wrong answer's row → what the application is asked.

    Its id changes with the sources, so that an old reply is never taken for it.
    """
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
    found = [decisions[place].second_answer for place in questions.cases]
    told = Counter(again.correct for again in found if again)
    undecided = len(found) - told.total()
    return SecondRun(len(found), told[True], told[False], undecided, questions.without_sources, questions.without_truth)


def second_questions(
    rows: Sequence[Row], decisions: Sequence[Decision], given: Given = "sibling", texts: Mapping[str, str] | None = None
) -> SecondQuestions:
    """What to ask again: every wrong answer of a group that has right ones.

    With `sibling` they are given the sources of the group's first right answer, by id, that has them with their texts;
    with `gold` the database's row as a text, put together from the columns `parameters`, `sql` and `answer`. `texts`
    has those of documents by id, for rows that hold only ids of what was retrieved.
    """
    right: dict[str, list[Row]] = defaultdict(list)
    for row, decision in zip(rows, decisions, strict=True):
        if decision.correct:
            right[row.group].append(row)
    cases, bare, untold = {}, 0, 0
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
        cases[place] = Case(_name(row, sources), row.query, sources, tags=row.columns)
    return SecondQuestions(given, cases, bare, untold)


def decide_second_answers(
    rows: Sequence[Row],
    decisions: Sequence[Decision],
    questions: SecondQuestions,
    responses: Mapping[str, str],
    judge: Callable[[], Judge] | None,
    tolerance: float = TOLERANCE,
) -> list[Decision]:
    """The decisions, with what came of asking again.

    A question without a response, or with one that stays undecided, changes nothing: contexts are compared for it.
    """
    answered = [place for place, case in questions.cases.items() if case.id in responses]
    second = [replace(rows[place], response=responses[questions.cases[place].id], correct=None) for place in answered]
    found = list(decisions)
    for place, decision in zip(answered, decide(second, judge, tolerance), strict=True):
        if decision.correct is not None:
            found[place] = replace(found[place], second_answer=SecondAnswer(questions.given, decision.correct))
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
