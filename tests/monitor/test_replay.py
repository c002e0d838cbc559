"""Files become windows, windows move detectors, detectors open alarms; nothing is judged twice."""

import json
import signal
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from watched import CONFIG, answer, fake, row, steady, watched

from cli_rows import written
from forked import Child
from places import Place
from ragtriage.cli.watch_output import detector_lines
from ragtriage.core.case import LEAST_WEIGHT
from ragtriage.core.errors import ConfigError, NotStoredError, Stopped, StoreError
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer
from ragtriage.execution.evaluate_file import evaluate_file
from ragtriage.judges.fake import FakeJudge
from ragtriage.monitor.alarms import close_alarm, open_alarms, watching
from ragtriage.monitor.lots import KeepRule, Lots
from ragtriage.monitor.replay import WatchOptions
from ragtriage.monitor.windows import Keeping, WindowSize
from ragtriage.readers import open_cases
from ragtriage.runs.run import MADE_BY
from ragtriage.store import Store, open_store
from ragtriage.store.checking import check_store
from ragtriage.store.forgetting import cases_with_texts

STEADY = [row(i, steady(i)) for i in range(104)]
FALLEN = [*STEADY, *(row(i, "ynnn") for i in range(104, 144))]
OF_50 = WatchOptions(size=WindowSize(cases=50), apart=1000)


def judged_as_baseline(store: Store, path: Path, judge: Any = None) -> str:
    """A run of a file; its number."""
    found = evaluate_file(open_cases(path), judge or fake(), store, CONFIG)
    return str(found.first.stored.number)


def kept_in(place: Place | Path) -> dict[str, Any]:
    """What a watch has left in a store, but for when and how long."""
    there = place if isinstance(place, Place) else Place(str(place))
    found = {name: there.rows(name) for name in ("watches", "windows", "detectors", "alarms", "cases", "scores")}
    for one in found["cases"]:
        del one["seconds"]
    return {name: sorted(rows, key=lambda one: json.dumps(one, default=repr)) for name, rows in found.items()}


def test_windows_are_runs_with_their_bounds_beside_them(store, tmp_path):
    path = written(tmp_path / "t.jsonl", STEADY[:20])
    result = watched(store, path, options=WatchOptions(size=WindowSize(seconds=3600)))
    assert [(one.row.run, one.row.arrivals, one.row.drawn, one.row.counted) for one in result.windows] == [
        (1, 6, 6, 6), (2, 6, 6, 6), (3, 6, 6, 6), (4, 2, 2, 2),
    ]  # fmt: skip
    info = store.run(2).info
    assert (info.configuration[MADE_BY], info.state, info.rows, info.done) == ("watch: traffic", "finished", 6, 6)
    assert [record.case.id for record in store.run(2).records()] == [f"r{i}" for i in range(6, 12)]
    assert store.means([1])[1]["groundedness"] == pytest.approx((1 + 0.75 + 1 + 0.5 + 1 + 1) / 6)
    assert check_store(store.database).sound
    assert not result.incomplete
    assert result.watch.gathered is not None
    assert len(result.watch.gathered) == 20


def test_a_fall_opens_an_alarm_that_says_what_fell_since_when_and_why(store, tmp_path):
    run = judged_as_baseline(store, written(tmp_path / "b.jsonl", STEADY))
    unchanged = [row(i, steady(i)) for i in range(104, 204)]
    options = replace(OF_50, baseline=(run,), name="unchanged")
    result = watched(store, written(tmp_path / "u.jsonl", unchanged), options=options)
    assert result.alarms == ()
    assert {one.cases for one in result.watch.detectors.values()} == {100}
    result = watched(store, written(tmp_path / "t.jsonl", FALLEN), options=replace(OF_50, baseline=(run,)))
    assert result.watch.threshold == 3000
    alarm = next(alarm for alarm in result.alarms if alarm.row.metric == "groundedness")
    assert row(95)["time"] < str(alarm.since) < row(106)["time"]
    # the third window has 4 steady cases, and then those with .25
    steady_ones = sum(steady(i).count("y") / 4 for i in range(100, 104))
    assert alarm.row.run == 6
    assert alarm.mean == pytest.approx((steady_ones + 0.25 * (alarm.n - 4)) / alarm.n)
    assert alarm.low < alarm.mean < alarm.high
    assert alarm.baseline == pytest.approx(0.875)
    assert alarm.baseline_low < alarm.baseline < alarm.baseline_high
    assert set(alarm.worst) <= {f"r{i}" for i in range(104, 144)}
    assert alarm.as_json()["worst"] == alarm.worst


