"""The query of a conversation: one step replaces it, and all other steps read what that step found."""

from dataclasses import replace

import pytest

from ragtriage import METRICS, RULES, Case, Decompose, FakeJudge, Match, Metric, Record, Source, evaluate_sync, needs_of
from ragtriage.core import questions as ask
from ragtriage.core.case import Turn
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.steps import Target
from ragtriage.core.verdicts import Answer, Component, Failure, Missing, Score, Undefined, Verdict
from ragtriage.metrics import GROUPS, THELMA
from ragtriage.planning.levels import as_read, dependencies, inputs, plan
from ragtriage.planning.relations import REPLACING, UNITS, needs_judge

STANDALONE = Decompose("query", "standalone")
WHOLE = Decompose("query", "whole")
UNDERSTOOD = "What does the ferry cost?"
CASE = Case(
    "c",
    "And what does it cost?",
    (Source("It costs 5 euros.", "a"),),
    "It costs 5 euros.",
    None,
    (Turn("user", "I'd like to take the ferry."),),
    relevant_ids=("a",),
)
REWRITE = ask.standalone(CASE.query, ("user: I'd like to take the ferry.",))
ANSWERED = Metric("answered", "A", {"of": Match(WHOLE, "answered", "sources")}, lambda of: Score(1.0, len(of.cells)))
FAILED = "the judge failed to write the query without its conversation: "


def answer(question: Question) -> Answer:
    if question.kind == "standalone":
        return (Component(UNDERSTOOD),)
    if question.kind in DECOMPOSITIONS:
        return (Component(question.subject),)
    return Verdict("yes", 0.9)


def evaluated(case: Case, judge: FakeJudge, *metrics: Metric) -> Record:
    (record,) = evaluate_sync([case], judge, metrics=metrics)
    return record


def test_the_only_such_step_depends_on_nothing_and_finds_exactly_one_text_and_all_others_depend_on_it() -> None:
    steps = set(plan(METRICS, needs_of(RULES)).steps) - {STANDALONE}

    assert set(REPLACING) == {STANDALONE}
    assert dependencies(STANDALONE) == ()
    assert UNITS[STANDALONE.into].exactly_one
    assert {dependencies(step) for step in steps} == {(STANDALONE, *inputs(step)) for step in steps}


def test_it_is_planned_first_where_a_judge_is_asked_and_is_no_metric_s_own() -> None:
    planned = plan(THELMA)

    assert planned.levels[0] == (STANDALONE,)
    assert str(STANDALONE) not in planned.shared()
    assert not any(map(needs_judge, plan(GROUPS["retrieval"]).steps))
    assert STANDALONE not in plan(GROUPS["retrieval"]).steps


def test_with_a_conversation_every_step_reads_what_it_found() -> None:
    judge = FakeJudge(answer)
    record = evaluated(CASE, judge, *THELMA, ANSWERED)

    assert judge.asked[0] == REWRITE
    assert not [question for question in judge.asked[1:] if CASE.query in (question.subject, question.query)]
    assert record.components(STANDALONE) == (Component(UNDERSTOOD),)
    assert [component.text for component in record.components(WHOLE) or ()] == [UNDERSTOOD]
    assert record.case == CASE
    assert as_read(record.case, record.steps) == replace(CASE, query=UNDERSTOOD)


@pytest.mark.parametrize(
    ("history", "cannot"),
    [((), {}), ((Turn("user", " "),), {}), (CASE.history, {"standalone": "it writes nothing"})],
)
def test_without_turns_or_a_judge_that_supports_it_the_query_is_read_as_it_is(
    history: tuple[Turn, ...], cannot: dict[str, str]
) -> None:
    judge = FakeJudge(answer, cannot=cannot)
    record = evaluated(replace(CASE, history=history), judge, ANSWERED)

    assert judge.asked == [ask.answered(CASE.query, (CASE.sources[0].text,), CASE.query)]
    assert record.outcomes["answered"] == Score(1.0, 1)
    assert str(STANDALONE) not in record.steps
    assert as_read(record.case, record.steps) == record.case


@pytest.mark.parametrize(
    ("reply", "cause"),
    [(Failure("no reply"), FAILED + "no reply"), ((), FAILED + "it gave no text")],
)
def test_if_it_fails_so_do_all_other_steps(reply: Answer, cause: str) -> None:
    judge = FakeJudge(lambda question: reply if question.kind == "standalone" else answer(question))
    record = evaluated(CASE, judge, *METRICS)

    assert judge.asked == [REWRITE]
    assert set(record.steps) == set(map(str, plan(METRICS).steps)) - {str(STANDALONE)}
    assert set(record.steps.values()) == {Missing(cause, "query", failed=True)}
    assert set(record.outcomes.values()) == {Undefined(cause, failed=True)}


def test_it_is_not_asked_where_the_case_allows_no_metric_that_asks_a_judge() -> None:
    judge = FakeJudge(answer)
    record = evaluated(replace(CASE, response=None), judge, *GROUPS["retrieval"], *GROUPS["citations"])

    assert judge.asked == []
    assert isinstance(record.outcomes["retrieval_recall"], Score)


def similar_to(target: Target) -> Metric:
    """A metric that needs the query without its conversation."""
    return Metric("own", "Own", {"of": Match(STANDALONE, "similar", target)}, lambda of: Score(1.0, len(of.cells)))


def test_a_metric_may_need_it() -> None:
    judge, own = FakeJudge(answer), similar_to("response")

    assert evaluated(CASE, judge, own).outcomes["own"] == Score(1.0, 1)
    assert evaluated(replace(CASE, history=()), judge, own).outcomes["own"] == Undefined(
        "no conversation went before the query"
    )
    assert judge.asked == [REWRITE, ask.similarity(UNDERSTOOD, (CASE.response or "",))]


def test_a_metric_that_needs_it_and_lacks_a_text_keeps_it_from_no_other() -> None:
    judge, own = FakeJudge(answer), similar_to("reference")

    assert evaluated(CASE, judge, own, ANSWERED).outcomes["own"] == Undefined("the case has no reference")
    assert judge.asked == [REWRITE, ask.answered(UNDERSTOOD, (CASE.sources[0].text,), UNDERSTOOD)]
    assert evaluated(CASE, FakeJudge(answer), own).outcomes["own"] == Undefined("the case has no reference")
