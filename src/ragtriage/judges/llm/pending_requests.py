"""Requests to a batch API whose answers somebody waits for, and the tickets by which a later command collects them."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from ragtriage.core.display import plural
from ragtriage.core.errors import JudgeError, RagtriageError
from ragtriage.judges.budget import Ledger
from ragtriage.judges.llm.channel import GROWTH, RetriesExhausted
from ragtriage.judges.llm.options import (
    ExchangeError,
    LLMOptions,
    MalformedReply,
    ModelUnusable,
    Prompt,
    RateLimited,
    Reply,
    TransientError,
)

if TYPE_CHECKING:
    from pydantic_ai.models.batch import Batch

KEY_SIZE = 16
"""Bytes of a ticket's key."""
TRIES = 3
"""How often a request is submitted before it is given up."""
NAPS = 20
"""A quiet time is as many naps in a row, so that a loop that is busy or stood still doesn't pass for a quiet one."""
SHOWN = 5
"""Batches that are named in a sentence."""


class Tickets(Protocol):
    """What keeps tickets between commands; nothing in them is secret. Every method may raise a `StoreError`."""

    def get(self, keys: Sequence[bytes]) -> Mapping[bytes, str]:
        """The texts that are kept under these keys; keys without one are left out."""

    def put(self, entries: Mapping[bytes, str]) -> None:
        """Keep texts, safe from a killed process before this returns; what a key had is replaced."""

    def drop(self, keys: Sequence[bytes]) -> None:
        """Keep nothing under these keys any more."""


@dataclass(frozen=True, slots=True, eq=False)
class Ticket:
    """Where the reply to one request will be."""

    batch: Batch
    """The provider's batch, as it was when it was submitted."""
    number: str
    """The request's id in its batch."""
    tries: int = 0
    """How often it had been submitted before, without a usable reply."""


def key_of(name: str, options: LLMOptions, prompt: Prompt, trial: int = 0) -> bytes:
    """16 bytes that depend on the model, on everything that is sent to it, on the trial, and on nothing else."""
    method = name, options.base_url, options.temperature, options.reply, trial, *("by token",) * prompt.by_token
    text = json.dumps([method, prompt.system, prompt.user, dict(prompt.schema), prompt.largest_reply, prompt.refused])
    return hashlib.blake2b(text.encode(), digest_size=KEY_SIZE).digest()


class TicketBook:
    """The tickets of one queue: those that are kept, which of them somebody holds, and which were used.

    Several requests may have the same key: each holds a ticket of its own. Every method but `take`, `give_back` and
    `use` raises `StoreError` where tickets can't be read or kept.
    """

    def __init__(self, tickets: Tickets) -> None:
        self._tickets = tickets
        self._known: dict[bytes, list[Ticket]] = {}
        self._held: set[Ticket] = set()
        self._used: dict[Ticket, bytes] = {}

    def look_up(self, keys: Iterable[bytes]) -> None:
        """Read what is kept under these keys, where that hasn't been read yet."""
        wanted = [key for key in dict.fromkeys(keys) if key not in self._known]
        kept = self._tickets.get(wanted) if wanted else {}
        self._known |= {key: _read(kept[key]) if key in kept else [] for key in wanted}

    def take(self, key: bytes) -> Ticket | None:
        """A ticket that nobody holds, from now on held; None if there is none."""
        for ticket in self._known.get(key, ()):
            if ticket not in self._held:
                self._held.add(ticket)
                return ticket
        return None

    def give_back(self, ticket: Ticket) -> None:
        """Nobody holds it any more; it can be taken again."""
        self._held.discard(ticket)

    def add(self, fresh: Iterable[tuple[bytes, Ticket]]) -> None:
        """Keep new tickets, which are held."""
        keys = set()
        for key, ticket in fresh:
            self._known.setdefault(key, []).append(ticket)
            self._held.add(ticket)
            keys.add(key)
        self._tickets.put({key: _written(self._known[key]) for key in keys})

    def use(self, key: bytes, ticket: Ticket) -> None:
        """Its reply was read: it is dropped by the next `sweep`, and taken by nobody until then."""
        self._used[ticket] = key

    def sweep(self) -> None:
        """Drop what was used. What was made of the replies must be safe by now."""
        if not self._used:
            return
        keys = dict.fromkeys(self._used.values())
        left = {key: [ticket for ticket in self._known.pop(key, ()) if ticket not in self._used] for key in keys}
        gone = [key for key, tickets in left.items() if not tickets]
        rest = {key: tickets for key, tickets in left.items() if tickets}
        self._known |= rest
        if rest:
            self._tickets.put({key: _written(tickets) for key, tickets in rest.items()})
        if gone:
            self._tickets.drop(gone)
        self._held -= self._used.keys()
        self._used.clear()