def test_without_a_named_baseline_the_first_cases_are_it(store, tmp_path):
    result = watched(store, written(tmp_path / "t.jsonl", FALLEN), options=replace(OF_50, first=60))
    assert WatchOptions().first == 500
    assert result.watch.baseline == "the first 60 drawn cases"
    detector = result.watch.detectors["groundedness", ""]
    assert detector.baseline.cases == 60
    assert result.alarms[0].row.metric == "groundedness"
    assert detector.cases < 84  # it stands still from the alarm on
    assert result.watch.detectors["failing", ""].cases + 60 <= 144


def test_the_same_file_again_judges_nothing_and_one_that_has_grown_goes_on(store, tmp_path):
    path = written(tmp_path / "a.jsonl", STEADY[:70])
    first = watched(store, path, options=OF_50)
    before = kept_in(Path(store.where).parent)
    judge = fake()
    again = watched(store, path, judge=judge, options=OF_50)
    assert judge.asked == []
    assert [(one.before, one.row) for one in again.windows] == [(True, one.row) for one in first.windows]
    assert kept_in(Path(store.where).parent) == before

    result = watched(store, written(path, STEADY[:104]), judge=judge, options=OF_50)
    assert [(one.row.run, one.info.rows, one.before) for one in result.windows] == [
        (1, 50, True), (3, 30, False), (4, 4, False),
    ]  # fmt: skip
    asked = {question.query for question in judge.asked if question.query}
    assert asked == {STEADY[i]["question"] for i in range(70, 104)}
    assert result.watch.gathered is not None
    assert [one.case for one in result.watch.gathered] == [f"r{i}" for i in range(104)]


def test_one_file_a_day_is_one_watch(store, tmp_path):
    options = replace(OF_50, baseline=(judged_as_baseline(store, written(tmp_path / "b.jsonl", STEADY)),))
    paths = [written(tmp_path / f"{k}.jsonl", FALLEN[k : k + 48]) for k in range(0, 144, 48)]
    for path in paths:
        result = watched(store, path, options=options)
    one_by_one = {key: one.values for key, one in result.watch.detectors.items()}
    with open_store(tmp_path / "other") as other:
        judged_as_baseline(other, tmp_path / "b.jsonl")
        together = watched(other, *paths, options=options)
    assert {key: one.values for key, one in together.watch.detectors.items()} == one_by_one


def test_a_kept_case_moves_no_detector_and_no_mean(store, tmp_path):
    rows = [{**one, "score.user": -1} if i % 4 == 0 else one for i, one in enumerate(STEADY[:100])]
    bad = [{**row(i, "nnnn"), "score.user": -1} for i in range(100, 130)]
    options = replace(OF_50, size=WindowSize(seconds=10**7), lots=Lots(0.5, keep=[KeepRule.parse("score.user<0")]))
    result = watched(store, written(tmp_path / "t.jsonl", [*rows, *bad]), options=options)
    (window,) = result.windows
    weights = {record.case.id: record.case.weight for record in store.run(window.row.run).records()}
    drawn = [name for name, weight in weights.items() if weight == 2.0]
    assert set(weights.values()) == {2.0, LEAST_WEIGHT}
    assert (window.row.arrivals, window.row.drawn, window.info.done) == (130, len(drawn), len(weights))
    assert result.watch.gathered is not None
    assert [one.case for one in result.watch.gathered] == drawn
    scores = {r.case.id: r.outcomes["groundedness"].value for r in store.run(1).records()}  # type: ignore[union-attr]
    assert store.means([1])[1]["groundedness"] == pytest.approx(sum(scores[one] for one in drawn) / len(drawn))


