"""What RAGAs computes: sentences that were picked, and what the library does with a response that declines."""

import pytest

from ragtriage import Case, Component, EmbeddedJudge, FakeJudge, Score, Source, Undefined, Verdict, evaluate_sync
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Answered, Failure, Outcome, Verdicts
from ragtriage.metrics import metrics_named
from ragtriage.metrics.generator import ragas_context_relevance, ragas_library_answer_relevance

SENTENCES = tuple(Component(f"Sentence {i}.", (12 * i, 12 * i + 11), i // 2) for i in range(4))


def relevance(*picked: Component) -> Outcome:
    return ragas_context_relevance.compute(SENTENCES, picked)


def test_the_share_of_sentences_that_were_picked() -> None:
    outcome = relevance(SENTENCES[1])

    assert isinstance(outcome, Score)
    assert outcome.value == 0.25
    assert [part.good for part in outcome.parts] == [False, True, False, False]


def test_a_text_that_covers_two_sentences_picks_both_and_only_in_its_own_source() -> None:
    both = Component("Sentence 0. Sentence 1.", (0, 23), 0)

    assert relevance(both) == relevance(*SENTENCES[:2])
    assert relevance(both, SENTENCES[0]) == relevance(both)


def test_what_stands_nowhere_in_the_source_counts_for_nothing() -> None:
    outcome = relevance(Component("Made up.", None, 0))

    assert isinstance(outcome, Score)
    assert outcome.value == 0.0


def test_sources_without_a_sentence_leave_it_undefined() -> None:
    assert ragas_context_relevance.compute((), ()) == Undefined("the sources have no sentence")


@pytest.mark.parametrize(("declines", "expected"), [("no", 0.8), ("yes", 0.0), ("unknown", None)])
def test_a_response_that_declines_is_zero_for_the_library_alone(declines: Answered, expected: float | None) -> None:
    likeness = Verdicts((Component("What is it?"),), ((Verdict("no", 0.8),),))
    said = Verdicts((Component("I can't say."),), ((Verdict(declines),),))

    outcome = ragas_library_answer_relevance.compute(likeness, said)

    assert (outcome.value if isinstance(outcome, Score) else None) == expected


def test_every_source_is_asked_once_for_its_needed_sentences() -> None:
    texts = ("It costs 5 euros. It is red.", "It opened in 1896.")

    def answer(question: Question) -> Answer:
        if question.kind == "sentences":
            starts = (0, 18) if question.subject == texts[0] else (0,)
            return tuple(Component(question.subject[at:], (at, len(question.subject))) for at in starts)
        if question.kind == "needed_sentences":
            return (Component("It costs 5 euros.", (0, 17)),) if "5 euros" in question.subject else ()
        return (Component(question.subject),)

    judge = FakeJudge(answer)
    case = Case("c", "What does it cost?", tuple(map(Source, texts)), "5 euros.")
    (record,) = evaluate_sync([case], judge, metrics=metrics_named(["ragas_context_relevance"]))

    outcome = record.outcomes["ragas_context_relevance"]
    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(1 / 3)
    asked = [q for q in judge.asked if q.kind == "needed_sentences"]
    assert [(q.subject, q.query) for q in asked] == [(text, case.query) for text in texts]


def test_the_embedded_judge_picks_sentences_but_writes_no_questions() -> None:
    source = Source("A day ticket costs six euros. Dogs travel free of charge. The kiosk sells newspapers.")
    case = Case(
        "c", "What does a day ticket cost?", (source,), "A day ticket costs six euros.", samples=("Six euros.",)
    )
    (record,) = evaluate_sync([case], EmbeddedJudge(), metrics=metrics_named(["ragas", "samples"]))

    found = record.outcomes["ragas_context_relevance"]
    assert isinstance(found, Score)
    assert found.parts[0].good
    assert not found.parts[2].good
    for name in ("ragas_answer_relevance", "ragas_library_answer_relevance"):
        assert record.outcomes[name] == Undefined("the embedded judge can't write questions")
    assert isinstance(record.outcomes["self_consistency"], Score)


@pytest.mark.parametrize("declines", ["yes", "no"])
def test_a_response_from_which_no_question_can_be_written_is_no_failure(declines: Answered) -> None:
    def answer(question: Question) -> Answer:
        if question.kind == "questions_answered_by":
            return ()
        return Verdict(declines) if question.kind == "declines" else (Component(question.subject),)

    names = ["query_similarity", "ragas_answer_relevance", "ragas_library_answer_relevance"]
    case = Case("c", "What does it cost?", (Source("It is red."),), "I don't know.")
    (record,) = evaluate_sync([case], FakeJudge(answer), metrics=metrics_named(names))

    nothing = Undefined("the judge found no question that the response answers")
    library = record.outcomes.pop("ragas_library_answer_relevance")
    assert set(record.outcomes.values()) == {nothing}
    assert (library.value if isinstance(library, Score) else library) == (0.0 if declines == "yes" else nothing)


def test_a_response_that_declines_is_zero_whatever_became_of_likeness() -> None:
    likeness = Verdicts((Component("What is it?"),), ((Failure("time-out"),),))
    said = Verdicts((Component("I can't say."),), ((Verdict("yes"),),))

    outcome = ragas_library_answer_relevance.compute(likeness, said)

    assert isinstance(outcome, Score)
    assert (outcome.value, outcome.judged, [part.good for part in outcome.parts]) == (0.0, 1, [False])
