"""An object of a framework, or a function, is asked questions from Python."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from ragtriage.adapters.opening import application_of
from ragtriage.collect.answers_file import COLLECTED_COLUMNS, CollectionTally
from ragtriage.collect.application import RequestPolicy, ask_all_async
from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.event_loops import run_unbounded, without_event_loop
from ragtriage.readers.case_rows import cases_from

_POLICY = RequestPolicy()


def collect(  # what is asked, and how
    app: Any,
    questions: Iterable[str | Case],
    *,
    input: str | None = None,  # noqa: A002  # as the flag
    build: bool = False,
    concurrency: int = _POLICY.concurrency,
    timeout: float = _POLICY.timeout,
) -> list[Case]:
    """Ask an application all questions, also where an event loop runs: on one of its own, in a thread.

    Args:
        app: a runnable, a graph, an engine, a retriever, an agent, a workflow, a pipeline, or a function as for
            `ragtriage collect`.
        questions: texts, or cases with a history or columns of their own.
        input: the key or input that takes the question, where several could.
        build: `app` is a function that builds the application; one is built for each question in flight.
        concurrency: questions at the same time.
        timeout: seconds that one may take.

    Returns:
        A case a question, in their order. Its response is None where the application failed (the tags `failure` and
        `failure_detail` say why) or only retrieves; its sources are None where no retriever told what it found.

    Raises:
        ConfigError: it can't be asked.
        ApplicationError: nothing was answered.
    """
    asked = acollect(app, questions, input=input, build=build, concurrency=concurrency, timeout=timeout)
    return without_event_loop(lambda: run_unbounded(asked))


async def acollect(  # as `collect`
    app: Any,
    questions: Iterable[str | Case],
    *,
    input: str | None = None,  # noqa: A002  # as the flag
    build: bool = False,
    concurrency: int = _POLICY.concurrency,
    timeout: float = _POLICY.timeout,  # noqa: ASYNC109  # of each question
) -> list[Case]:
    """`collect` on the event loop that runs."""
    if isinstance(questions, str):
        raise ConfigError("questions is one text: give a list of questions")
    if concurrency < 1:
        raise ConfigError(f"concurrency={concurrency}: at least 1")
    application = application_of(getattr(app, "__name__", type(app).__name__), app, input, build=build)
    collected = CollectedInMemory(questions)
    policy = RequestPolicy(concurrency=concurrency, timeout=timeout)
    await ask_all_async(collected.asked, application, collected, policy, lambda: None)
    unrecorded = collected.tally.unrecorded
    notes = [f"{application.name}: {note}" for note in application.notes]
    if unrecorded:
        notes.append(f"{application.name}: no retriever told what it found for {unrecorded} of {len(collected.asked)}")
    for note in notes:
        warnings.warn(note, stacklevel=2)
    return collected.cases()


class CollectedInMemory:
    """Keeps rows, and gives them as cases; `asked` are all cases in their order."""

    def __init__(self, asked: Iterable[str | Case]) -> None:
        self.asked = [one if isinstance(one, Case) else Case(str(n), one) for n, one in enumerate(asked, 1)]
        self.tally = CollectionTally()
        self._rows: dict[str, Mapping[str, Any]] = {}
        if len({case.id for case in self.asked}) < len(self.asked):
            raise InputError("questions: several have one id: give each its own")

    def has(self, case: Case) -> bool:
        """Whether it was asked."""
        return case.id in self._rows

    def add(self, row: Mapping[str, Any]) -> None:
        """Keep one row."""
        self._rows[row["id"]] = row
        self.tally.add(row)

    def cases(self) -> list[Case]:
        """What was collected, as cases read from a file of the same rows.

        Raises:
            InputError: a row holds what no case can.
        """
        rows = [self._rows[case.id] for case in self.asked]
        found = cases_from(rows, "questions", mapping=COLLECTED_COLUMNS) if rows else []
        for one in found:
            if not isinstance(one, Case):
                raise InputError(str(one))
        return [one for one in found if isinstance(one, Case)]
