"""A run that ended too early goes on where it stopped; a finished one is followed by a new one."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from itertools import islice
from pathlib import Path

import pytest
from stored_cases import answer, begun, case, ended, evaluated, fails, identity_of

from forked import Child
from places import Place
from ragtriage.core.errors import StoreError
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.wrappers.cached import Cached
from ragtriage.metrics import THELMA
from ragtriage.store import open_answers, open_store
from ragtriage.store.lease import STALE, Heartbeat, LeaseLostError, here
from ragtriage.store.tables import InputScan

CASES = [case(i) for i in range(150)]


@pytest.fixture
def store(place):
    with open_store(place) as opened:
        yield opened


def surveyed(store, cases, file="a.jsonl"):
    survey = InputScan(store.database, file, store.project)
    for one in cases:
        survey.add(one)
    return survey


def changed(place, **values):
    place.sql(f"update runs set {', '.join(f'{name} = ?' for name in values)}", *values.values())


def test_an_interrupted_run_goes_on_with_what_is_left(store):
    with begun(store, CASES) as run:  # left without finish(), as by Ctrl-C
        for record in islice(evaluated(run.todo(CASES)), 100):
            run.keep(record)
    info = store.run().info
    assert (info.state, info.done, info.rows) == ("interrupted", 100, 150)
    assert store.unfinished(identity_of(CASES)) == info.number
    judge = FakeJudge(answer)
    with store.resume(info.number) as run:
        left = list(run.todo(CASES))
        assert len(left) == 50
        for record in evaluate_sync(run.todo(CASES), judge, metrics=THELMA):
            run.keep(record)
        run.finish()
    assert store.unfinished(identity_of(CASES)) is None
    assert [record.case for record in store.run().records()] == CASES
    assert store.run().info.complete
    done = {one.response for one in CASES} - {one.response for one in left}
    assert not [question for question in judge.asked if question.subject in done]


def test_a_failed_case_is_tried_again(store):
    run = ended(begun(store, CASES[:6]), CASES[:6], FakeJudge(fails))
    with store.resume(run.number) as run:
        assert [one.id for one in run.todo(CASES[:6])] == ["case 3"]


def test_another_identity_is_another_run_and_a_number_is_never_given_twice(store, place):
    begun(store, CASES).interrupt()
    for other in (identity_of(CASES[1:]), identity_of(CASES[::-1]), identity_of(CASES, version="2")):
        assert store.unfinished(other) is None
    assert store.unfinished(identity_of(CASES)) == 1
    place.sql("delete from runs")
    assert begun(store, CASES).number == 2


def test_rows_that_changed_since_the_last_finished_run_are_counted(store):
    assert surveyed(store, CASES).changed_since_last() is None
    with begun(store, CASES) as run:
        for record in evaluated(run.todo(CASES)):
            run.keep(record)
        assert surveyed(store, CASES).last_run is None
        run.finish()
    again = surveyed(store, CASES)
    assert (again.last_run, again.rows, again.changed_since_last()) == (1, 150, 0)
    assert again.hexdigest() == identity_of(CASES).rows
    other = [case(i, response="It is nine.") if i % 3 == 0 else case(i) for i in range(160)]
    assert surveyed(store, other).changed_since_last() == 50 + 10
    assert surveyed(store, CASES[:20]).changed_since_last() == 0
    assert surveyed(store, CASES, "b.jsonl").changed_since_last() is None


def test_a_new_run_asks_nothing_that_is_remembered(store):
    for expected in (True, False):
        judge = FakeJudge(answer)
        with begun(store, CASES[:10]) as run, open_answers(store.database) as answers:
            for _ in evaluate_sync(run.todo(CASES[:10]), Cached(judge, answers), metrics=THELMA, sink=run):
                pass
            run.finish()
        assert bool(judge.asked) is expected
    one, two = (list(store.run(number).records()) for number in (1, 2))
    assert [record.outcomes for record in one] == [record.outcomes for record in two]


def test_answers_outlive_the_memory_object_and_durable_ones_a_kill(place):
    with open_answers(place) as answers:
        list(evaluate_sync(CASES[:2], Cached(FakeJudge(answer), answers)))
    judge = FakeJudge(answer)
    with open_answers(place) as answers:
        list(evaluate_sync(CASES[:2], Cached(judge, answers)))
        assert judge.asked == []
        list(evaluate_sync(CASES[2:3], Cached(FakeJudge(answer), answers, durable=True)))
        with open_answers(place) as other:
            list(evaluate_sync(CASES[2:3], Cached(judge, other)))
    assert judge.asked == []


WRITER = textwrap.dedent(
    """
    import sys, time
    from stored_cases import CASES_FOR_THE_KILL, answer, identity_of
    from ragtriage.evaluation.engine import evaluate_sync
    from ragtriage.judges.fake import FakeJudge
    from ragtriage.judges.wrappers.cached import Cached
    from ragtriage.metrics import THELMA
    from ragtriage.store import Answers, open_store

    cases = CASES_FOR_THE_KILL
    with open_store(sys.argv[1]) as store:
        run = store.begin(identity_of(cases), input="a.jsonl", rows=len(cases), judge="fake")
        judge = Cached(FakeJudge(answer), Answers(store.database), durable=True)
        for count, record in enumerate(evaluate_sync(run.todo(cases), judge, metrics=THELMA, sink=run)):
            print(count, flush=True)
            time.sleep(0.002)
    """
)


def killed_writer(place: Place) -> None:
    """Begin a run in another process, and kill it after 120 records."""
    with Child(place, folder=Path(__file__).parent, code=WRITER) as process:
        next(line for line in process.stdout if int(line) >= 120)
        process.kill()
        assert process.wait() == -signal.SIGKILL


def test_after_kill_9_the_same_command_goes_on(place):
    killed_writer(place)
    with open_store(place) as store:
        number = store.unfinished(identity_of(CASES))
        info = store.run(number).info
        assert (number, info.state) == (1, "running")
        assert 70 <= info.done < 150  # of 120, at most one transaction's fifty are lost
        judge = FakeJudge(answer)
        with store.resume(number) as run, open_answers(store.database) as answers:
            left = list(run.todo(CASES))
            assert len(left) == 150 - info.done
            for _ in evaluate_sync(run.todo(CASES), Cached(judge, answers), metrics=THELMA, sink=run):
                pass
            run.finish()
        assert [record.case for record in store.run().records()] == CASES
        expected = {record.case.id: record.outcomes for record in evaluated(CASES)}
        assert all(record.outcomes == expected[record.case.id] for record in store.run().records())
        every = FakeJudge(answer)
        list(evaluated(left, every))
        # those in flight when it was killed had been answered, and kept, too: nothing is asked twice
        assert len(judge.asked) < len(set(every.asked))


def test_a_run_that_another_writer_has_is_refused(store, place):
    run = begun(store, CASES)
    with pytest.raises(StoreError, match=f"by process {os.getpid()} on"):
        store.resume(1)
    changed(place, owner="other", owner_host="elsewhere", owner_pid=4711)
    with pytest.raises(StoreError, match=r"run 1 is being written by process 4711 on elsewhere \(last sign of life \d"):
        store.resume(1)
    with pytest.raises(StoreError, match="taken over"):
        run.finish()


def test_a_writer_without_a_sign_of_life_is_replaced_and_notices(store, place):
    run = begun(store, CASES)
    record = next(evaluated(CASES[:1]))
    changed(place, owner="other", owner_host="elsewhere", owner_pid=4711, heartbeat=time.time() - STALE - 1)
    with store.resume(1) as other:
        run.keep(record)
        with pytest.raises(StoreError, match="run 1 was taken over by another process"):
            run.flush()
        other.keep(record)
        other.finish()
    assert list(store.run().records()) == [record]
    with pytest.raises(StoreError, match="taken over"):
        run.interrupt()


def test_a_dead_process_of_this_host_is_replaced_at_once_and_one_of_another_machine_or_start_is_not(store, place):
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()  # nobody has its number here
    run, (name, _, mark) = begun(store, CASES), here().partition(" ")
    for other in (name, f"{name} another-start", f"elsewhere {mark}"):
        changed(place, owner="other", owner_host=other, owner_pid=process.pid, heartbeat=time.time())
        with pytest.raises(StoreError, match=f"run 1 is being written by process {process.pid} on "):
            store.resume(1)
    changed(place, owner_host=here())
    store.resume(1).interrupt()
    with pytest.raises(StoreError, match="taken over"):
        run.interrupt()


def test_a_heart_beats_until_it_is_stopped_and_tells_of_an_error():
    beats: list[float] = []
    heart = Heartbeat(lambda: beats.append(time.monotonic()), seconds=0.01)
    while len(beats) < 3:
        time.sleep(0.01)
    heart.check()
    heart.stop()
    count = len(beats)
    time.sleep(0.03)
    assert len(beats) == count

    errors = [LeaseLostError("it was taken over"), StoreError("it is locked for a moment")]

    def disturbed() -> None:
        raise errors.pop()

    heart = Heartbeat(disturbed, seconds=0.01)
    while errors:
        heart.check()
        time.sleep(0.01)
    time.sleep(0.05)
    with pytest.raises(StoreError, match="taken over"):
        heart.check()
    heart.stop()


def test_closing_the_store_marks_what_was_not_finished(place):
    with open_store(place) as store:
        run = begun(store, CASES)
        run.keep(next(evaluated(CASES[:1])))
    with open_store(place) as store:
        info = store.run().info
    assert (info.state, info.done) == ("interrupted", 1)
