"""A text can be deleted, everywhere, and its scores kept."""

import contextlib
import sqlite3
from dataclasses import replace

import pytest
from stored_cases import NAMES, answer, case, identity_of

from ragtriage.core.case import Source, Turn
from ragtriage.core.errors import StoreError
from ragtriage.core.verdicts import Component, Failure, Score, Undefined, Verdict, Verdicts
from ragtriage.diagnosis.rules import RULES, needs_of
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.wrappers.cached import Cached
from ragtriage.metrics import THELMA
from ragtriage.runs.codec import DELETED
from ragtriage.runs.run import RejectedRow
from ragtriage.store import Store, open_answers, open_store
from ragtriage.store.database import open_database
from ragtriage.store.forgetting import cases_with_texts, held_elsewhere

SHARED = Source("All of the trains have a place for a bicycle.", "bikes")
SECRET = case(
    1,
    query="What is the pin of Zebulon?",
    response="The pin of Zebulon is 1234. It is not to be told to the others.",
    sources=(Source("The pin of Zebulon is 1234 and of the others it is 5678.", "pins"), SHARED),
    reference="The pin of Zebulon.",
    samples=("The Zebulon one.",),
)
OTHER = case(2, sources=(SHARED,))


def explained(question):
    if question.kind == "supported" and "not to be" in question.subject:
        return Failure(f"too long: {question.subject}")
    found = answer(question)
    return found if isinstance(found, tuple) else type(found)(found.value, 0.9, 0.9, f"because {question.subject}")


@pytest.fixture
def folder(tmp_path):
    """A store in a file, for what only files do."""
    return filled(tmp_path)


@pytest.fixture
def kept(place):
    return filled(place)


def filled(place):
    with open_store(place) as store, open_answers(store.database) as answers:
        evaluated_into(store, SECRET, OTHER, judge=Cached(FakeJudge(explained), answers)).finish()
    return place


def evaluated_into(store, *cases, judge=None, also=()):
    """A run with these cases, which isn't finished."""
    run = store.begin(identity_of([*cases]), input="a", rows=len(cases), judge="f")
    for _ in evaluate_sync(run.todo(cases), judge or FakeJudge(answer), metrics=THELMA, also=also, sink=run):
        pass
    return run


def test_scores_stay_and_texts_are_gone(kept):
    assert kept.holds("Zebulon")
    with open_store(kept) as store:
        before, untouched = (store.run().record(f"case {i}") for i in (1, 2))
        for _ in range(2):
            assert store.forget_texts("last", ["case 1"]) == 1
            after = store.run().record("case 1")
            assert store.run().record("case 2") == untouched
            assert not kept.holds("Zebulon")
            assert kept.holds("place for a bicycle")
    assert "Zebulon" not in repr(after)
    assert (after.case.query, after.case.response, after.case.reference) == (DELETED, DELETED, DELETED)
    assert [(source.text, source.id) for source in after.case.sources] == [(DELETED, "pins"), (DELETED, "bikes")]
    assert (after.case.id, after.case.tags, after.case.samples) == ("case 1", SECRET.tags, (DELETED,))
    assert after.outcomes.keys() == before.outcomes.keys() == set(NAMES)
    for name, outcome in before.outcomes.items():
        found = after.outcomes[name]
        if isinstance(outcome, Score):
            assert isinstance(found, Score)
            assert (found.value, found.judged, found.unknown) == (outcome.value, outcome.judged, outcome.unknown)
            assert [part.good for part in found.parts] == [part.good for part in outcome.parts]
    for name, known in before.steps.items():
        if isinstance(known, Verdicts):
            found = after.steps[name]
            assert isinstance(found, Verdicts)
            assert [c.span for c in found.components] == [c.span for c in known.components]
            assert scores_in(found) == scores_in(known)
    with open_store(kept) as store:
        store.forget_texts(1, ["case 2"])  # a text goes with the last case that holds it
    assert not kept.holds("place for a bicycle")


def scores_in(grid: Verdicts) -> list[list[float | None]]:
    return [[getattr(cell, "score", None) for cell in row] for row in grid.cells]


