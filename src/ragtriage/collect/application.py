"""What an application under test is, how its replies are read, and how it is asked every query once.

Several queries are asked at a time, again where it pays, and no further where the application is down.
"""

import asyncio
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

from ragtriage.collect.answers_file import TIMED_OUT, CollectionTally
from ragtriage.core.case import Case, Source
from ragtriage.core.errors import ApplicationError
from ragtriage.core.event_loops import run_unbounded
from ragtriage.readers.field_values import ALIASES, field_named, sources_of
from ragtriage.readers.paths import NotThere, ValuePath, in_one_piece, keys_of
from ragtriage.readers.problems import RowContext, RowLimits, RowProblem
from ragtriage.readers.text_values import clean, described, text_of


@dataclass(frozen=True, slots=True)
class ApplicationReply:
    """What an application gave back for one query."""

    response: str | None
    """The text; None from a retriever, which gives none, and where this is what was known before a failure."""
    sources: tuple[Source, ...] | None = ()
    """The retrieved texts, best first; empty if nothing was retrieved, or nothing of it is returned; None if it is to
    be known, and isn't."""
    ids: tuple[str, ...] = ()
    """The ids of what was retrieved, best first, where it returns them."""
    scores: tuple[float | None, ...] = ()
    """The retriever's own number for each source, as high as it likes; empty if it gives none."""
    tags: Mapping[str, Any] = field(default_factory=dict)
    """What else was seen, of `SEEN`."""


@dataclass(eq=False)
class Unanswered(Exception):
    """A query wasn't answered."""

    cause: str
    """In a few words, the same for all queries that fail alike, for example `"HTTP 500"`."""
    detail: str
    """A sentence: what happened and, where that is known, what to do."""
    again: bool = field(default=False, kw_only=True)
    """The same query may be answered a moment later."""
    wait: float | None = field(default=None, kw_only=True)
    """The seconds after which the application wants to be asked again, where it says so."""
    broken: bool = field(default=True, kw_only=True)
    """The application, its address or a setting may be wrong, rather than this one query."""
    down: bool = field(default=False, kw_only=True)
    """No other query would be answered now either."""
    found: ApplicationReply | None = field(default=None, kw_only=True)
    """What was retrieved before it failed, where that is known."""


class Application(Protocol):
    """Something that answers queries."""

    @property
    def name(self) -> str:
        """How people may see it: without a secret."""

    @property
    def takes_temperature(self) -> bool:
        """Whether it can be told at which temperature to answer."""

    @property
    def most_at_once(self) -> int | None:
        """How many queries it can be asked at a time; None for any number."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What its user should know of how it is asked, in sentences."""

    async def ask(self, case: Case) -> ApplicationReply:
        """Ask one query; several may be asked at once.

        Raises:
            Unanswered: there is no answer, and why.
        """

    async def close(self) -> None:
        """Let go of connections."""

    def again(self, temperature: float | None) -> Self:
        """The same application for another round of questions, also after it was closed.

        Args:
            temperature: at which it is to answer; None for its own way of answering.
        """


ASKED = ("id", "query", "history", "reference", "samples", "relevant_ids", "weight", "time", "trace_id")
"""The fields that a row has before it is asked; it has those of its file only, and always the first two."""
SAMPLED = ("samples_asked", "samples_temperature")
"""The columns that drawing samples brings, beside `samples`: how many were asked for, and at which temperature."""
SEEN = ("retrieval_scores", "retrievals", "searched", "sources_left_out", "canned", "first_seconds")
"""The columns that asking an object of a framework brings beside them, each where there is something to say."""
ANSWERED = ("response", "sources", "retrieved", "seconds", "failure", "failure_detail", *SEEN, *SAMPLED)
"""The columns that asking brings; columns of the file with these names are replaced."""


