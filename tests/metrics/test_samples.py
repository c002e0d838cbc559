"""Whether samples agree: what is asked of a judge, by what they are held against."""

import pytest

from fake_models import Answering, judge_of, lines_of
from ragtriage import Case, EmbeddedJudge, FakeJudge, Match, Verdicts, evaluate_sync, metric, share
from ragtriage.core import questions as ask
from ragtriage.core.verdicts import Outcome
from ragtriage.judges.llm.judge import LLMJudge
from ragtriage.metrics import metrics_named
from ragtriage.metrics.aggregate import SAMPLES, WHOLE_RESPONSE

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