def test_of_a_conversation_the_first_case_alone_moves_the_detectors(store, tmp_path):
    rows = [row(i, conversation=f"talk {i // 2}") for i in range(20)]
    result = watched(store, written(tmp_path / "t.jsonl", rows), options=OF_50)
    assert result.watch.gathered is not None
    assert [one.case for one in result.watch.gathered] == [f"r{i}" for i in range(0, 20, 2)]


def test_where_no_lot_is_drawn_there_is_a_window_and_nothing_moves(store, tmp_path):
    path = written(tmp_path / "t.jsonl", STEADY[:10])
    result = watched(store, path, options=replace(OF_50, lots=Lots(0.0)))
    assert [(one.row.arrivals, one.row.drawn, one.info.rows, one.info.state) for one in result.windows] == [
        (10, 0, 0, "finished")
    ]
    assert not result.incomplete


def test_failed_cases_count_as_such_and_are_judged_again_by_the_same_command(store, tmp_path):
    rows = [row(i, "y!yy" if i % 10 == 3 else "yyyy") for i in range(60)]
    path = written(tmp_path / "t.jsonl", rows)
    first = watched(store, path, options=OF_50)
    assert first.incomplete
    assert first.watch.gathered is not None
    assert sum(one.scores[1] == 0.0 for one in first.watch.gathered) == 6
    judge = FakeJudge(lambda question: answer(replace(question, subject=question.subject.replace("broken", "x"))))
    again = watched(store, path, judge=judge, options=OF_50)
    assert {question.query for question in judge.asked} == {rows[i]["question"] for i in range(3, 60, 10)}
    assert not again.incomplete
    assert again.watch.gathered == first.watch.gathered


def test_a_case_that_failed_before_its_turn_counts_as_it_is_judged_again(store, tmp_path):
    path = written(tmp_path / "t.jsonl", [row(i, "y!yy" if i == 7 else "yyyy") for i in range(50)])

    def stops(question: Question) -> Answer:
        if "answer 5 " in question.subject:
            raise Stopped("the budget is spent")
        return answer(question)

    assert watched(store, path, judge=FakeJudge(stops), options=OF_50).stopped
    mended = FakeJudge(lambda question: answer(replace(question, subject=question.subject.replace("broken", "x"))))
    again = watched(store, path, judge=mended, options=OF_50)
    assert again.watch.gathered is not None
    assert [one.scores[1] for one in again.watch.gathered] == [1.0] * 50


def test_each_part_of_the_traffic_has_its_own_baseline(store, tmp_path):
    tenants = ["a", "b", "b", "c"]
    rows = [row(i, steady(i), tenant=tenants[i % 4] if i < 80 else "b") for i in range(110)]
    options = replace(
        OF_50, baseline=(judged_as_baseline(store, written(tmp_path / "b.jsonl", rows)),), stratify="tenant"
    )
    later = [row(i, "ynnn" if i % 4 == 1 else steady(i), tenant=["a", "b", "a", "new"][i % 4]) for i in range(300, 400)]
    result = watched(store, written(tmp_path / "t.jsonl", later), options=options)
    assert result.watch.without == {"a": 20, "c": 20}
    assert {stratum for _, stratum in result.watch.detectors} == {"b"}
    assert result.watch.detectors["groundedness", "b"].cases < 50
    assert (result.alarms[0].row.metric, result.alarms[0].row.stratum) == ("groundedness", "b")


def test_first_cases_that_give_no_detector_are_told(store, tmp_path):
    rows = [row(i, steady(i), tenant=f"t{i % 3}") for i in range(104)]
    options = replace(OF_50, first=60, stratify="tenant")
    result = watched(store, written(tmp_path / "t.jsonl", rows), options=options)
    assert list(detector_lines(result.watch)) == [
        "0 detectors against the first 60 drawn cases",
        "warning: no alarm can be raised: name runs with 50 cases or more of a part of the traffic (--baseline)",
        "no detector, with under 50 cases in the baseline: t0 (20), t1 (20) and t2 (20)",
    ]


