"""What was counted while a run was evaluated gives the numbers that its records give, and is never stale."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from cli_rows import written
from ragtriage import FakeJudge, open_cases, open_store, thresholds_with
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer, Component, Failure, Verdict
from ragtriage.execution.evaluate_file import evaluate_file
from ragtriage.metrics import THELMA
from ragtriage.runs.evaluation_config import EvaluationConfig, config_of
from ragtriage.runs.run import Run
from ragtriage.runs.summary import Summary
from ragtriage.runs.tally import NOTE, SlicedTally, kept_counts, tally_of
from ragtriage.store import Store
from ragtriage.store.schema import meta

CONFIG = EvaluationConfig(THELMA, thresholds_with({}))


def answering(seed: int) -> Callable[[Question], Answer]:
    """A judge that says anything."""

    def answer(question: Question) -> Answer:
        chance = random.Random(f"{seed} {question.kind} {question.subject} {question.evidence}")
        if question.kind in DECOMPOSITIONS:
            return tuple(Component(f"{part}.") for part in question.subject.split(". ") if part)
        if chance.random() < 0.05:
            return Verdict("unknown", 0.5, 0.5, "it can't be told")
        score = chance.random()
        return Verdict(
            "yes" if score > 0.4 else "no", score, max(score, 1 - score), "drawn", sure=chance.random() < 0.7
        )

    return answer


def rows(seed: int, count: int = 14) -> list[dict[str, object]]:
    chance = random.Random(seed)
    return [
        {
            "id": f"c{i}", "question": f"What is number {i}? And why {seed}?",
            "answer": ". ".join(f"It is thing {chance.randrange(9)}" for _ in range(chance.randrange(4))),
            "contexts": [f"Thing {chance.randrange(9)}. Thing {i}." for _ in range(chance.randrange(4))],
            "weight": chance.choice([1, 1, 2.5]), "part": str(i % 3),
        }
        for i in range(count)
    ]  # fmt: skip


def evaluated(store: Store, path: Path, seed: int) -> Run:
    return evaluate_file(open_cases(path), FakeJudge(answering(seed)), store, CONFIG, name="rows.jsonl").first.stored


def by_records(run: Run, config: EvaluationConfig = CONFIG) -> Summary:
    tally = SlicedTally(config)
    for record in run.records():
        tally.add(record)
    return tally.summary()


@pytest.mark.parametrize("seed", range(5))
def test_what_was_kept_is_what_the_records_say(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(tmp_path / "store") as store:
        run = evaluated(store, written(tmp_path / "rows.jsonl", rows(seed)), seed)
        expected = by_records(run)
        with monkeypatch.context() as patch:
            patch.setattr(Run, "records", None)  # a record that is read is an error
            assert tally_of(store.run(1), config_of(run.info)).summary() == expected
            summed = tally_of(store.run(1), config_of(run.info), most_drawn_from=3).summary()
    assert [m.mean for m in summed.metrics] == pytest.approx([m.mean for m in expected.metrics])
    assert all(m.normal for m in summed.metrics if m.n)


def test_without_what_was_kept_many_cases_count_by_their_sums_too(tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as store:
        run = evaluated(store, written(tmp_path / "rows.jsonl", rows(3)), 3)
        kept = tally_of(store.run(1), CONFIG, most_drawn_from=3).summary()
        with store.database.writing() as connection:
            connection.execute(meta.delete().where(meta.c.key.startswith(NOTE)))
        assert kept_counts(run.place) is None
        again = tally_of(store.run(1), CONFIG, most_drawn_from=3)
        assert again.summary() == kept
        sliced = tally_of(store.run(1), CONFIG, "part", most_drawn_from=3).slices()
    assert sliced
    assert all(m.normal for part in sliced.values() for m in part.metrics if m.n)


def test_other_criteria_and_slices_are_counted_by_records(tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as store:
        run = evaluated(store, written(tmp_path / "rows.jsonl", rows(1)), 1)
        strict = config_of(run.info, {"groundedness": 1.0})
        assert tally_of(run, strict).summary() == by_records(run, strict)
        assert set(tally_of(run, CONFIG, "part").slices() or ()) == {"0", "1", "2"}


def test_what_is_written_since_makes_it_worthless(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", rows(4))
    with open_store(tmp_path / "store") as store:
        run = evaluated(store, path, 4)
        assert kept_counts(run.place) is not None
        with store.resume(1) as writer:
            assert kept_counts(store.run(1).place) is None  # it is being written
            case = next(store.run(1).records())
            writer.keep(replace(case, outcomes={}))
            writer.finish()
        assert kept_counts(store.run(1).place) is None
        assert tally_of(store.run(1), CONFIG).summary() == by_records(store.run(1))

        forgotten = evaluated(store, written(tmp_path / "rows.jsonl", rows(2)), 2)
        assert kept_counts(forgotten.place) is not None
        for cases in (["c3"], None):
            store.forget_texts(forgotten.number, cases)
            found = store.run(forgotten.number)
            assert kept_counts(found.place) is None
            assert tally_of(found, CONFIG).summary() == by_records(found)


def test_a_run_with_a_failure_keeps_nothing_until_it_is_complete(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", rows(6))
    judge = answering(6)

    def failing(question: Question) -> Answer:
        return Failure("too long") if "number 5" in question.subject else judge(question)

    with open_store(tmp_path / "store") as store:
        evaluate_file(open_cases(path), FakeJudge(failing), store, CONFIG, name="rows.jsonl")
        assert store.run(1).info.failed
        assert kept_counts(store.run(1).place) is None

        again = evaluate_file(open_cases(path), FakeJudge(judge), store, CONFIG, name="rows.jsonl").first.stored
        assert again.info.complete
        assert kept_counts(again.place) is not None
        assert tally_of(again, CONFIG).summary() == by_records(again)


def test_another_version_of_the_program_counts_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(tmp_path / "store") as store:
        run = evaluated(store, written(tmp_path / "rows.jsonl", rows(7)), 7)
        monkeypatch.setattr("ragtriage.runs.evaluation_config.version", lambda _: "99")
        assert kept_counts(run.place) is None
