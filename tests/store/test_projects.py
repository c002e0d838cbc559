"""Whose a run is: `last` and `runs` mean a project's, numbers are everybody's."""

from pathlib import Path

import pytest
import stored_cases
from stored_cases import answer, begun, case, evaluated, identity_of

from places import Place
from ragtriage.core.errors import NotStoredError
from ragtriage.core.verdicts import Verdict
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.wrappers.cached import Cached, CachedAnswer, InMemory
from ragtriage.runs.case_row import CaseHeading
from ragtriage.runs.run import MADE_BY, TESTS
from ragtriage.store import Store, open_answers, open_store, project_meant
from ragtriage.store.tables import InputScan

CASES = [case(0), case(1)]


def written(place: Place, project: str | None) -> int:
    with open_store(place, project=project) as store:
        return stored_cases.written(store, CASES)


def numbers(store: Store) -> list[int]:
    return [info.number for info in store.runs()]


def test_last_and_runs_mean_the_project_and_numbers_are_unique_in_the_store(place):
    assert [written(place, project) for project in ("shop", "search", "shop", "search")] == [1, 2, 3, 4]
    with open_store(place, project="shop") as store:
        assert numbers(store) == [3, 1]
        assert [info.number for info in store.runs(everywhere=True)] == [4, 3, 2, 1]
        assert store.run("last").number == 3
        assert store.run(4).info.project == "search"
        assert store.newest(identity_of(CASES)) == 3
        assert InputScan(store.database, "a.jsonl", store.project).last_run == 3
    with open_store(place) as store:
        assert numbers(store) == [4, 3, 2, 1]
        assert store.run("last").number == 4


def test_a_run_of_another_project_is_not_continued(place):
    with open_store(place, project="shop") as store:
        store.begin(identity_of(CASES), input="a", rows=2, judge="fake").interrupt()
        assert store.unfinished(identity_of(CASES)) == 1
    with open_store(place, project="search") as store:
        assert store.unfinished(identity_of(CASES)) is None


def test_a_project_without_a_run_says_of_which_there_are(place):
    written(place, "shop")
    with open_store(place, project="serach") as store:
        told = "holds no run of project 'serach': there are runs of shop; give --project, or --project '.' for all"
        with pytest.raises(NotStoredError, match=told):
            store.run("last")
        with pytest.raises(NotStoredError, match="there is no run 9; the newest are 1"):
            store.run(9)


def test_without_a_name_a_run_belongs_to_the_folder_and_a_name_may_be_anything(place, tmp_path, monkeypatch):
    (tmp_path / "checkout").mkdir()
    for folder, given, project in (
        (tmp_path / "checkout", None, "checkout"),
        (Path("/"), None, "root"),
        (tmp_path, "ü\\'\"%", "ü\\'\"%"),
    ):
        monkeypatch.chdir(folder)
        written(place, given)
        with open_store(place, project=given) as store:
            assert store.run().info.project == project


def test_a_server_is_shared_by_many_folders_and_a_file_belongs_to_one(tmp_path, monkeypatch):
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    assert project_meant(None, "postgresql://db/quality") == "checkout"
    assert project_meant(None, ".ragtriage") is None
    assert project_meant("shop", ".ragtriage") == "shop"
    assert project_meant("*", "postgresql://db/quality") is None


def test_who_began_a_run_is_known_on_a_server(place):
    written(place, "shop")
    with open_store(place) as store:
        assert store.run().info.author == ("postgres" if place.on_server else None)


READ = CaseHeading("failure", "generator", ("unsupported_claims", "incomplete"), sure=False)


def test_readings_are_written_with_the_record_and_replaced_with_it(place):
    long = case(7, query="Why  is\nthis " + "very " * 40 + "long?")
    first, second = (next(evaluated([one])) for one in (CASES[0], long))
    with open_store(place) as store:
        with store.begin(identity_of(CASES), input="a", rows=2, judge="fake") as run:
            run.keep(first, READ)
            run.keep(second)
            run.flush()
            assert [row["position"] for row in place.rows("readings")] == [0]
            run.keep(first, CaseHeading("no-fault", "none", (), sure=True))
            run.head_anew([(second.case, READ), (case(99), READ)])
            run.finish()
        rows = sorted(place.rows("readings"), key=lambda row: row["position"])
        assert [(row["kind"], row["component"], row["rules"], row["sure"]) for row in rows] == [
            ("no-fault", "none", "[]", 1),
            ("failure", "generator", '["unsupported_claims", "incomplete"]', 0),
        ]
        assert rows[0]["head"] == CASES[0].query
        assert rows[1]["head"].startswith("Why is this very very")
        assert len(rows[1]["head"]) == 60
        store.forget_texts(1, ["case 7"])
        heads = {row["position"]: row["head"] for row in place.rows("readings")}
        assert heads == {0: CASES[0].query, 1: None}


def test_what_costs_nothing_is_remembered_by_the_process_alone_on_a_server(place):
    with open_answers(place) as answers:
        list(evaluated(CASES, Cached(FakeJudge(answer), answers.free)))
        answers.free.flush()
        known = place.sql("SELECT count(*) FROM answers")[0][0]
        assert (known == 0) is place.on_server
        again = FakeJudge(answer)
        list(evaluated(CASES, Cached(again, answers.free)))
        assert again.asked == []


def test_a_process_remembers_so_many_answers_and_no_more():
    memory = InMemory(2)
    entries = [CachedAnswer(bytes([i]) * 16, "declines", "1", Verdict("yes", i / 10)) for i in range(4)]
    for entry in entries:
        memory.remember([entry])
    assert list(memory.recall([entry.key for entry in entries])) == [entries[2].key, entries[3].key]


def test_a_run_that_tests_made_is_never_the_last(place: Place) -> None:
    identity, by_tests = identity_of(CASES), {MADE_BY: TESTS}
    with open_store(place) as store:
        begun(store, CASES, configuration=by_tests).finish()
        with pytest.raises(NotStoredError, match="no run yet"):
            store.run("last")
        begun(store, CASES, "2", configuration={"mapping": {"id": f'"{MADE_BY}": "pytest"'}}).finish()
        begun(store, CASES, configuration=by_tests).finish()

        assert store.run("last").number == 2
        assert store.run(3).info.by_tests
        assert store.newest(identity) == 3
