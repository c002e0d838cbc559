"""What RAGAs computes of sentences that were picked and of a response that declines; and whether samples agree."""

import pytest

from fake_models import Answering, judge_of, lines_of
from ragtriage import (
    Case,
    Component,
    EmbeddedJudge,
    FakeJudge,
    Match,
    Score,
    Source,
    Undefined,
    Verdict,
    evaluate_sync,
    metric,
    share,
)
from ragtriage.core import questions as ask
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Answered, Failure, Outcome, Verdicts
from ragtriage.judges.llm.judge import LLMJudge
from ragtriage.metrics import metrics_named
from ragtriage.metrics.aggregate import SAMPLES, WHOLE_RESPONSE
from ragtriage.metrics.generator import ragas_context_relevance, ragas_library_answer_relevance

SENTENCES = tuple(Component(f"Sentence {i}.", (12 * i, 12 * i + 11), i // 2) for i in range(4))


def relevance(*picked: Component) -> Outcome:
    return ragas_context_relevance.compute(SENTENCES, picked)


def test_the_share_of_sentences_that_were_picked_each_in_its_own_source() -> None:
    outcome = relevance(SENTENCES[1])
    assert isinstance(outcome, Score)
    assert outcome.value == 0.25
    assert [part.good for part in outcome.parts] == [False, True, False, False]

    both = Component("Sentence 0. Sentence 1.", (0, 23), 0)
    assert relevance(both) == relevance(*SENTENCES[:2])
    assert relevance(both, SENTENCES[0]) == relevance(both)

    outcome = relevance(Component("Made up.", None, 0))
    assert isinstance(outcome, Score)
    assert outcome.value == 0.0

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


# -- samples

REFUSALS = ("I don't know.", "I can't answer that.")
CASE = Case("c", "How tall is it?", (), REFUSALS[0], reference=REFUSALS[0], samples=(REFUSALS[1], REFUSALS[0]))


@metric(title="True", same=Match(WHOLE_RESPONSE, "same_answer", "reference"))
def true_answer(same: Verdicts) -> Outcome:
    """Whether the response gives the reference's answer."""
    return share(same.components, same.best())


@metric(title="True samples", same=Match(SAMPLES, "same_answer", "reference"))
def true_samples(same: Verdicts) -> Outcome:
    """The share of samples that give the reference's answer."""
    return share(same.components, same.best())


METRICS = (*metrics_named(["samples"]), true_answer, true_samples)


def test_samples_are_not_taken_for_true_and_the_reference_is() -> None:
    judge = FakeJudge.from_table(default="yes")
    list(evaluate_sync([CASE], judge, metrics=METRICS))

    query, response, samples = CASE.query, REFUSALS[0], CASE.samples
    assert {question for question in judge.asked if question.kind == "same_answer"} == {
        *(ask.same_answer(query, (sample,), response, drawn=True) for sample in samples),
        *(ask.same_answer(query, (REFUSALS[0],), text) for text in (response, *samples)),
    }


def by_the_prompt() -> LLMJudge:
    """A model that says yes only to what it is told are further responses."""

    def verdict(prompt: object, name: str) -> str:
        (line,) = (line for line in lines_of(prompt) if line.startswith(f"{name} "))  # type: ignore[arg-type]
        return "yes" if "same_answer, further responses: " in line else "no"

    return judge_of(Answering(verdict))


@pytest.mark.parametrize("judge", [EmbeddedJudge(), by_the_prompt()], ids=["embedded", "model"])
def test_an_application_that_declines_every_time_is_consistent_but_never_right(judge: object) -> None:
    (record,) = evaluate_sync([CASE], judge, metrics=METRICS)  # type: ignore[arg-type]

    values = {name: getattr(outcome, "value", outcome) for name, outcome in record.outcomes.items()}
    assert values == {"self_consistency": 1.0, "sample_agreement": 1.0, "true_answer": 0.0, "true_samples": 0.0}