def test_what_lies_in_free_parts_of_the_file_goes_too(folder):
    with contextlib.closing(sqlite3.connect(folder / "runs.sqlite", isolation_level=None)) as there:
        there.execute("PRAGMA secure_delete=OFF")
        there.execute("INSERT INTO texts VALUES (x'00', 'a copy about Zoroaster')")
        there.execute("DELETE FROM texts WHERE hash = x'00'")
        there.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"Zoroaster" in (folder / "runs.sqlite").read_bytes()

    with open_store(folder) as store:
        store.forget_texts(1, ["case 1"])

    assert b"Zoroaster" not in (folder / "runs.sqlite").read_bytes()


def test_what_is_said_of_rows_and_failures_quotes_nothing_afterwards(place):
    with open_store(place) as store:
        run = evaluated_into(store, SECRET, judge=FakeJudge(lambda question: Failure(f"too long: {question.subject}")))
        run.reject(RejectedRow(7, "query", "is a list (['Zebulon'])"))
        run.finish()
        before = store.run().record("case 1")
        assert "Zebulon" in repr(before.outcomes)
        assert "Zebulon" in repr(before.steps)

        assert store.forget_texts(1) == 1

        after = store.run().record("case 1")
        assert "Zebulon" not in repr(after)
        failed = [[o.failed for o in one.outcomes.values() if isinstance(o, Undefined)] for one in (before, after)]
        assert failed[0] == failed[1]
        assert store.run().rejected() == [RejectedRow(7, "query", DELETED)]
    assert not place.holds("Zebulon")


def test_several_runs_lose_the_cases_that_they_have(kept):
    with open_store(kept) as store:
        evaluated_into(store, OTHER).finish()
        assert held_elsewhere(store.database, {1: ["case 2"]}) == {2: 1}
        assert held_elsewhere(store.database, {1: ["case 1", "case 2"], 2: ["case 2"]}) == {}

        with pytest.raises(StoreError, match="run 1 and run 2 holds no case 'x'"):
            store.forget_texts([1, 2], ["case 2", "x"])
        assert store.forget_texts([1, 2], ["case 1"]) == 1
        assert cases_with_texts(store.database, 1) == cases_with_texts(store.database, 2) == ["case 2"]
        assert store.forget_texts([1, 2]) == 3
        assert cases_with_texts(store.database, 1) == cases_with_texts(store.database, 2) == []


def test_a_run_that_is_being_written_is_refused(place):
    with open_store(place) as store:
        run = evaluated_into(store, SECRET)
        run.flush()
        with pytest.raises(StoreError, match="run 1 is being written by process"):
            store.forget_texts(1)
        run.finish()
        assert store.forget_texts(1) == 1


def test_a_reader_that_keeps_the_log_full_is_told_and_the_same_call_ends_it_later(folder):
    with contextlib.closing(sqlite3.connect(folder / "runs.sqlite", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM texts").fetchall()
        database = open_database(str(folder / "runs.sqlite"), create=False, timeout=0.1)
        with pytest.raises(StoreError, match="end that program"):
            Store(database).forget_texts(1, ["case 1"])
        database.engine.dispose()
        reader.execute("COMMIT")
    with open_store(folder) as store:
        assert cases_with_texts(store.database, 1) == ["case 2"]
        assert store.forget_texts(1, []) == 0
    assert not any(b"Zebulon" in path.read_bytes() for path in folder.iterdir())


@pytest.mark.parametrize("go", [lambda store: store.forget_texts("last", ["case 1"]), lambda store: store.delete(1)])
def test_what_a_judge_made_of_a_conversation_for_the_diagnosis_goes_too(place, go):
    spoken = replace(SECRET, query="And the pin of Zebulon?", history=(Turn("user", "I am Zebulon."),))
    also = needs_of(RULES)

    def understanding(question):
        if question.kind == "standalone":
            return (Component("What is the pin of Zebulon, the user?"),)
        return Verdict("no", explanation=question.subject) if question.kind == "supported" else explained(question)

    with open_store(place) as store, open_answers(store.database) as answers:
        evaluated_into(store, spoken, judge=Cached(FakeJudge(understanding), answers), also=also).finish()
        answers.flush()
        assert "Zebulon" in held(place)
        go(store)
        assert "Zebulon" not in held(place)


def held(place):
    """All answers that the store remembers, in one text."""
    return " ".join(body for (body,) in place.sql("SELECT body FROM answers"))
