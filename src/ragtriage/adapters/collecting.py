"""An object of a framework, or a function, is asked questions from Python."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from ragtriage.adapters.opening import application_of
from ragtriage.collect.application import RequestPolicy, ask_all_async
from ragtriage.collect.in_memory import CollectedInMemory
from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError
from ragtriage.core.event_loops import run_unbounded, without_event_loop

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