def _written(tickets: Iterable[Ticket]) -> str:
    entries = []
    for ticket in tickets:
        batch = asdict(ticket.batch) | {"created_at": ticket.batch.created_at.isoformat()}
        entries.append({"batch": batch, "number": ticket.number, "tries": ticket.tries})
    return json.dumps(entries)


def _read(text: str) -> list[Ticket]:
    """The tickets in a text; none where it was written by a version that wrote them otherwise."""
    from pydantic_ai.models.batch import Batch  # noqa: PLC0415  # an optional package

    found = []
    try:
        for entry in json.loads(text):
            fields = entry["batch"]
            batch = Batch(**{**fields, "created_at": datetime.fromisoformat(fields["created_at"])})
            found.append(Ticket(batch, entry["number"], entry["tries"]))
    except (ValueError, TypeError, KeyError):
        return []
    return found


@dataclass(slots=True, eq=False)
class Pending:
    """A request whose answer somebody waits for."""

    key: bytes
    prompt: Prompt
    read: Callable[[Reply], Any]
    answer: asyncio.Future[Any]
    sent: Prompt
    """What is submitted: the prompt, or another one after a reply that didn't fit."""
    tries: int = 0
    """How often it was submitted in vain."""
    known: bool = False
    """Whether a ticket of an earlier command was looked for."""
    ticket: Ticket | None = None
    """Where its reply will be."""
    price: float = 0.0
    """What the ledger holds for it while it has a ticket, in US dollars."""


