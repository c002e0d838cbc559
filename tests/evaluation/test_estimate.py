"""What an evaluation would take: the same questions as the real one, without asking anything."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random

import pytest

from ragtriage import RULES, ConfigError, EmbeddedJudge, FakeJudge, StoreError, evaluate_sync, metrics_named, needs_of
from ragtriage.core.case import Case, Source, Turn
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer, Answered, Component, Verdict
from ragtriage.evaluation.estimate import AT_ONCE, FEWEST, Sampling, estimate_evaluation, sum_estimates
from ragtriage.judges.protocol import Estimate
from ragtriage.judges.wrappers.cached import Cached, InMemory
from ragtriage.metrics import CITATIONS
from ragtriage.text.claims import split_claims
from ragtriage.text.questions import split_questions
from ragtriage.text.sentences import split_facts, split_sentences

ALSO = needs_of(RULES)
SPLIT = {"claims": split_claims, "facts": split_facts, "questions": split_questions, "sentences": split_sentences}


def case(i: int, *, sources: int = 3, history: tuple[Turn, ...] = ()) -> Case:
    texts = (f"Ferry {i} leaves pier {j} at noon. It takes {j + 9} cars. The bar opens at one." for j in range(sources))
    response = f"Ferry {i} leaves at noon. It takes 9 cars. You will find the pier easily."
    return Case(f"c{i}", f"When does ferry {i} leave, and how many cars does it take?", tuple(map(Source, texts)),
                response, history=history)  # fmt: skip


CASES = (*(case(i) for i in range(4)), case(4, history=(Turn("user", "Hello."),)), case(5, sources=0))


def by_rules(value: Answered, **further: object) -> FakeJudge:
    """A real judge that happens to say what the estimate assumes."""

    def answer(question: Question) -> Answer:
        if question.kind in SPLIT:
            return SPLIT[question.kind](question.subject)
        if question.kind in DECOMPOSITIONS:
            return (Component(question.subject),)
        return Verdict(value, float(value == "yes"), 1.0)

    return FakeJudge(answer, **further)  # type: ignore[arg-type]


def by_word(question: Question) -> Answer:
    """Components that no rule would make."""
    if question.kind == "standalone":
        return (Component(question.subject),)
    if question.kind in DECOMPOSITIONS:
        return tuple(Component(word) for word in question.subject.split()[:2])
    return Verdict("no", 0.1, 0.9)


class Priced(FakeJudge):
    """Three questions a request, a cent each; it must never be asked."""

    def estimate(self, questions: Sequence[Question]) -> Estimate:
        """A third of them."""
        count = -(-len(questions) // 3)
        return Estimate(count, 100 * count, 10 * len(questions), 0.01 * count)

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        """Not for an estimate."""
        raise AssertionError("an estimate asked")
        yield 0, Verdict("yes")


@pytest.mark.parametrize("value", ["yes", "no"])
def test_it_counts_what_an_evaluation_asks(value: Answered) -> None:
    real = by_rules(value)
    list(evaluate_sync(CASES, real, also=ALSO, window=1))

    found = estimate_evaluation(CASES, by_rules("unknown"), also=ALSO)

    assert found.cases == 6
    assert found.remembered == 0
    assert (found.least if value == "yes" else found.most) == sum(map(real.estimate, real.batches), Estimate())
    if value == "no":
        assert found.questions == Counter(question.kind for question in real.asked)
    assert found.least.requests < found.most.requests


def test_written_questions_are_counted_each() -> None:
    found = estimate_evaluation(CASES, by_rules("yes"), metrics=metrics_named(["query_similarity(n=4)"]))

    assert found.questions["questions_answered_by"] == len(CASES)
    assert found.questions["similarity"] == 4 * len(CASES)


def test_batches_are_estimated_as_they_would_be_asked() -> None:
    real = by_rules("no")
    list(evaluate_sync(CASES, real, also=ALSO))

    found = estimate_evaluation(CASES, Priced({}), also=ALSO)

    assert found.most.requests == sum(-(-len(batch) // 3) for batch in real.batches)
    assert found.most.requests < len(real.asked)


@pytest.mark.parametrize("cannot", [{"facts": "it can't"}, {"en": "no English"}])
def test_what_a_judge_can_not_do_is_not_counted(cannot: dict[str, str]) -> None:
    real = by_rules("no", cannot=cannot)
    list(evaluate_sync(CASES, real, also=ALSO, window=1))

    found = estimate_evaluation(CASES, by_rules("no", cannot=cannot), also=ALSO)

    assert found.questions == Counter(question.kind for question in real.asked)
    assert "facts" not in found.questions


def test_what_is_in_memory_is_left_out_with_all_that_follows_from_it() -> None:
    memory, judge = InMemory(), FakeJudge(by_word)
    list(evaluate_sync(CASES[:4], Cached(judge, memory), also=ALSO))
    asked = [*judge.asked]

    whole = estimate_evaluation(CASES, judge, also=ALSO, memory=memory)
    rest = estimate_evaluation(CASES[4:], judge, also=ALSO, memory=memory)

    assert judge.asked == asked  # an estimate asks nothing
    assert whole.remembered == len(set(asked))
    assert rest.remembered == 0
    assert (whole.least, whole.most, whole.questions) == (rest.least, rest.most, rest.questions)
    assert rest.least.requests > 0


def test_a_cached_judge_leaves_out_what_it_has() -> None:
    memory, judge = InMemory(), by_rules("no")
    list(evaluate_sync(CASES[:4], Cached(judge, memory), also=ALSO))

    found = estimate_evaluation(CASES, Cached(judge, memory), also=ALSO)

    assert found.most == estimate_evaluation(CASES[4:], judge, also=ALSO).most


def test_a_run_that_came_to_its_end_needs_nothing_more_but_in_another_trial_everything() -> None:
    memory, judge = InMemory(), by_rules("no")
    list(evaluate_sync(CASES, Cached(judge, memory), also=ALSO))

    again, other = (estimate_evaluation(CASES, judge, also=ALSO, memory=memory, trial=trial) for trial in range(2))

    assert (again.least, again.most, again.questions, again.seconds) == (Estimate(), Estimate(), {}, (0, 0))
    assert (other.remembered, other.most) == (0, estimate_evaluation(CASES, judge, also=ALSO, memory=InMemory()).most)
    # repetitions are added
    both, twice = sum_estimates([again, other]), sum_estimates([other, other])
    assert (both.trials, both.cases, both.most, both.questions) == (2, 6, other.most, other.questions)
    assert both.remembered == again.remembered > 0
    assert twice.seconds == (2 * other.seconds[0], 2 * other.seconds[1])


def test_what_cases_have_in_common_is_asked_once_where_it_is_remembered() -> None:
    twins = [CASES[0], replace(CASES[0], id="twin")]
    memory, judge = InMemory(), by_rules("no")
    list(evaluate_sync(twins, Cached(judge, memory), also=ALSO))

    once = estimate_evaluation(twins, judge, also=ALSO, memory=InMemory())
    twice = estimate_evaluation(twins, judge, also=ALSO)

    assert once.most.requests == len(judge.asked)
    assert twice.most.requests == 2 * once.most.requests


def test_a_free_judge_costs_nothing() -> None:
    free = estimate_evaluation(CASES, EmbeddedJudge(), also=ALSO)

    assert (free.least, free.most, free.seconds) == (Estimate(), Estimate(), (0, 0))
    assert free.questions["facts"] == 15


def test_time_is_requests_by_concurrency_but_no_level_takes_less_than_a_request() -> None:
    one = estimate_evaluation(CASES[:1], Priced({}), concurrency=1, seconds_per_request=3)
    wide = estimate_evaluation(CASES[:1], Priced({}), concurrency=1000, seconds_per_request=3)

    assert one.seconds == (3 * one.least.requests, 3 * one.most.requests)
    # the query's questions; then the facts and the rest; then what hangs on facts or on a no
    assert wide.seconds == (9, 9)


def test_cases_are_read_as_a_stream() -> None:
    read = 0
    ahead: list[int] = []

    def cases() -> Iterator[Case]:
        nonlocal read
        for i in range(3 * AT_ONCE):
            read += 1
            yield case(i, sources=1)

    class Watching(Priced):
        def estimate(self, questions: Sequence[Question]) -> Estimate:
            ahead.append(read)
            return super().estimate(questions)

    assert estimate_evaluation(cases(), Watching({}), metrics=metrics_named(["groundedness"])).cases == 3 * AT_ONCE
    assert ahead[0] == AT_ONCE


def test_machines_get_numbers_in_a_stable_shape_and_an_unknown_price_stays_unknown() -> None:
    class Unpriced(Priced):
        def estimate(self, questions: Sequence[Question]) -> Estimate:
            return replace(super().estimate(questions), price=None)

    found = json.loads(json.dumps(estimate_evaluation(CASES, Unpriced({}), also=ALSO).as_json(), allow_nan=False))

    assert list(found) == ["cases", "trials", "least", "most", "shared", "questions", "remembered",
                           "concurrency", "seconds_per_request", "sampling"]  # fmt: skip
    assert set(found["least"]) == {"requests", "tokens_in", "tokens_out", "price", "seconds"}
    assert found["least"]["price"] is found["most"]["price"] is None
    assert found["shared"]["claims(response)"] == ["response_precision", "groundedness"]


def test_nothing_goes_wrong_unnoticed() -> None:
    class Broken(Priced):
        def estimate(self, questions: Sequence[Question]) -> Estimate:
            raise ValueError("no such number")

    class Unreadable(InMemory):
        def recall(self, keys: Sequence[bytes]) -> Mapping[bytes, Answer]:
            raise StoreError("the disk is gone")

    with pytest.raises(ValueError, match="no such number"):
        estimate_evaluation(CASES, Broken({}))
    with pytest.raises(StoreError):
        estimate_evaluation(CASES, Priced({}), memory=Unreadable())
    with pytest.raises(ConfigError, match="concurrency is 0"):
        estimate_evaluation(CASES, Priced({}), concurrency=0)

    async def in_a_loop() -> None:
        estimate_evaluation(CASES, Priced({}))

    with pytest.raises(ConfigError, match="event loop"):
        asyncio.run(in_a_loop())


@pytest.mark.parametrize("value", ["yes", "no"])
def test_what_hangs_on_a_yes_is_in_at_most_too(value: Answered) -> None:
    cited = "Ferry 1 leaves at noon [1]. It takes 9 cars [2][3]. It is blue [1].\n\nIn short, it is a ferry."
    cases = [replace(case(1), response=cited)]
    judge = by_rules(value)
    list(evaluate_sync(cases, judge, metrics=CITATIONS))

    found = estimate_evaluation(cases, by_rules("no"), metrics=CITATIONS)

    # a request a question: three segments that cite, two citations one by one, one in round two; four elsewhere
    assert (found.least.requests, found.most.requests) == (6, 10)
    assert found.least.requests <= len(judge.asked) <= found.most.requests


def test_a_sample_is_scaled_up_and_says_how_far_it_may_be_off() -> None:
    cases = [case(i, sources=1 + i % 3) for i in range(400)]
    exact = estimate_evaluation(cases, Priced({}), also=ALSO)
    drawn = Random(7).sample(cases, 200)

    found = estimate_evaluation(drawn, Priced({}), also=ALSO, sampled_from=400)

    assert exact.sampling is None
    assert found.sampling is not None
    assert found.cases == 400
    assert found.sampling.cases in {FEWEST, FEWEST + AT_ONCE, 200}
    assert 0 < found.sampling.error < 0.1
    for one, true in ((found.least, exact.least), (found.most, exact.most)):
        assert one.requests == pytest.approx(true.requests, rel=found.sampling.error)
        assert one.tokens_in == pytest.approx(true.tokens_in, rel=found.sampling.error)
        assert one.price == pytest.approx(true.price, rel=found.sampling.error)
    assert sum(found.questions.values()) == pytest.approx(sum(exact.questions.values()), rel=found.sampling.error)


def test_the_more_of_the_cases_a_sample_holds_the_less_it_may_be_off() -> None:
    drawn = [case(i, sources=1 + i % 3) for i in range(FEWEST)]
    half, of_very_many = (
        estimate_evaluation(drawn, Priced({}), also=ALSO, sampled_from=count).sampling for count in (2 * FEWEST, 10**9)
    )
    assert half is not None
    assert of_very_many is not None
    assert half.error == pytest.approx((of_very_many.error or 0.0) * 0.5**0.5)


def test_a_sample_of_equal_cases_is_exact_and_no_more_of_it_is_looked_at_than_needed() -> None:
    alike = [case(0)] * 400

    found = estimate_evaluation(alike, Priced({}), also=ALSO, sampled_from=1000)

    assert found.sampling == Sampling(FEWEST, 0.0)
    assert found.most.requests == 1000 * estimate_evaluation(alike[:1], Priced({}), also=ALSO).most.requests


def test_where_nothing_is_asked_about_a_sample_its_error_is_not_known() -> None:
    judge, memory = by_rules("yes"), InMemory()
    evaluated = [case(i) for i in range(200)]
    list(evaluate_sync(evaluated, Cached(judge, memory), also=ALSO))

    found = estimate_evaluation(evaluated, judge, also=ALSO, memory=memory, sampled_from=5000)

    assert (found.most, found.sampling) == (Estimate(), Sampling(200, None))