def asked_row(case: Case) -> dict[str, Any]:
    """A case under our names, with every other column of its file: what is known before it is asked."""
    row: dict[str, Any] = {name: value for name, value in case.tags.items() if name not in (*ASKED, *ANSWERED)}
    fields: dict[str, Any] = {
        "id": case.id,
        "query": case.query,
        "history": [{"role": turn.role, "content": turn.text} for turn in case.history] or None,
        "reference": case.reference,
        "samples": list(case.samples) or None,
        "relevant_ids": None if case.relevant_ids is None else list(case.relevant_ids),
        "weight": None if case.weight == 1.0 else case.weight,
        "time": case.time,
        "trace_id": case.trace_id,
    }
    return {name: value for name, value in fields.items() if value is not None} | row


def source_rows(case: Case) -> list[dict[str, str]]:
    """The sources of a case as an application is given them: each with its text, and its id where it has one."""
    return [_source_row(source) for source in case.known_sources]


def _source_row(source: Source) -> dict[str, str]:
    return {"text": source.text} | ({"id": source.id} if source.id is not None else {})


def answered_row(case: Case, reply: ApplicationReply, seconds: float) -> dict[str, Any]:
    """The row of a case that was answered; an empty answer is one, too."""
    return asked_row(case) | {"response": reply.response, **_seen(reply), "seconds": round(seconds, 3)}


def _seen(reply: ApplicationReply) -> dict[str, Any]:
    sources = None if reply.sources is None else [_source_row(source) for source in reply.sources]
    retrieved = {"retrieved": list(reply.ids)} if reply.ids else {}
    scores = {"retrieval_scores": list(reply.scores)} if reply.scores else {}
    return {"sources": sources, **retrieved, **scores, **reply.tags}


def failed_row(case: Case, why: Unanswered) -> dict[str, Any]:
    """The row of a case that was not answered: no response, which is not an empty one, and why."""
    seen = {"sources": []} if why.found is None else _seen(why.found)
    return asked_row(case) | {"response": None, **seen, "failure": why.cause, "failure_detail": why.detail}


def replaced(tags: Iterable[str]) -> list[str]:
    """Those other columns of a file that don't come into a collected row, since a field of ours has their name."""
    return [name for name in tags if name in (*ASKED, *ANSWERED)]


UNREADABLE = "unreadable reply"
NO_ANSWER = "no answer in the reply"
_LIMITS = RowLimits(max_text=sys.maxsize, max_sources=sys.maxsize)
"""None: what was answered is kept as it is, and an evaluation has limits of its own."""
_IDS = ("ids", "retrieved", "source_ids", "document_ids", "doc_ids")


@dataclass(frozen=True, slots=True)
class ReplyPaths:
    """Where in a reply things stand; what is None is looked for under its usual names."""

    response: ValuePath | None = None
    sources: ValuePath | None = None
    """The retrieved texts, or objects with a text and an id."""
    ids: ValuePath | None = None
    """The ids of what was retrieved, in the same order."""


def read_reply(value: Any, places: ReplyPaths = ReplyPaths()) -> ApplicationReply:
    """A returned value as a reply: a text, which is the response, or a mapping.

    Of a mapping the response, the sources and the ids stand at the given places, else under one of their usual names.
    """
    try:
        if isinstance(value, str) and places.response is None:
            return ApplicationReply(text_of("response", value, RowContext(_LIMITS)))
        response = _response(value, places.response)
        usual = next((name for name in _IDS if name in value), None) if isinstance(value, Mapping) else None
        ids = _ids(_value(value, places.ids, usual))
        return ApplicationReply(response, *_retrieved(_value(value, places.sources, aliased(value, "sources")), ids))
    except RowProblem as problem:
        raise Unanswered(UNREADABLE, f"the {problem.field or 'reply'} of the reply {problem.reason}") from None


def _response(value: Any, path: ValuePath | None) -> str:
    if path is None and not isinstance(value, Mapping):
        names = "'response' and 'sources'"
        raise Unanswered(UNREADABLE, f"the reply is {described(value)}: give a text, or an object with {names}")
    key = aliased(value, "response")
    if path is None and key is None:
        names = ", ".join(ALIASES["response"])
        keys = keys_of(value)
        reason = f"the reply has none of {names}; its keys are {keys}: name the place with --response-path"
        raise Unanswered(UNREADABLE, reason)
    found = _value(value, path, key)
    if path is not None:
        found = in_one_piece(path, found)
    if found is None:
        raise Unanswered(NO_ANSWER, f"the reply has null at {path.text if path else key!r}", broken=False)
    return text_of("response", found, RowContext(_LIMITS))