class PendingRequests:
    """All requests that wait, and what becomes of them."""

    def __init__(self, name: str, ledger: Ledger, book: TicketBook, largest_price: Callable[[Prompt], float]) -> None:
        self.arrivals = 0
        """How many have ever come."""
        self._name = name
        self._ledger = ledger
        self._book = book
        self._largest_price = largest_price
        self._all: dict[Pending, None] = {}
        self._events = 0

    def __bool__(self) -> bool:
        return bool(self._all)

    def __contains__(self, one: object) -> bool:
        return one in self._all

    def add(self, key: bytes, prompt: Prompt, read: Callable[[Reply], Any]) -> Pending:
        """Somebody begins to wait."""
        one = Pending(key, prompt, read, asyncio.get_running_loop().create_future(), prompt)
        self._all[one] = None
        self.arrivals += 1
        self._events += 1
        return one

    def leave(self, one: Pending) -> None:
        """Nobody waits for it any more. A ticket that it holds stays where it is, so that nothing paid for is lost."""
        self._all.pop(one, None)
        self._events += 1
        if one.ticket:
            self._ledger.withdraw(one.price)
            self._ledger.requests += 1  # it was sent all the same
            self._book.give_back(one.ticket)
            one.ticket = None

    async def quiet(self, seconds: float) -> None:
        """Until nobody has come or left for so long."""
        naps = 0
        while naps < NAPS:
            events = self._events
            await asyncio.sleep(seconds / NAPS)
            naps = naps + 1 if events == self._events else 0

    def find_tickets(self) -> None:
        """Give those without a ticket the one that an earlier command left for them."""
        self._book.look_up(one.key for one in self._all)
        for one in self._all:
            one.known = True
            if not one.ticket and (ticket := self._book.take(one.key)):
                one.tries = max(one.tries, ticket.tries)
                self.hold(one, ticket)
                self._ledger.requests -= 1  # an earlier command has sent it

    def hold(self, one: Pending, ticket: Ticket) -> None:
        """It is at the provider; its largest price counts as spent until it is settled."""
        one.ticket = ticket
        one.price = self._largest_price(one.sent)
        self._ledger.begin(one.price)
        if one not in self._all:
            self.leave(one)

    def to_submit(self) -> list[Pending]:
        """Those without a ticket; who has come since tickets were looked for isn't among them."""
        return [one for one in self._all if one.known and not one.ticket]

    def at_the_provider(self) -> Mapping[str, list[tuple[Pending, Ticket]]]:
        """The id of a batch → those who wait for it, with their tickets."""
        batches: dict[str, list[tuple[Pending, Ticket]]] = {}
        for one in self._all:
            if one.ticket:
                batches.setdefault(one.ticket.batch.id, []).append((one, one.ticket))
        return batches

    def settle(self, one: Pending, outcome: Reply | ExchangeError) -> None:
        """Hand out an answer, or give it up, or let it be submitted again."""
        if not one.ticket:
            return
        self._book.use(one.key, one.ticket)
        one.ticket = None
        self._ledger.end(one.price, outcome if isinstance(outcome, Reply) else None)
        match outcome:
            case Reply(truncated=True) if not one.prompt.by_token:
                self._cut_off(one)
            case Reply():
                self._ledger.answers_as(self._name, outcome.model)
                self._read(one, outcome)
            case RateLimited() | ModelUnusable():
                pass  # no fault of this request: it waits for what becomes of all
            case TransientError():
                self._again(one, "failed in its batch", str(outcome))
            case _:
                self.fail(one, RetriesExhausted(str(outcome)))

    def _read(self, one: Pending, reply: Reply) -> None:
        try:
            answer = one.read(reply)
        except MalformedReply as error:
            if reply.truncated and error.longer:
                self._cut_off(one)
            else:
                corrected = replace(one.prompt, refused=(reply.text, str(error)))
                self._misfit(one, corrected, "malformed reply", str(error))
        except Exception as error:  # noqa: BLE001  # whoever asked has to hear of it
            self.fail(one, error)
        else:
            self.leave(one)
            if not one.answer.done():
                one.answer.set_result(answer)

    def fail(self, one: Pending, error: Exception) -> None:
        """Raise this to whoever waits for it."""
        self.leave(one)
        if not one.answer.done():
            one.answer.set_exception(error)

    def end(self, error: Exception) -> None:
        """Raise this to all."""
        if not isinstance(error, RagtriageError):
            error = JudgeError(f"{self._name}: the batch API failed: {type(error).__name__}: {error}")
        for one in list(self._all):
            self.fail(one, error)

    def status(self) -> str:
        """What is at the provider, as a sentence; "" if nothing is."""
        batches = self.at_the_provider()
        if not batches:
            return ""
        are, have, them = ("is", "has", "it") if len(batches) == 1 else ("are", "have", "them")
        names = ", ".join(list(batches)[:SHOWN]) + (", …" if len(batches) > SHOWN else "")
        return (
            f"{plural(len(batches), 'batch', 'batches')} with "
            f"{plural(sum(map(len, batches.values())), 'request')} to {self._name} {are} submitted and {have} not "
            f"ended ({names}): give the same command again to collect {them}"
        )

    def _cut_off(self, one: Pending) -> None:
        longer = min(2 * one.sent.largest_reply, GROWTH * one.prompt.largest_reply)
        problem = f"it was cut off at {one.sent.largest_reply} tokens"
        self._misfit(one, replace(one.prompt, largest_reply=longer), "truncated reply", problem)

    def _misfit(self, one: Pending, sent: Prompt, cause: str, problem: str) -> None:
        self._ledger.failed_requests += 1
        one.sent = sent
        self._again(one, cause, f"the reply doesn't fit: {problem}")

    def _again(self, one: Pending, cause: str, problem: str) -> None:
        one.tries += 1
        if one.tries >= TRIES:
            self.fail(one, RetriesExhausted(f"{problem} (submitted {TRIES} times)"))
        else:
            self._ledger.repeated[cause] += 1
