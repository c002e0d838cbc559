"""Deleting texts while scores stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlalchemy import Connection, delete, select, update

from ragtriage.core.questions import Question
from ragtriage.core.record import Record
from ragtriage.core.steps import Step
from ragtriage.judges.wrappers import AnswerKeys
from ragtriage.metrics import METRICS, metric_named
from ragtriage.metrics.definitions import needs_in
from ragtriage.planning.levels import plan
from ragtriage.planning.questions import StepQuestions, questions_for
from ragtriage.store.codec import without_texts
from ragtriage.store.database import Database, in_chunks
from ragtriage.store.identity import digest
from ragtriage.store.run_reader import StoredRun
from ragtriage.store.schema import answers, case_texts, cases, texts


def forget_texts(database: Database, run: StoredRun, case_ids: Iterable[str], also: Sequence[Step] = ()) -> int:
    """Delete what these cases say; their ids, tags, verdicts and scores stay.

    A text that another case holds too (a document that was retrieved for both, the same case in another run) is kept
    for that one. Components, explanations and the remembered answers to the cases' questions are deleted.

    See `Store.forget_texts` for the rest.
    """
    chosen = filter(None, map(metric_named, run.info.metrics))
    own = [step for known in run.info.configuration.get("metrics", ()) for step in needs_in(known).values()]
    steps = plan((*METRICS, *chosen), (*also, *own)).steps
    count = 0
    for case_id in case_ids:
        questions = list(_questions(run.record(case_id), steps))
        with database.writing() as connection:
            _forget_case(connection, run.number, case_id)
            _forget_answers(connection, questions)
        count += 1
    if database.is_sqlite:
        with database.engine.connect() as connection:
            raw = connection.connection.driver_connection
            if raw is not None:
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # else the log would go on holding the texts
    return count


def _forget_case(connection: Connection, run: int, case_id: str) -> None:
    here = (cases.c.run == run) & (cases.c.id_digest == digest(case_id))
    position, blob = connection.execute(select(cases.c.position, cases.c.steps).where(here)).one()
    connection.execute(update(cases).where(here).values(steps=without_texts(blob)))
    mine = (case_texts.c.run == run) & (case_texts.c.position == position)
    hashes = set(connection.execute(select(case_texts.c.hash).where(mine)).scalars()) - {None}
    connection.execute(update(case_texts).where(mine).values(hash=None))
    for some in in_chunks(hashes):
        held = connection.execute(select(case_texts.c.hash).where(case_texts.c.hash.in_(some)).distinct()).scalars()
        connection.execute(delete(texts).where(texts.c.hash.in_(set(some) - set(held))))


def _questions(record: Record, steps: Iterable[Step]) -> Iterator[Question]:
    """The questions that were asked about a case, found again from its steps."""
    for step in steps:
        if str(step) in record.steps:
            try:
                found = questions_for(step, record.case, record.steps)
            except KeyError:
                continue  # it rests on a step that wasn't taken
            if isinstance(found, StepQuestions):
                yield from found.questions


def _forget_answers(connection: Connection, questions: Sequence[Question]) -> None:
    columns = (answers.c.kind, answers.c.fingerprint, answers.c.trial)
    for kind, fingerprint, trial in connection.execute(select(*columns).distinct()).all():
        keys = AnswerKeys(lambda _, own=fingerprint: own, trial)  # type: ignore[misc]  # bound now, not when it is called
        for some in in_chunks(keys.key(question) for question in questions if question.kind == kind):
            connection.execute(delete(answers).where(answers.c.key.in_(some)))
