"""The orchestration: streaming in bounded memory, each question once, failures kept apart, one sync door."""

import asyncio
import gc
import logging
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from zlib import crc32

import pytest

from ragtriage import RULES, ConfigError, FakeJudge, JudgeError, StoreError, evaluate, evaluate_sync, needs_of
from ragtriage.core.case import Case, Record, Source, Turn
from ragtriage.core.questions import DECOMPOSITIONS, Kind, Question
from ragtriage.core.verdicts import Answer, Component, Components, Failure, Score, Undefined, Verdict
from ragtriage.diagnosis.findings import BY_CONVERSATION, declined, diagnose
from ragtriage.diagnosis.headline import UNDETERMINED, component_of
from ragtriage.diagnosis.rules import thresholds_with
from ragtriage.metrics import THELMA, metrics_named

YES = Verdict("yes", 0.9, 0.9)
NO = Verdict("no", 0.1, 0.9)


def agreeable(question: Question) -> Answer:
    """Every text is one component, everything holds and nothing is said twice."""
    if question.kind in DECOMPOSITIONS:
        return (Component(question.subject, (0, len(question.subject))),)
    return NO if question.kind in {"similarity", "declines"} else YES


def case(i: int, sources: tuple[str, ...] = ("It costs 5 euros.", "It floats.")) -> Case:
    return Case(f"c{i}", f"What does number {i} cost?", tuple(map(Source, sources)), f"Number {i} costs 5 euros.")


def kinds(judge: FakeJudge) -> Counter[Kind]:
    return Counter(question.kind for question in judge.asked)


def values(record: Record) -> dict[str, float | str]:
    return {name: o.value if isinstance(o, Score) else o.reason for name, o in record.outcomes.items()}