def test_beyond_50_values_the_rest_is_other(store, tmp_path):
    rows = [row(i, steady(i), tenant="a" if i < 56 else f"t{i}") for i in range(160)]
    options = replace(
        OF_50, baseline=(judged_as_baseline(store, written(tmp_path / "b.jsonl", rows)),), stratify="tenant"
    )
    more = [row(i, steady(i), tenant=f"t{i}") for i in range(300, 320)]
    result = watched(store, written(tmp_path / "t.jsonl", more), options=options)
    assert {stratum for _, stratum in result.watch.detectors} == {"a", "other"}
    assert result.watch.detectors["groundedness", "other"].baseline.cases == 160 - 56 - 49
    assert result.watch.detectors["groundedness", "other"].cases == 20


def test_another_judge_stops_the_detectors_until_there_is_a_new_baseline(store, tmp_path):
    path = written(tmp_path / "t.jsonl", STEADY)
    run = judged_as_baseline(store, path)
    options = replace(OF_50, baseline=(run,))
    watched(store, path, options=options)
    before = kept_in(Path(store.where).parent)
    told = "judged differently: give a new baseline"
    for given in (OF_50, options):
        with pytest.raises(ConfigError, match=told):
            watched(store, path, judge=fake("2"), options=given)
    assert kept_in(Path(store.where).parent) == before
    new = judged_as_baseline(store, path, fake("2"))
    result = watched(store, path, judge=fake("2"), options=replace(OF_50, baseline=(new,)))
    assert result.watch.baseline == f"run {new}"


def test_other_flags_need_a_new_baseline_too_and_one_of_other_judgement_is_refused(store, tmp_path):
    path = written(tmp_path / "t.jsonl", STEADY[:60])
    watched(store, path, options=OF_50)
    with pytest.raises(ConfigError, match=r"begun with --tolerance 0\.02 and not 0\.1: give that, a new baseline"):
        watched(store, path, options=replace(OF_50, tolerance=0.1))
    watched(store, path, options=replace(OF_50, tolerance=0.1, name="other"))
    run = judged_as_baseline(store, path, fake("2"))
    with pytest.raises(ConfigError, match=f"run {run} was judged differently"):
        watched(store, path, options=replace(OF_50, baseline=(run,), name="third"))


def test_an_alarm_stays_open_until_it_is_acknowledged_then_its_detector_starts_at_0(store, tmp_path):
    run = judged_as_baseline(store, written(tmp_path / "b.jsonl", STEADY))
    options = replace(OF_50, baseline=(run,))
    watched(store, written(tmp_path / "t.jsonl", FALLEN[:124]), options=options)
    still = watched(store, written(tmp_path / "u.jsonl", FALLEN[124:134]), options=options)
    moved = still.watch.detectors["groundedness", ""].cases
    assert moved < 124
    assert [alarm.row.number for alarm in open_alarms(store)] == list(range(1, 1 + len(open_alarms(store))))
    numbers = {alarm.row.metric: alarm.row.number for alarm in open_alarms(store)}
    assert close_alarm(store, numbers["groundedness"]).row.metric == "groundedness"
    close_alarm(store, numbers["groundedness"])  # once more is harmless
    assert numbers["groundedness"] not in [alarm.row.number for alarm in open_alarms(store)]
    with watching(store, "traffic"):
        for work in (lambda: close_alarm(store, 1), lambda: watched(store, tmp_path / "u.jsonl", options=options)):
            with pytest.raises(StoreError, match="the watch 'traffic' is being done by process"):
                work()
    with pytest.raises(NotStoredError, match="there is no alarm 99"):
        close_alarm(store, 99)
    path = written(tmp_path / "v.jsonl", [row(i, "yyyy") for i in range(280, 283)])
    anew = watched(store, path, options=options).watch.detectors["groundedness", ""]
    assert anew.cases == moved + 3
    assert anew.value < 3
    assert anew.below == 0


def test_texts_and_windows_are_kept_as_long_as_is_said(store, tmp_path):
    path = written(tmp_path / "t.jsonl", STEADY[:60])
    watched(store, path, options=replace(OF_50, keeping=Keeping.parse("0", None)))
    assert [cases_with_texts(store.database, run) for run in (1, 2)] == [[], []]
    assert store.means([1])[1]["groundedness"] > 0.5
    watched(store, path, options=replace(OF_50, name="long", keeping=Keeping.parse("10000d", "10000d")))
    assert len(cases_with_texts(store.database, 3)) == 50
    watched(store, path, options=replace(OF_50, name="long", keeping=Keeping(texts=None, runs=-100000)))
    assert [info.number for info in store.runs()] == [2, 1]
    with pytest.raises(ConfigError, match="--keep-runs 3w: write a number of days"):
        Keeping.parse(None, "3w")


