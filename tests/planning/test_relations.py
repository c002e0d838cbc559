"""The tables that say what a step means: complete, and enough for every step that can be written."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import get_args

from ragtriage import Case, Component, ConfigError, FakeJudge, Source, Verdict, evaluate_sync
from ragtriage.core.case import Turn
from ragtriage.core.metric import ORDER
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.steps import Condition, Decompose, Field, Match, OnlyWhere, Relation, Step, Target, Unit
from ragtriage.core.verdicts import Answer, Missing
from ragtriage.metrics.aggregate import CLAIMS, FACTS, SOURCES
from ragtriage.metrics.citations import ROUND_ONE
from ragtriage.planning.relations import (
    CONDITIONS,
    FIELDS,
    NO_COMPONENTS,
    REASONS,
    RELATIONS,
    REPLACING,
    TARGETS,
    UNITS,
    needs_judge,
    requirements_of,
)
from ragtriage.text.prepared import prepared

CASE = Case(
    "c",
    "And what does it cost?",
    (Source("It costs 5 euros.", "a"), Source("It floats.", "b")),
    "It costs 5 euros [1].\n\nIt is cheap.",
    "Five euros.",
    (Turn("user", "I'd like to take the ferry."),),
    samples=("5 euros.",),
    relevant_ids=("a",),
)


def answer(question: Question) -> Answer:
    if question.kind in DECOMPOSITIONS:
        return (Component(question.subject, (0, len(question.subject))),)
    return Verdict("yes", 0.9)


def written() -> Iterator[Step]:
    """Every step that can be written, without a condition of its own where it needs none."""
    for of, into in product(get_args(Field), get_args(Unit)):
        try:
            own = Decompose(of, into)
        except ConfigError:
            continue
        yield own
        for relation, against in product(get_args(Relation), get_args(Target)):
            criterion = "It is polite." if relation == "holds" else ""
            where = OnlyWhere(ROUND_ONE, "wasn't asked") if against == "true segments" else None
            try:
                yield Match(own, relation, against, where, criterion)
            except ConfigError:
                continue


STEPS = tuple(written())


def test_every_word_has_a_row() -> None:
    assert set(FIELDS) == set(get_args(Field))
    assert set(UNITS) == set(get_args(Unit))
    assert set(RELATIONS) == set(get_args(Relation))
    assert set(TARGETS) == set(get_args(Target))
    assert set(CONDITIONS) == set(get_args(Condition))


def test_every_row_says_how_it_is_found_out() -> None:
    one = (Component("a"),)
    own = {"cited sources", "each citation", "other citations"}

    assert [u for u, row in UNITS.items() if row.question is None and not row.read(CASE, "response")] == []
    assert [r for r, row in RELATIONS.items() if row.question is None and not row.read(CASE, one)] == []
    assert {target for target, row in TARGETS.items() if row.shared is None} <= own


def test_every_reason_has_its_place_in_the_order_of_reasons() -> None:
    rows = [*FIELDS.values(), *UNITS.values(), *RELATIONS.values(), *TARGETS.values()]
    needs = {need for row in rows for need in row.needs}

    assert {need.missing.reason for need in needs} == REASONS
    assert {missing.field for missing in (*NO_COMPONENTS.values(), *(need.missing for need in needs))} <= set(ORDER)


def test_every_step_that_can_be_written_can_be_taken() -> None:
    assert len(STEPS) > 200
    assert [told for step in STEPS if (told := not_taken(step))] == []


def not_taken(step: Step) -> str:
    """What is wrong where a step is taken alone."""
    judge = FakeJudge(answer)
    (record,) = evaluate_sync([CASE], judge, metrics=(), also=[step])
    found = record.steps.get(str(step))
    if found is None or isinstance(found, Missing):
        return f"{step}: {found}"
    alone = isinstance(step, Match) and step.against in {"other components", "other citations"}  # there is none
    if not needs_judge(step) or alone:
        return ""
    name = step.into if isinstance(step, Decompose) else step.relation
    kinds = {question.kind for question in judge.asked}
    return "" if {"similar": "similarity"}.get(name, name) in kinds else f"{step}: asked were {kinds}"


def test_on_an_empty_case_a_step_is_missing_with_its_reason() -> None:
    found = {}
    for step in STEPS:
        if requirements_of(step) and step not in REPLACING:
            (record,) = evaluate_sync([Case("c", "What?", None)], FakeJudge(answer), metrics=(), also=[step])
            found[str(step)] = record.steps[str(step)]

    assert len(found) > 100
    assert {name: one for name, one in found.items() if not isinstance(one, Missing) or one.reason not in REASONS} == {}


def test_a_conversation_that_says_nothing_is_none() -> None:
    judge = FakeJudge(answer)
    step = Match(Decompose("response", "claims"), "supported", "conversation")
    silent = replace(CASE, history=(Turn("user", " "),))
    (record,) = evaluate_sync([silent], judge, metrics=(), also=[step])

    assert judge.asked == []
    assert record.steps[str(step)] == Missing("no conversation went before the query", "query")


def test_a_fact_is_asked_about_with_the_source_that_it_was_taken_from() -> None:
    def facts(question: Question) -> Answer:
        whole = question.subject
        begun = question.kind == "facts" and whole == "It costs 5 euros."
        return (Component(whole[:8], (0, 8)),) if begun else answer(question)

    judge = FakeJudge(facts)
    steps = [Match(components, "essential", "query") for components in (FACTS, SOURCES, CLAIMS)]

    list(evaluate_sync([CASE], judge, metrics=(), also=steps))

    essential = {(q.subject, q.evidence) for q in judge.asked if q.kind == "essential"}
    # a fact that is all of its source is the same question as the source
    assert essential >= {
        ("It costs", ("It costs 5 euros.",)), ("It costs 5 euros.", ()), ("It floats.", ()), (prepared(CASE).text, ())
    }  # fmt: skip
