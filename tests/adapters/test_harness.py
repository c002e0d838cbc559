"""The one evaluation that rows join, from threads, from coroutines, all at once; the run that keeps and shows it."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from judged_rows import BAD, GOOD, ROWS, SCORES, assert_reasons, scripted

import ragtriage
from ragtriage import ConfigError, FakeJudge, Stopped, Verdict, open_store
from ragtriage.adapters import harness as harness_module
from ragtriage.adapters.harness import Harness
from ragtriage.adapters.run_view import _printed
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer

METRICS = ["groundedness"]


pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.fixture
def judge() -> FakeJudge:
    return scripted()


@pytest.fixture
def harness(judge: FakeJudge) -> Iterator[Harness]:
    made = Harness("test", METRICS, {"judge": judge})
    yield made
    made.close()


def value(row: Any) -> float | None:
    return getattr(row.outcome("groundedness"), "value", None)


def test_a_row_is_told_what_it_rests_on(harness: Harness) -> None:
    judged = [harness.judged(row) for row in ROWS]

    assert [value(row) for row in judged] == list(SCORES)
    assert_reasons([row.why("groundedness") for row in judged])
    assert [row.passing("groundedness") for row in judged] == [True, False, None, None]
    assert judged[3].reason.startswith("failed: ")


def test_a_row_without_a_query_or_known_sources_is_undefined_with_the_reason(harness: Harness) -> None:
    judged = harness.judged({"answer": GOOD, "contexts": []})

    assert value(judged) is None
    assert 'fields={"query": "COLUMN"}' in judged.reason
    assert "--map" not in judged.reason
    assert "weren't recorded" in harness.judged({"question": "Why?", "answer": GOOD}).reason


def test_fields_name_where_texts_stand_and_nothing_is_kept_without_a_store(own_folder: Path, judge: FakeJudge) -> None:
    named = Harness("test", METRICS, {"judge": judge, "fields": {"sources": "docs[*].body"}, "store": None})

    row = {"question": "Why?", "answer": GOOD, "docs": [{"body": "Parcels take two days."}]}

    assert value(named.judged(row)) == 1.0
    assert [*own_folder.iterdir()] == []


def test_one_row_twice_is_judged_once_and_both_get_it(harness: Harness, judge: FakeJudge) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = [*threads.map(harness.judged, [ROWS[1]] * 8)]

    assert [value(row) for row in found] == [0.0] * 8
    assert len(judge.asked) == len(set(judge.asked))


def test_another_answer_is_another_row_also_where_a_loop_runs_already(harness: Harness) -> None:
    first, second = {**ROWS[0], "id": "a"}, {**ROWS[1], "id": "a"}
    assert [value(harness.judged(row)) for row in (first, second)] == [1.0, 0.0]

    async def notebook() -> list[Any]:
        blocking = harness.judged(ROWS[0])
        return [blocking, *(await asyncio.gather(*(harness.judged_beside(row) for row in ROWS[:2])))]

    assert [value(row) for row in asyncio.run(notebook())] == [1.0, 1.0, 0.0]


class Slow(FakeJudge):
    """Waits for ever on what it is told to, and remembers what was given up."""

    def __init__(self) -> None:
        super().__init__(lambda question: Verdict("yes"))
        self.given_up = threading.Event()

    async def ask(self, questions: Sequence[Question]) -> AsyncIterator[tuple[int, Answer]]:
        if any(question.subject == BAD for question in questions):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.given_up.set()
                raise
        for position, question in enumerate(questions):
            yield position, (ragtriage.Component(question.subject),) if question.kind == "claims" else Verdict("yes")


def test_a_row_that_is_given_up_takes_no_other_along() -> None:
    judge = Slow()
    slow = Harness("test", METRICS, {"judge": judge, "store": None})

    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(slow.judged, ROWS[0])
        with pytest.raises(TimeoutError):
            slow.judged(ROWS[1], timeout=0.2)
        assert judge.given_up.wait(5)
        assert value(other.result(5)) == 1.0
    assert value(slow.judged({**ROWS[0], "answer": "Yes."})) == 1.0


def test_a_row_that_somebody_else_waits_for_goes_on() -> None:
    judge = Slow()
    slow = Harness("test", METRICS, {"judge": judge, "store": None})

    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(slow.judged, ROWS[1], "", 2.0)
        time.sleep(0.2)
        with pytest.raises(TimeoutError):
            slow.judged(ROWS[1], timeout=0.2)
        assert not judge.given_up.is_set()
        with pytest.raises(TimeoutError):
            other.result(5)
    assert judge.given_up.wait(5)


def test_open_rows_fail_with_the_sentence_where_the_budget_is_reached() -> None:
    def stop(question: Question) -> Answer:
        raise Stopped("the budget of $1 is reached")

    stopped = Harness("test", METRICS, {"judge": FakeJudge(stop), "store": None})
    judged = [stopped.judged(row) for row in ROWS[:2]]

    assert [row.reason for row in judged] == ["failed: the budget of $1 is reached"] * 2


@pytest.mark.parametrize(
    ("metric", "options", "told"),
    [
        ("groundedness", {"judge": "nobody"}, "nobody"),
        (
            "groundedness",
            {"judge": "openai:gpt-5-mini"},
            r"OPENAI_API_KEY|\[openai\]",
        ),  # without the extra, what to install
        ("groundednes", {}, "did you mean groundedness"),
        ("groundedness", {"bugdet": 1}, "no option 'bugdet': take one of judge, budget"),
    ],
)
def test_what_cannot_be_used_is_told_when_the_evaluator_is_made(
    metric: str, options: Any, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    with pytest.raises(ConfigError, match=told):
        Harness("test", [metric], options)


def test_what_is_evaluated_is_a_stored_run_for_each_name(harness: Harness) -> None:
    for row in ROWS:
        harness.judged(row, "before")
    harness.judged(ROWS[0], "after")
    harness.close()

    with open_store(create=False) as store:
        after, before = store.runs()
        assert [(info.input, info.rows, info.done, info.state) for info in (before, after)] == [
            ("test: before", 4, 3, "finished"),
            ("test: after", 1, 1, "finished"),
        ]
        texts = {record.case.response for record in store.run(before.number).records()}
    assert texts == {row["answer"] for row in ROWS}
    with pytest.raises(ragtriage.NotStoredError):
        ragtriage.open_run("last")  # which is never one of a harness
    assert ragtriage.open_run(1).number == 1


def test_a_run_is_readable_while_nothing_is_in_flight_and_goes_on(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness_module, "IDLE", 0.05)
    for row in ROWS[:2]:
        harness.judged(row)
        time.sleep(0.4)
        with open_store(create=False) as store:
            (info,) = store.runs()
            assert info.state == "finished"

    assert (info.rows, info.done) == (2, 2)


def test_a_harness_that_is_collected_as_garbage_in_its_own_thread_ends(harness: Harness) -> None:
    harness.judged(ROWS[0])

    harness._evaluation._loop.call_soon_threadsafe(harness.close)
    harness._evaluation._thread.join(5)

    assert not harness._evaluation._thread.is_alive()
    with open_store(create=False) as store:
        assert [info.state for info in store.runs()] == ["finished"]


def test_rows_that_cannot_be_used_are_told_with_the_run(harness: Harness) -> None:
    harness.judge_rows([ROWS[0], {"answer": GOOD}, {"answer": BAD}])
    harness.close()

    with open_store(create=False) as store:
        assert [row.row for row in store.run(1).rejected()] == [2, 3]


def test_known_answers_are_judged_first_and_kept_when_they_are_asked_for(judge: FakeJudge) -> None:
    known = Harness("test", METRICS, {"judge": judge, "before": ROWS})
    asked = len(judge.asked)
    assert asked

    assert [value(known.judged(row)) for row in ROWS[:2]] == [1.0, 0.0]
    known.close()

    assert judge.asked[asked:] == []
    with open_store(create=False) as store:
        assert [info.rows for info in store.runs()] == [2]


def test_a_store_that_cannot_be_written_fails_rows_and_asks_no_more(
    harness: Harness, judge: FakeJudge, tmp_path: Path
) -> None:
    harness.judged(ROWS[0])
    for file in (tmp_path / ".ragtriage").iterdir():
        file.unlink()
    texts = [{**ROWS[1], "answer": f"{BAD} {i}"} for i in range(80)]
    reasons = [row.reason for row in harness.judge_rows(texts)]

    assert all(reason.startswith("failed: ") for reason in reasons)
    asked = len(judge.asked)
    assert "runs.sqlite was deleted, moved or replaced" in harness.judged({**ROWS[1], "answer": "Late."}).reason
    assert len(judge.asked) == asked
    with pytest.raises(ragtriage.StoreError):
        harness.close()


def test_rows_that_are_interrupted_leave_a_run_that_is_no_whole_one() -> None:
    interrupted = Harness("test", METRICS, {"judge": Slow()}, made_by=None)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()

    with pytest.raises(KeyboardInterrupt):
        interrupted.judge_rows(ROWS)
    signal.signal(signal.SIGINT, before)
    interrupted.close()

    with open_store(create=False) as store:
        assert [info.state for info in store.runs()] == ["interrupted"]


def test_a_judge_is_let_go_of_where_nothing_is_kept(judge: FakeJudge, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    monkeypatch.setattr(harness_module.BuiltJudge, "close", lambda _: closed.append("judge"))
    unkept = Harness("test", METRICS, {"judge": judge, "store": None})
    unkept.close()

    assert closed == ["judge"]


# -- a stored run, a case and a comparison, as a notebook shows them


HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def runs(own_folder: Path) -> tuple[int, int]:
    for answers in (("Parcels take two days.", HOSTILE), ("Parcels take a year.", HOSTILE)):
        harness = Harness("test", ["groundedness"], {"judge": scripted()}, made_by=None)
        harness.judge_rows([{**ROWS[0], "question": f"Q{at}?", "answer": text} for at, text in enumerate(answers)])
        harness.close()
    return 1, 2


def test_a_run_shows_its_numbers_and_worst_cases(runs: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    run = ragtriage.open_run()
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)  # where it would display what it prints
    shown = run._repr_html_()

    assert not _printed([]).is_jupyter
    assert run.number == runs[1]
    assert "2 cases" in repr(run)
    assert "Grounded" in shown
    assert shown.startswith("<pre")
    assert "<script" not in shown
    compared = run.compare(runs[0])
    assert "Grounded" in compared._repr_html_()
    assert "Grounded" in repr(compared)


def test_a_case_shows_its_texts_and_none_of_them_as_html(runs: tuple[int, int]) -> None:
    run = ragtriage.open_run(runs[0])
    case_id = next(record.case.id for record in run.stored.records() if record.case.response == HOSTILE)

    shown = run.case(case_id)._repr_html_()

    assert "&lt;img src=x" in shown
    assert "<img" not in shown
    assert case_id in repr(run.case(case_id))
    with pytest.raises(ragtriage.NotStoredError, match="holds no case"):
        run.case("nope")


def test_a_run_that_is_not_there_is_told(own_folder: Path) -> None:
    with pytest.raises(ragtriage.NotStoredError):
        ragtriage.open_run()
    assert [*own_folder.iterdir()] == []