@pytest.mark.parametrize("size", [WindowSize(cases=50), WindowSize(seconds=3600)])
def test_what_a_deleted_window_held_isnt_judged_again(store, tmp_path, size):
    old = replace(OF_50, size=size, keeping=Keeping(runs=-100000))
    watched(store, written(tmp_path / "t.jsonl", STEADY[:60]), options=old)
    assert store.runs() == []
    before = kept_in(Path(store.where).parent)
    judge = fake()
    result = watched(store, tmp_path / "t.jsonl", judge=judge, options=old)
    assert (judge.asked, result.windows, store.runs()) == ([], (), [])
    assert kept_in(Path(store.where).parent) == before
    judge = fake()  # the file grows, and one case arrives late: these alone are judged
    grown = written(tmp_path / "t.jsonl", [*STEADY[:40], row(400, time=row(39)["time"]), *STEADY[40:70]])
    result = watched(store, grown, judge=judge, options=replace(old, keeping=Keeping()))
    asked = {question.query for question in judge.asked if question.query}
    assert asked == {row(i)["question"] for i in (*range(60, 70), 400)}
    assert result.watch.gathered is not None
    assert len(result.watch.gathered) == 71


WRITER = textwrap.dedent(
    """
    import sys

    sys.path[:0] = sys.argv[4:]
    from pathlib import Path

    from watched import fake, watched
    from ragtriage.execution.evaluating import CaseDone
    from ragtriage.monitor.replay import WatchOptions
    from ragtriage.monitor.windows import WindowSize
    from ragtriage.store import open_store

    def told(event):
        if isinstance(event, CaseDone):
            print(event.record.case.id, flush=True)

    options = WatchOptions(size=WindowSize(cases=110), apart=1000, baseline=(sys.argv[3],))
    with open_store(sys.argv[1]) as store:
        watched(store, Path(sys.argv[2]), judge=fake(delay=0.0005), options=options, notify=told)
    """
)
HERE = Path(__file__).parent


def killed_after(place: Place | Path, path: Path, run: str, cases: int) -> None:
    """Watch in another process, and kill it after so many cases."""
    args: Sequence[object] = (place, path, run, HERE, HERE.parent)
    with Child(*args, folder=HERE, code=WRITER) as process:
        for _ in range(cases):
            assert process.stdout.readline(), process.communicate()
        process.kill()
        assert process.wait() == -signal.SIGKILL


def test_after_kill_9_the_same_command_goes_on_to_the_same_bits(place, tmp_path):
    base, path = written(tmp_path / "b.jsonl", STEADY), written(tmp_path / "t.jsonl", FALLEN)
    with open_store(tmp_path / "whole") as store:
        run = judged_as_baseline(store, base)
        options = WatchOptions(size=WindowSize(cases=110), apart=1000, baseline=(run,))
        watched(store, path, options=options)
    with open_store(place) as store:
        assert judged_as_baseline(store, base) == run
    # of the first window 50 cases are stored then, and of those that are left 50 more
    killed_after(place, path, run, 65)
    killed_after(place, path, run, 65 - 5)
    with open_store(place) as store:
        unfinished = [info.number for info in store.runs() if info.state == "running"]
        assert len(unfinished) == 1
        judge = fake()
        result = watched(store, path, judge=judge, options=options)
        assert 0 < len({question.query for question in judge.asked if question.query}) <= 44
        assert check_store(store.database).sound
    assert not result.incomplete
    there, whole = kept_in(place), kept_in(tmp_path / "whole")
    for name in ("watches", "windows", "detectors", "alarms", "scores"):
        assert there[name] == whole[name], name
    assert [one["id"] for one in there["cases"]] == [one["id"] for one in whole["cases"]]
    assert [one["content"] for one in there["cases"]] == [bytes(one["content"]) for one in whole["cases"]]
