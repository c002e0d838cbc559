"""From what a user named, or handed over, to an application that can be asked; asking it from Python."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

from ragtriage.adapters.asked_objects import Adapter, ObjectApplication
from ragtriage.adapters.haystack import haystack_object
from ragtriage.adapters.langchain import langchain_object
from ragtriage.adapters.llama_index import llama_index_object
from ragtriage.collect.answers_file import COLLECTED_COLUMNS, CollectionTally
from ragtriage.collect.application import Application, ApplicationReply, RequestPolicy, ask_all_async
from ragtriage.collect.application_names import ApplicationSpec, application_at
from ragtriage.collect.callables import called, object_named
from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.event_loops import run_unbounded, without_event_loop
from ragtriage.readers.case_rows import cases_from
from ragtriage.readers.named_functions import told

KINDS: tuple[Callable[[str, Any, str | None], Adapter | None], ...] = (
    langchain_object,
    llama_index_object,
    haystack_object,
)
"""Functions that give an adapter for an object of their framework, and None for any other; the first that fits."""


def open_application(
    named: ApplicationSpec, columns: tuple[str, ...], concurrency: int, *, give_sources: bool = False
) -> Application:
    """The application that a user named, for rows with these columns.

    With `give_sources` it is to answer from the sources of each case instead of retrieving its own: a function gets
    them as `sources`; for a template see `application_at`. Nothing is sent yet: what is wrong or doesn't go together is
    a ConfigError, a file that can't be read an InputError.
    """
    if "://" in named.app:
        return application_at(named, columns, concurrency, give_sources=give_sources)
    for one in fields(ApplicationSpec):
        if one.name not in {"app", "input"} and getattr(named, one.name):
            flag = "app-header" if one.name == "headers" else one.name.replace("_", "-")
            raise ConfigError(f"--{flag} is for applications at a URL; --app {named.app} is in Python")
    name = named.app.removesuffix("()")
    found = object_named(name)
    return application_of(named.app, found, named.input, build=name != named.app, give_sources=give_sources)


def application_of(
    name: str, found: Any, key: str | None = None, *, build: bool = False, give_sources: bool = False
) -> Application:
    """An object of a framework, or a function, as an application; with `build`, what a function builds."""

    def built() -> Application:
        try:
            one = found()
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the user's code may raise anything
            raise ConfigError(f"--app {name}: can't be built: {told(error)}") from None
        return _application(name, one, key, built=True, give_sources=give_sources)

    if not build:
        return _application(name, found, key, built=False, give_sources=give_sources)
    if not callable(found):
        raise ConfigError(f"--app {name}: is {found!r:.60}, which can't be called: leave out the ()")
    return BuiltApplication(built(), built)


def _application(name: str, found: Any, key: str | None, *, built: bool, give_sources: bool) -> Application:
    kinds = () if isinstance(found, type) else KINDS
    adapter = next(filter(None, (adapter_of(name, found, key) for adapter_of in kinds)), None)
    if adapter is None:
        if key is not None:
            raise ConfigError(f"--app-input is for objects of a framework; --app {name} is a function")
        return called(name, found, give_sources=give_sources)
    if give_sources:
        hint = "give a function with a parameter `sources`, a list of {text, id}, from which it answers"
        raise ConfigError(f"--app {name}: a {adapter.kind} can't answer from sources that it is given: {hint}")
    return ObjectApplication(name, adapter, built=built)


class BuiltApplication:
    """Asks as many applications as are needed at once, each one query at a time; `first` is one that was built."""

    most_at_once: int | None = None

    def __init__(self, first: Application, build: Callable[[], Application]) -> None:
        self.name, self.takes_temperature, self.notes = first.name, first.takes_temperature, first.notes
        self._build = build
        self._idle = [first]

    async def ask(self, case: Case) -> ApplicationReply:
        """Ask one that isn't asked now. One that took too long isn't asked again: it may be at it still."""
        application = self._idle.pop() if self._idle else self._build()
        try:
            reply = await application.ask(case)
        except Exception:  # not where it was cancelled
            self._idle.append(application)
            raise
        self._idle.append(application)
        return reply

    async def close(self) -> None:
        """Let go of all."""
        for application in self._idle:
            await application.close()

    def again(self, temperature: float | None) -> "BuiltApplication":
        """Further ones, asked at this temperature."""

        def build() -> Application:
            return self._build().again(temperature)

        return BuiltApplication(build(), build)


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
        """What was collected, as cases read from a file of the same rows."""
        rows = [self._rows[case.id] for case in self.asked]
        found = cases_from(rows, "questions", mapping=COLLECTED_COLUMNS) if rows else []
        for one in found:
            if not isinstance(one, Case):
                raise InputError(str(one))
        return [one for one in found if isinstance(one, Case)]