def _value(value: Any, path: ValuePath | None, key: str | None) -> Any:
    if path is None:
        return None if key is None else value[key]
    try:
        return path.of(value)
    except NotThere as error:
        raise Unanswered(UNREADABLE, f"the reply has no {path.text!r}: {error}") from None


def aliased(value: Any, field: str) -> str | None:
    """The key that names a field, the preferred name first."""
    if not isinstance(value, Mapping):
        return None
    keys = [key for key in value if isinstance(key, str) and field_named(key) == field]
    return min(keys, key=lambda key: (key != field, keys.index(key)), default=None)


def _ids(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    items = value if isinstance(value, list | tuple) else [value]
    for item in items:
        if not isinstance(item, str | int) or isinstance(item, bool):
            raise RowProblem("ids", f"holds {described(item)}: an id is a text or a whole number")
    return tuple(clean(str(item), []) for item in items)


def _retrieved(value: Any, ids: tuple[str, ...]) -> tuple[tuple[Source, ...], tuple[str, ...]]:
    """Sources and ids, each with the other where both are known."""
    sources = () if value is None else sources_of(value, RowContext(_LIMITS))
    if not sources:
        return (), ids
    if not ids:
        known = tuple(source.id for source in sources if source.id is not None)
        return sources, known if len(known) == len(sources) else ()
    if len(ids) != len(sources):
        raise RowProblem(
            "ids", f"are {len(ids)}, but there are {len(sources)} sources: one id a source, in their order"
        )
    return tuple(Source(source.text, name) for source, name in zip(sources, ids, strict=True)), ids


@dataclass(frozen=True, slots=True)
class SampledApplication:
    """An application that is asked for samples: see `SampledAnswers.of`."""

    application: Application

    @property
    def most_at_once(self) -> int | None:
        """As of the application."""
        return self.application.most_at_once

    async def ask(self, case: Case) -> ApplicationReply:
        """Ask one query again."""
        return await self.application.ask(replace(case, id=case.id.rpartition("#")[0]))

    async def close(self) -> None:
        """Let go of connections."""
        await self.application.close()


Answering = Application | SampledApplication
"""What is asked."""
FIRST = 10
"""So many failures, and no answer yet, are enough to know that the application can't be asked."""
LONGEST_WAIT = 120.0
"""Seconds; a server that asks for more is taken to be down."""
LONGEST_PAUSE = 30.0
"""Seconds between two attempts where the server doesn't say how long to wait."""


class Lines(Protocol):
    """Where answers go."""

    @property
    def tally(self) -> CollectionTally:
        """What is there, in numbers."""

    def has(self, case: Case) -> bool:
        """Whether a case was asked before; an InputError where another query was, under its id."""

    def add(self, row: Mapping[str, Any]) -> None:
        """Keep one row."""


@dataclass(frozen=True, slots=True)
class RequestPolicy:
    """How an application is asked."""

    concurrency: int = 8
    timeout: float = 120.0
    """Seconds that an attempt may take."""
    attempts: int = 4
    """How often a query is asked at most, where the application is busy, broken for the moment or out of reach."""
    pause: float = 0.5
    """Seconds before the second attempt; doubled before every further one."""


def ask_all(
    cases: Iterable[Case], application: Answering, lines: Lines, policy: RequestPolicy, advance: Callable[[], None]
) -> None:
    """Ask all cases that the file doesn't hold yet, and append each as soon as it is known.

    The cases are read as a stream, the application is closed at the end, and `advance` is called for each case that was
    asked now.

    Raises:
        ApplicationError: nothing was answered, or it is down: says why. What the failure alone says (an address that
            can't be reached, a reply that can't be read) is then not written, so that the same command asks it again.
        InputError: the file holds another query under the id of a case.
        OSError: the file can't be written any more.
    """
    run_unbounded(ask_all_async(cases, application, lines, policy, advance))


async def ask_all_async(
    cases: Iterable[Case], application: Answering, lines: Lines, policy: RequestPolicy, advance: Callable[[], None]
) -> None:
    """`ask_all` where an event loop runs already; it asks on that one."""
    await _Asking(application, lines, policy, advance).all(iter(cases))


class _Asking:
    def __init__(
        self, application: Answering, lines: Lines, policy: RequestPolicy, advance: Callable[[], None]
    ) -> None:
        self._application, self._lines, self._policy, self._advance = application, lines, policy, advance
        self._not_before = 0.0
        self._answered = False
        self._streak: list[Unanswered] = []
        """Failures since the last sign of life."""
        self._held: list[dict[str, Any]] = []
        """Cases that failed for a reason that may lie in the settings: written once the application gives an answer."""

    async def all(self, cases: Iterator[Case]) -> None:
        at_once = min(self._policy.concurrency, self._application.most_at_once or self._policy.concurrency)
        workers = [asyncio.ensure_future(self._work(cases)) for _ in range(at_once)]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            await self._application.close()
        if self._held and not self._lines.tally.answered:
            raise ApplicationError(f"no query was answered: {self._streak[-1].detail}")
        self._write_held()

    async def _work(self, cases: Iterator[Case]) -> None:
        for case in cases:
            if self._lines.has(case):
                continue
            try:
                reply, seconds = await self._ask(case)
            except Unanswered as why:
                self._failed(case, why)
            else:
                self._alive()
                self._answered = True
                self._lines.add(answered_row(case, reply, seconds))
            self._advance()

    async def _ask(self, case: Case) -> tuple[ApplicationReply, float]:
        """The reply, and the seconds that it took."""
        attempt = 0
        while True:
            attempt += 1
            while (wait := self._not_before - time.monotonic()) > 0:  # noqa: ASYNC110  # a reply may prolong it
                await asyncio.sleep(wait)
            begun = time.monotonic()
            try:
                async with asyncio.timeout(self._policy.timeout):
                    return await self._application.ask(case), time.monotonic() - begun
            except TimeoutError as error:
                detail = f"no answer within {self._policy.timeout:g} s (--app-timeout)"
                told = error.__cause__.args if error.__cause__ else ()  # of the cancellation: what was found before it
                found = next((one for one in told if isinstance(one, ApplicationReply)), None)
                raise Unanswered(TIMED_OUT, detail, broken=False, found=found) from None
            except Unanswered as why:
                if not why.again or attempt >= self._policy.attempts or (why.wait or 0) > LONGEST_WAIT:
                    raise
                await self._pause(why, attempt)

    async def _pause(self, why: Unanswered, attempt: int) -> None:
        """Wait until the next attempt; where the server names the time, all wait."""
        if why.wait is not None:
            self._not_before = max(self._not_before, time.monotonic() + why.wait)
            return
        longest = min(self._policy.pause * 2 ** (attempt - 1), LONGEST_PAUSE)
        await asyncio.sleep(longest * random.uniform(0.75, 1.25))  # noqa: S311  # spreads attempts, hides nothing

    def _failed(self, case: Case, why: Unanswered) -> None:
        row = failed_row(case, why)
        if self._answered and not why.down:
            self._alive()
            self._lines.add(row)
            return
        self._streak.append(why)
        if why.broken:
            self._held.append(row)
        else:
            self._lines.add(row)
        # what runs at once fails at once: one short outage must not look like a streak
        most = max(FIRST, 2 * self._policy.concurrency) if self._answered else FIRST
        if len(self._streak) >= most:
            before = "since its last answer" if self._answered else "and nothing was answered"
            raise ApplicationError(f"stopped: {len(self._streak)} queries failed {before}: {why.detail}")

    def _alive(self) -> None:
        self._streak.clear()
        self._write_held()

    def _write_held(self) -> None:
        for row in self._held:
            self._lines.add(row)
        self._held.clear()
