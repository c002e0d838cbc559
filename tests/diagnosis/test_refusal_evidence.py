"""Whether a response declines moves how likely findings on its sources are, and no score of them."""

from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage import RULES, Case, FakeJudge, Source, evaluate_sync, metrics_named, needs_of
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.steps import Step
from ragtriage.core.verdicts import Answer, Cell, Component, Failure, Known, Missing, Score, Verdict, Verdicts
from ragtriage.diagnosis.findings import BASE, WEIGHT, scores_beside_response, steps_beside_response
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.protocol import Judge
from ragtriage.metrics.thelma import ANSWERED_BY_ONE, ANSWERED_TOGETHER, DECLINES, SUPPORTED

QUESTION = Component("What does it cost?")
EVEN = Verdict("yes", 0.5, 0.5, "because", chance=0.5)


def step_of(*cells: Cell) -> Verdicts:
    return Verdicts((QUESTION,), (cells,))


def moved(declines: Cell, *cells: Cell) -> tuple[Cell, ...]:
    """The cells, beside a response that declines so."""
    found = steps_beside_response({str(DECLINES): step_of(declines), str(ANSWERED_BY_ONE): step_of(*cells)})
    answered = found[str(ANSWERED_BY_ONE)]
    assert isinstance(answered, Verdicts)
    return answered.cells[0]


def chance(cell: Cell) -> float:
    assert isinstance(cell, Verdict)
    assert cell.chance is not None
    return cell.chance


def test_declining_lowers_and_not_declining_raises() -> None:
    (declined,), (answered,) = moved(Verdict("yes"), EVEN), moved(Verdict("no"), EVEN)

    # from even odds: e^(.48 − 2.16) to 1, and e^.48 to 1
    assert chance(declined) == pytest.approx(1 / (1 + exp(1.68)))
    assert chance(answered) == pytest.approx(1 / (1 + exp(-0.48)))
    assert (BASE, WEIGHT) == (0.48, 2.16)
    assert isinstance(declined, Verdict)
    assert (declined.value, declined.sure, declined.score, declined.explanation) == ("no", True, 0.5, "because")


@given(st.floats(0, 1), st.floats(0, 1))
def test_the_likelier_it_declines_the_less_likely_the_sources_answer(one: float, other: float) -> None:
    less, more = sorted((one, other))

    (before,), (after,) = (moved(Verdict("no", chance=p), EVEN) for p in (less, more))
    assert chance(after) <= chance(before)


@pytest.mark.parametrize("declines", [Verdict("yes"), Verdict("no"), Verdict("no", chance=0.4)])
@pytest.mark.parametrize(
    "cell",
    [
        None,
        Failure("too long"),
        Verdict("yes", 0.6, 0.6),
        Verdict("unknown", 0.4),
        Verdict("unknown", 0.4, chance=0.4),
        Verdict("yes", 1.0, 1.0, chance=1.0),
        Verdict("no", 0.0, 1.0, chance=0.0),
    ],
)
def test_what_is_certain_or_has_no_chance_stays(declines: Verdict, cell: Cell) -> None:
    assert moved(declines, cell, EVEN)[0] == cell


@pytest.mark.parametrize(
    "declines",
    [*map(step_of, (Verdict("unknown"), Failure("too long"), None)), Missing("no response", "response"), None],
)
def test_where_nobody_knows_whether_it_declines_nothing_moves(declines: Known | None) -> None:
    steps: dict[str, Known] = {str(ANSWERED_BY_ONE): step_of(EVEN), str(ANSWERED_TOGETHER): step_of(EVEN)}
    if declines is not None:
        steps[str(DECLINES)] = declines

    assert steps_beside_response(steps) == steps


@pytest.mark.parametrize("missing", [ANSWERED_BY_ONE, ANSWERED_TOGETHER])
def test_a_step_that_was_not_taken_stays_so(missing: object) -> None:
    steps: dict[str, Known] = {str(DECLINES): step_of(Verdict("yes")), str(missing): Missing("no query", "query")}

    assert steps_beside_response(steps) == steps
    assert steps_beside_response({}) == {}


def test_both_steps_are_moved_and_no_other_and_the_given_ones_are_left_alone() -> None:
    steps: dict[str, Known] = {str(step): step_of(EVEN) for step in (ANSWERED_BY_ONE, ANSWERED_TOGETHER, SUPPORTED)}
    steps[str(DECLINES)] = step_of(Verdict("yes", chance=0.9))
    before = dict(steps)

    found = steps_beside_response(steps)

    assert steps == before
    assert {name for name in steps if found[name] != steps[name]} == {str(ANSWERED_BY_ONE), str(ANSWERED_TOGETHER)}


@pytest.mark.parametrize(("declines", "coverage"), [("yes", 0.157), ("no", 0.618)])
def test_findings_read_the_moved_chances_and_the_score_stays(declines: str, coverage: float) -> None:
    def answer(question: Question) -> Answer:
        if question.kind in DECOMPOSITIONS:
            return (Component(question.subject, (0, len(question.subject))),)
        return Verdict("yes" if declines == "yes" else "no") if question.kind == "declines" else EVEN

    case = Case("c", "What does it cost?", (Source("It costs 5 euros."),), "Nobody knows.")
    metrics = metrics_named(["source_query_coverage"])
    (record,) = evaluate_sync([case], FakeJudge(answer), metrics=metrics, also=[DECLINES])

    outcome = record.outcomes["source_query_coverage"]
    assert isinstance(outcome, Score)
    assert outcome.value == 0.5
    read = scores_beside_response(record, metrics)["source_query_coverage"]
    assert read.value == pytest.approx(coverage, abs=0.001)


QUERY = "Does the Ferrow campsite accept dogs?"
SOURCES = (
    Source("The Ferrow campsite has 80 pitches and a small shop."),
    Source("Guests of the Ferrow campsite bring their pets on a lead. Quiet hours begin at ten."),
)
RESPONSES = (None, "", "Yes, on a lead.", "The documents don't say whether dogs are accepted.", "I don't know.", "Ten.")


def by_words(question: Question) -> Answer:
    """Whole texts, and verdicts without a chance by the words of what is judged, as of a language model."""
    if question.kind in DECOMPOSITIONS:
        return (Component(question.subject, (0, len(question.subject))),) if question.subject else ()
    return Verdict("yes" if "lead" in " ".join((question.subject, *question.evidence)) else "no")


RETRIEVER = ("source_precision", "fact_precision", "source_query_coverage")


@pytest.mark.parametrize("judge", [EmbeddedJudge(), FakeJudge(by_words)], ids=["embedded", "fake"])
@pytest.mark.parametrize("also", [(), needs_of(RULES)], ids=["metrics only", "with a diagnosis"])
def test_scores_of_the_sources_are_the_same_whatever_the_response(judge: Judge, also: tuple[Step, ...]) -> None:
    cases = [Case(str(place), QUERY, SOURCES, response) for place, response in enumerate(RESPONSES)]
    metrics = metrics_named([*RETRIEVER, "response_query_coverage", "groundedness"])

    records = list(evaluate_sync(cases, judge, metrics=metrics, also=also))

    found = {tuple(str(record.outcomes[name]) for name in RETRIEVER) for record in records}
    assert len(records) == len(RESPONSES)
    assert len(found) == 1