class Kept:
    """A sink that remembers what it kept."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def keep(self, record: Record) -> None:
        """Remember one."""
        self.records.append(record)


@pytest.mark.parametrize("window", [1, 7, 64])
def test_no_more_cases_than_the_window_are_read_ahead_however_long_the_input_is(window: int) -> None:
    started = done = most = 0

    def cases() -> Iterator[Case]:
        nonlocal started, most
        for i in range(500):
            started += 1
            most = max(most, started - done)
            yield case(i)

    for _ in evaluate_sync(cases(), FakeJudge(agreeable), metrics=metrics_named(["groundedness"]), window=window):
        done += 1

    assert done == 500
    assert most == window


def test_records_come_out_before_the_input_ends() -> None:
    read: list[int] = []

    def endless() -> Iterator[Case]:
        i = 0
        while True:
            read.append(i)
            yield case(i)
            i += 1

    records = evaluate_sync(endless(), FakeJudge(agreeable), window=4)
    first = [next(records).case.id for _ in range(10)]
    records.close()  # type: ignore[attr-defined]  # a generator

    assert len(set(first)) == 10
    assert len(read) <= 14


def test_a_ctrl_c_in_the_moment_in_which_a_record_comes_is_a_ctrl_c() -> None:
    class Interrupting:
        def keep(self, record: Record) -> None:
            asyncio.get_running_loop().call_soon(self.interrupt)

        def interrupt(self) -> None:
            raise KeyboardInterrupt

    records = evaluate_sync([case(0)], FakeJudge(agreeable), sink=Interrupting())

    with pytest.raises(KeyboardInterrupt):
        list(records)


def test_a_case_that_is_done_does_not_wait_for_a_slow_one() -> None:
    class SlowOnce(FakeJudge):
        async def ask(self, questions):
            if any("number 0 " in question.subject.lower() for question in questions):
                await asyncio.sleep(0.2)
            async for found in super().ask(questions):
                yield found

    records = evaluate_sync(map(case, range(5)), SlowOnce(agreeable), metrics=metrics_named(["groundedness"]), window=2)

    assert [record.case.id for record in records][-1] == "c0"


def failing(kind: Kind) -> Callable[[Question], Answer]:
    """Answers, but that questions of a kind about number 1 take too long."""

    def answer(question: Question) -> Answer:
        if question.kind == kind and "Number 1 " in question.subject:
            raise TimeoutError("no answer after 30 s")
        return agreeable(question)

    return answer


def of_the_wrong_form(question: Question) -> Answer:
    if "number 1 " not in question.subject.lower():
        return agreeable(question)
    empty: Components = ()
    return YES if question.kind in DECOMPOSITIONS else empty


class Crashing(FakeJudge):
    """Its connection breaks at some questions."""

    async def ask(self, questions):
        """See `Judge`."""
        if any("number 1 " in question.subject for question in questions):
            raise ConnectionResetError("connection reset")
        async for found in super().ask(questions):
            yield found


class Silent(FakeJudge):
    """It leaves some questions out."""

    async def ask(self, questions):
        """See `Judge`."""
        async for position, answer in super().ask(questions):
            if questions[position].kind != "supported" or "Number 1 " not in questions[position].subject:
                yield position, answer


ALL_SCORES = frozenset(metric.name for metric in THELMA)


@pytest.mark.parametrize(
    ("judge", "names", "reason"),
    [
        (FakeJudge(failing("supported")), {"groundedness"}, "no answer after 30 s"),
        (FakeJudge(failing("claims")), {"groundedness", "response_precision"}, "failed to split the response"),
        (FakeJudge(of_the_wrong_form), ALL_SCORES, ""),
        (Crashing(agreeable), ALL_SCORES, "connection reset"),
        (Silent(agreeable), {"groundedness"}, "gave no answer"),
    ],
)
def test_a_question_that_fails_fails_the_scores_that_need_it_and_no_other(
    judge: FakeJudge, names: frozenset[str], reason: str
) -> None:
    records = {record.case.id: record for record in evaluate_sync(map(case, range(3)), judge)}

    failed = {name: o for name, o in records["c1"].outcomes.items() if isinstance(o, Undefined) and o.failed}
    assert failed.keys() >= names
    assert all(reason in outcome.reason for outcome in failed.values())
    if names != ALL_SCORES:
        assert isinstance(records["c1"].outcomes["source_precision"], Score)
    assert all(isinstance(o, Score) for name in ("c0", "c2") for o in records[name].outcomes.values())


def test_a_case_that_crashes_costs_only_itself() -> None:
    def language(one: Case) -> str:
        if one.id == "c1":
            raise RecursionError("too deep")
        return "en"

    async def collect() -> list[Record]:
        return [r async for r in evaluate(map(case, range(3)), FakeJudge(agreeable), language=language)]

    records = {record.case.id: record for record in asyncio.run(collect())}

    assert all(isinstance(o, Undefined) and o.failed for o in records["c1"].outcomes.values())
    assert "RecursionError: too deep" in str(records["c1"].outcomes["groundedness"])
    assert all(isinstance(o, Score) for name in ("c0", "c2") for o in records[name].outcomes.values())


@pytest.mark.parametrize("works", [True, False])
def test_a_judge_that_cannot_work_ends_the_evaluation_and_what_was_yielded_is_kept(
    caplog: pytest.LogCaptureFixture, works: bool
) -> None:
    def answer(question: Question) -> Answer:
        if not works or "number 7 " in question.subject:
            raise JudgeError("the key is refused")
        return agreeable(question)

    sink = Kept()
    records = evaluate_sync(map(case, range(20)), FakeJudge(answer), sink=sink, window=3)
    with caplog.at_level(logging.ERROR), pytest.raises(JudgeError, match="the key is refused"):
        all(sink.records[-1] is record for record in records)  # each is kept before it is yielded

    kept = {record.case.id for record in sink.records}
    assert kept >= {f"c{i}" for i in range(5)} if works else not kept
    assert "c7" not in kept
    gc.collect()
    assert caplog.records == []


def test_a_sink_or_a_memory_that_is_full_ends_the_evaluation() -> None:
    class Full(FakeJudge):
        def keep(self, record: Record) -> None:
            raise StoreError("the disk is full")

        async def ask(self, questions):
            raise StoreError("the disk is full")
            yield 0, YES

    for judge, sink in ((FakeJudge(agreeable), Full(agreeable)), (Full(agreeable), None)):
        with pytest.raises(StoreError, match="disk is full"):
            list(evaluate_sync(map(case, range(3)), judge, sink=sink))


def test_a_store_that_failed_is_told_though_the_judge_stops_afterwards() -> None:
    class FullThenStopped(FakeJudge):
        def keep(self, record: Record) -> None:
            full.set()
            raise StoreError("the disk is full")

        async def ask(self, questions):
            if any("stop" in (question.subject, question.query) for question in questions):
                await full.wait()
                raise JudgeError("the budget is spent")
            async for found in super().ask(questions):
                yield found

    full, judge = asyncio.Event(), FullThenStopped(agreeable)
    with pytest.raises(StoreError, match="disk is full"):
        list(evaluate_sync([case(0), replace(case(1), query="stop")], judge, sink=judge))


def test_equal_questions_are_asked_once_a_case() -> None:
    judge = FakeJudge(agreeable)
    twice = Case("c", "What does it cost?", (Source("It costs 5."), Source("It costs 5.")), "It costs 5.")

    (record,) = evaluate_sync([twice], judge, metrics=metrics_named(["source_precision", "fact_precision"]))

    assert max(Counter(judge.asked).values()) == 1
    outcome = record.outcomes["source_precision"]
    assert isinstance(outcome, Score)
    assert outcome.judged == 2


def test_metrics_that_need_the_same_step_share_it() -> None:
    together, claims_only, needed_only = (FakeJudge(agreeable) for _ in range(3))
    list(evaluate_sync([case(0)], claims_only, metrics=metrics_named(["groundedness"])))
    list(evaluate_sync([case(0)], needed_only, metrics=metrics_named(["response_precision"])))

    list(evaluate_sync([case(0)], together, metrics=metrics_named(["groundedness", "response_precision"])))

    assert kinds(together) == {"claims": 1, "questions": 1, "supported": 1, "essential": 1}
    assert len(together.asked) == len(claims_only.asked) + len(needed_only.asked) - 1


@pytest.mark.parametrize(
    ("single", "together"),
    [
        ({"Cost?": True, "Owner?": True}, []),
        ({"Cost?": True, "Owner?": False}, ["Owner?"]),
        ({"Cost?": False, "Owner?": False}, ["Cost?", "Owner?"]),
    ],
)
def test_the_whole_source_set_is_asked_only_about_what_no_single_source_answers(
    single: dict[str, bool], together: list[str]
) -> None:
    def answer(question: Question) -> Answer:
        if question.kind == "questions":
            return tuple(Component(text) for text in single)
        if question.kind == "answered" and len(question.evidence) == 1:
            return YES if single[question.subject] and question.evidence == ("It costs 5 euros.",) else NO
        return agreeable(question)

    judge = FakeJudge(answer)
    (record,) = evaluate_sync([case(0)], judge, metrics=metrics_named(["source_query_coverage"]))

    assert [q.subject for q in judge.asked if len(q.evidence) == 2] == together
    assert sum(len(q.evidence) == 1 for q in judge.asked) == 4
    assert values(record) == {"source_query_coverage": 1.0}


@pytest.mark.parametrize(
    ("answered", "declines", "refused"),
    [
        (YES, YES, False),
        (NO, YES, True),
        (NO, NO, False),
        (Verdict("unknown"), YES, True),
        (NO, Verdict("unknown"), None),
        (NO, Failure("no reply"), None),
        (YES, Failure("no reply"), False),
    ],
)
def test_a_response_declines_only_where_a_sub_question_is_unanswered(
    answered: Verdict, declines: Answer, refused: bool | None
) -> None:
    def answer(question: Question) -> Answer:
        if question.kind == "declines":
            return declines
        if question.kind == "answered" and question.evidence == ("Number 0 costs 5 euros.",):
            return answered
        return agreeable(question)

    judge = FakeJudge(answer)
    (record,) = evaluate_sync([case(0)], judge, also=needs_of(RULES))

    assert kinds(judge)["declines"] == 1
    assert declined(record) is refused
    if refused is None:
        assert component_of(record, diagnose(record, thresholds_with({}))) == UNDETERMINED


TALK = (Turn("user", "I'd like to take the ferry."), Turn("assistant", "Bikes travel free on it."))


def test_claims_that_only_the_conversation_supports_are_told_apart() -> None:
    def answer(question: Question) -> Answer:
        if question.kind == "supported":
            return YES if any("Bikes" in text for text in question.evidence) else NO
        if question.kind == "standalone":
            return (Component(question.subject),)
        return agreeable(question)

    spoken = replace(case(0), history=TALK)
    (record,) = evaluate_sync([spoken], FakeJudge(answer), also=needs_of(RULES))
    findings = diagnose(record, thresholds_with({}))

    assert values(record)["groundedness"] == 0.0
    assert {e.fault for f in findings for e in f.evidence if e.metric == "groundedness"} == {BY_CONVERSATION}
    assert not any(f.sure for f in findings if "groundedness" in f.scores)


def test_what_other_cases_wait_for_comes_in_before_an_error_ends_the_evaluation() -> None:
    def answer(question: Question) -> Answer:
        if "refuse" in question.subject:
            raise JudgeError("the budget is spent")
        return agreeable(question)

    judge = FakeJudge(answer, delay=0.0)
    kept: list[str] = []
    records = evaluate_sync([replace(case(0), query="refuse"), case(1), case(2)], judge)
    with pytest.raises(JudgeError, match="budget"):
        kept.extend(record.case.id for record in records)

    assert sorted(kept) == sorted([case(1).id, case(2).id])


def test_a_language_that_the_judge_was_not_measured_on_is_undefined_with_its_reason_and_nothing_is_asked() -> None:
    judge = FakeJudge(agreeable, cannot={"ja": "not measured on Japanese"})

    async def collect() -> list[Record]:  # inside a running event loop
        return [r async for r in evaluate([case(0)], judge, language=lambda _: "ja")]

    (record,) = asyncio.run(collect())

    assert set(record.outcomes.values()) == {Undefined("not measured on Japanese")}
    assert (record.language, judge.asked) == ("ja", [])


@pytest.mark.parametrize("seed", range(5))
def test_neither_the_order_of_sources_nor_of_answers_changes_a_score(seed: int) -> None:
    texts = [f"Source {i} says something." for i in range(6)]

    def answer(question: Question) -> Answer:
        if question.kind in DECOMPOSITIONS:
            return agreeable(question)
        texts_read = " ".join((question.subject, *sorted(question.evidence), question.query))
        return (YES, NO, Verdict("unknown"))[crc32(texts_read.encode()) % 3]

    shuffled = texts[:]
    random.Random(seed).shuffle(shuffled)  # an order, not a secret
    (plain,) = evaluate_sync([case(0, tuple(texts))], FakeJudge(answer))
    (other,) = evaluate_sync([case(0, tuple(shuffled))], FakeJudge(answer, shuffled=seed))

    assert values(plain) == values(other)


def test_the_sync_door_refuses_a_running_event_loop_and_an_empty_window_and_says_what_to_use() -> None:
    async def main() -> list[Record]:
        return list(evaluate_sync([case(0)], FakeJudge(agreeable)))

    with pytest.raises(ConfigError, match="async for record in evaluate"):
        asyncio.run(main())
    with pytest.raises(ConfigError, match="window is 0"):
        list(evaluate_sync([case(0)], FakeJudge(agreeable), window=0))
    assert list(evaluate_sync([], FakeJudge(agreeable))) == []


def test_the_sync_door_works_in_a_thread_of_its_own() -> None:
    found: list[Record] = []

    def work() -> None:
        found.extend(evaluate_sync(map(case, range(3)), FakeJudge(agreeable)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(timeout=30)

    assert len(found) == 3


def test_leaving_early_cancels_what_is_in_flight() -> None:
    judge = FakeJudge(agreeable, delay=0.001)
    records = evaluate_sync(map(case, range(1000)), judge, window=8)
    next(records)

    records.close()  # type: ignore[attr-defined]  # a generator

    assert len({question.query for question in judge.asked}) < 50


def test_an_interruption_in_the_middle_of_a_step_is_raised_and_leaves_nothing_in_flight() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    class Waiting(FakeJudge):
        left = 0

        async def ask(self, questions):
            asyncio.get_running_loop().call_later(0.01, interrupt)
            try:
                await asyncio.sleep(60)
                yield 0, YES
            finally:
                self.left += 1

    judge = Waiting(agreeable)

    with pytest.raises(KeyboardInterrupt):
        list(evaluate_sync([case(0)], judge))
    assert judge.left == 1
