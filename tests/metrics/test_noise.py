"""Noise sensitivity: which claims are wrong, where they came from, and what can't be told."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage import Case, Component, FakeJudge, Score, Source, Undefined, Verdict, Verdicts, evaluate_sync
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Cell, Failure, Outcome
from ragtriage.metrics import metrics_named
from ragtriage.metrics.aggregate import conjunction, negated
from ragtriage.metrics.reference import irrelevant_noise_sensitivity, relevant_noise_sensitivity

YES, NO, UNKNOWN = Verdict("yes", 1.0), Verdict("no", 0.0), Verdict("unknown")
FAILED = Failure("time-out after 30 s")
NAMES = {"y": YES, "n": NO, "u": UNKNOWN, "f": FAILED, "-": None}


def grid(*rows: str) -> Verdicts:
    """A letter a verdict; `-` wasn't asked."""
    units = tuple(Component(f"component {i}") for i in range(len(rows)))
    return Verdicts(units, tuple(tuple(NAMES[letter] for letter in row) for row in rows))


def scores(correct: str, told: Sequence[str], held: Sequence[str]) -> tuple[Outcome, Outcome]:
    """Of relevant and irrelevant sources."""
    sources = tuple(Component(f"source {i}", source=i) for i in range(len(held[0])))
    needs = (sources, grid(*correct), grid(*told), grid(*held))
    return relevant_noise_sensitivity.compute(*needs), irrelevant_noise_sensitivity.compute(*needs)


def values(correct: str, told: Sequence[str], held: Sequence[str]) -> list[float | str]:
    return [o.value if isinstance(o, Score) else o.reason for o in scores(correct, told, held)]


@pytest.mark.parametrize(
    ("correct", "told", "held", "expected"),
    [
        # the first source holds a claim of the reference, the second holds none
        ("nnny", ["yn", "ny", "nn", "--"], ["yn", "nn"], [0.25, 0.25]),
        ("n", ["yy"], ["yn"], [1.0, 1.0]),  # both kinds of source support it, so it counts twice
        ("nn", ["nn", "nn"], ["yn"], [0.0, 0.0]),  # what only the generator made up is no noise
        ("n", ["y"], ["n"], [0.0, 1.0]),  # without a relevant source all noise is irrelevant
    ],
)
def test_a_wrong_claim_counts_where_its_source_belongs(
    correct: str, told: list[str], held: list[str], expected: list[float]
) -> None:
    assert values(correct, told, held) == expected


@pytest.mark.parametrize(
    ("correct", "told", "held", "unknown"),
    [("u", "y", "y", True), ("n", "u", "y", True), ("n", "y", "u", True), ("u", "n", "y", False)],
)
def test_what_can_not_be_told_is_left_out_unless_it_decides_nothing(
    correct: str, told: str, held: str, unknown: bool
) -> None:
    relevant, _ = scores(correct + "y", [told, "-"], [held])

    assert isinstance(relevant, Score)
    assert (relevant.value, relevant.unknown) == (0.0, int(unknown))


@pytest.mark.parametrize(("correct", "told", "held"), [("f", "y", "y"), ("n", "f", "y"), ("n", "y", "f")])
def test_a_failure_that_may_decide_makes_the_score_failed(correct: str, told: str, held: str) -> None:
    relevant, _ = scores(correct, [told], [held])

    assert isinstance(relevant, Undefined)
    assert relevant.failed
    assert "time-out after 30 s" in relevant.reason


def test_a_failure_that_decides_nothing_does_no_harm_and_a_part_says_which_source_misled() -> None:
    assert values("n", ["nf"], ["yn"])[0] == 0.0

    relevant, _ = scores("ny", ["ny", "--"], ["ny"])
    assert isinstance(relevant, Score)
    assert [part.good for part in relevant.parts] == [False, True]
    assert isinstance(cell := relevant.parts[0].cell, Verdict)
    assert cell.explanation == "source 2 supports it, the reference doesn't"


LETTERS = st.sampled_from("yn")


@given(st.data())
def test_no_claim_is_misled_in_more_ways_than_it_is_wrong(data: st.DataObject) -> None:
    claims, sources, truths = (data.draw(st.integers(1, 4)) for _ in range(3))
    correct = "".join(data.draw(LETTERS) for _ in range(claims))
    told = ["-" * sources if c == "y" else "".join(data.draw(LETTERS) for _ in range(sources)) for c in correct]
    held = ["".join(data.draw(LETTERS) for _ in range(sources)) for _ in range(truths)]
    wrong = [row for row in told if "y" in row]

    relevant, irrelevant = values(correct, told, held)

    assert isinstance(relevant, float)
    assert isinstance(irrelevant, float)
    assert max(relevant, irrelevant) <= len(wrong) / claims <= relevant + irrelevant + 1e-9


def test_only_wrong_claims_are_held_against_every_source() -> None:
    def answer(question: Question) -> Answer:
        if question.kind == "claims":
            return tuple(Component(text) for text in question.subject.split("; "))
        return Verdict("no" if question.subject == "It is red." and question.evidence == ("It is tall.",) else "yes")

    judge = FakeJudge(answer)
    case = Case("c", "What is it?", (Source("A."), Source("B.")), "It is tall.; It is red.", "It is tall.")
    (record,) = evaluate_sync([case], judge, metrics=metrics_named(["relevant_noise_sensitivity"]))

    single = [q.subject for q in judge.asked if q.kind == "supported" and q.evidence in {("A.",), ("B.",)}]
    assert single == ["It is red.", "It is red.", "It is tall.", "It is tall."]  # the last two: of the reference
    outcome = record.outcomes["relevant_noise_sensitivity"]
    assert isinstance(outcome, Score)
    assert outcome.value == 0.5


@pytest.mark.parametrize(
    ("cells", "expected"),
    [((YES, YES), YES), ((YES, NO), NO), ((FAILED, NO), NO), ((FAILED, UNKNOWN), FAILED), ((YES, UNKNOWN), UNKNOWN),
     ((YES, None), None)],
)  # fmt: skip
def test_all_hold_only_if_each_does(cells: tuple[Cell, Cell], expected: Cell) -> None:
    assert conjunction(*cells) == conjunction(*reversed(cells)) == expected


def test_the_opposite_of_what_is_not_known_is_not_known() -> None:
    assert [negated(cell) for cell in (YES, NO, UNKNOWN, FAILED, None)] == [NO, YES, UNKNOWN, FAILED, None]
