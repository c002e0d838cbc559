"""Lets requests through to a model: how many at once, how often, how often again, and for how much money."""

import asyncio
import random as chance
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Generic, NoReturn, TypeVar

from ragtriage.core.errors import JudgeError
from ragtriage.judges.budget import Ledger
from ragtriage.judges.llm.admission import Admission, ConcurrencyController, MinuteLimits
from ragtriage.judges.llm.options import (
    ExchangeError,
    LLMOptions,
    MalformedReply,
    ModelUnusable,
    Price,
    Prompt,
    RateLimited,
    Reply,
    RequestRejected,
    Send,
    ThinksFirst,
    TransientError,
)

T = TypeVar("T")

ATTEMPTS = 6
"""Of a request that fails for the moment."""
READINGS = 5
"""Replies that don't fit after which a request is given up."""
FIRST_READINGS = 10
"""If none of the first so many replies fits, none will."""
FIRST_THOUGHTS = 5
"""The same, of replies that are thoughts where one letter was asked for."""
GROWTH = 4
"""How many times longer a reply may become than was asked for at first, where it is cut off."""
PLAIN_REPLIES = 3
"""Replies without thoughts after which no more room is given for any: a small model that never ends its reply must not
fill it."""
LOOP, LOOPS = 60, 5
"""The last so many characters of a reply that was cut off, and how often they stand in one without an end."""
LONGEST_REFUSED = 1_000
"""Characters of a reply without an end that the model is shown when it is asked again."""
PATIENCE = 900.0
"""Seconds of nothing but requests to slow down after which a request is given up."""
FIRST_BACKOFF, LONGEST_BACKOFF, LONGEST_BUSY_BACKOFF = 0.5, 30.0, 60.0
FIRST_REQUESTS = 5
"""If all of the first so many are rejected, every one will be."""
TELLING_REPLIES = 10
"""So many replies tell what requests cost beside what they were taken to."""
LARGEST_COST_FACTOR = 4.0
"""A reply that cost more than it should have at most raises what later ones may cost, by this factor at most."""


class RetriesExhausted(Exception):
    """One request failed for good; the text is the cause, a sentence."""


@dataclass(slots=True)
class _Attempts:
    number: int
    failed: int = 0
    busy: int = 0
    busy_since: float = 0.0
    replies_then: int = 0
    """How many replies the channel had had when this request was first asked to slow down."""
    cause: str = ""


class Channel:
    """The way to one model, for all who ask it.

    First come, first served, but repeated requests before new ones; while a request waits to be repeated it holds no
    slot. When a budget, a limit or `Ledger.stop` ends it, those who wait hear of it after the last request in flight
    has ended, so that nobody cancels what is paid for.

    Without a price a request is taken to cost nothing until its reply says otherwise. The name is what errors call the
    model. Where other processes send requests under the limits a minute too, these are `shared`.
    """

    def __init__(
        self,
        options: LLMOptions,
        ledger: Ledger,
        price: Price | None = None,
        *,
        name: str = "the model",
        shared: MinuteLimits | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = chance.random,
    ) -> None:
        self.ledger = ledger
        self._price = price
        self._name = name
        self._clock = clock
        self._random = random
        self.concurrency = ConcurrencyController(options.concurrency, options.rpm, options.tpm, shared)
        self.admission = Admission(self.concurrency, ledger, clock, sleep)
        self._begun = 0
        self._replies = 0
        self._misfits: int | None = 0
        """Replies that didn't fit; None once one did."""
        self._plain: int | None = 0
        """Replies that needed no room for thoughts; None once one did."""
        self._rejected = 0
        self._cost_factor = 1.0
        self._seen_factor = 1.0

    def expect(self, cost_factor: float) -> None:
        """Say how many times what its tokens cost a request may, until the first replies tell."""
        self._cost_factor = cost_factor

    async def ask(self, send: Send, prompt: Prompt, read: Callable[[Reply], T]) -> T:
        """Ask until the reply can be read.

        A reply that doesn't fit is asked for again, by turns with its fault and without; so is one without an end. One
        that was cut off gets twice the room, unless it can be read as far as it goes. Room for thoughts is only given
        until some replies have come that needed none.

        What can't be read raises `MalformedReply`. `RetriesExhausted` if this request fails, a `JudgeError` if every
        one would, as the model's first replies show, or no further one may start.
        """
        longest, problem = GROWTH * prompt.largest_reply, ""
        if self._plain is not None and self._plain >= PLAIN_REPLIES:
            prompt = replace(prompt, largest_reply=prompt.largest_reply - prompt.thought, thought=0)
        for reading in range(1, READINGS + 1):
            once, found = partial(send, prompt), _Reading(read, prompt.by_token)
            reply = await self.run(
                once, tokens_in=prompt.tokens, largest_reply=prompt.largest_reply, replied=found.take
            )
            if found.values:
                self._misfits = None
                self._count_plain(prompt, reply)
                return found.values[0]
            fault = found.fault
            if reply.truncated and is_endless(reply.text):
                cause, problem = "endless reply", "it says the same again and again without an end"
                self._count_misfit(MalformedReply(problem))
                prompt = replace(prompt, refused=(reply.text[:LONGEST_REFUSED], problem) if reading % 2 else None)
            elif fault is None or (reply.truncated and fault.longer):
                cause, problem = "truncated reply", f"it was cut off at {prompt.largest_reply} tokens"
                if prompt.largest_reply == longest:
                    self._count_misfit(MalformedReply(problem))
                prompt = replace(prompt, refused=None, largest_reply=min(2 * prompt.largest_reply, longest))
            else:
                cause, problem = "malformed reply", str(fault)
                self._count_misfit(fault)
                prompt = replace(prompt, refused=(reply.text, problem) if reading % 2 else None)
            self.ledger.failed_requests += 1
            if reading < READINGS:
                self.ledger.repeated[cause] += 1
        raise RetriesExhausted(f"the reply doesn't fit: {problem}")

    def _count_plain(self, prompt: Prompt, reply: Reply) -> None:
        """Whether a reply would have fitted without the room for thoughts; one that wouldn't tells for all."""
        if self._plain is not None and prompt.thought:
            plain = 0 < reply.tokens_out <= prompt.largest_reply - prompt.thought
            self._plain = self._plain + 1 if plain else None

    def _count_misfit(self, fault: MalformedReply) -> None:
        if self._misfits is None:
            return
        self._misfits += 1
        if isinstance(fault, ThinksFirst) and self._misfits >= FIRST_THOUGHTS:
            self._close(
                f"{self._name} thinks before it replies, so none of its first {self._misfits} replies begins with a "
                "letter: switch its thinking off, or ask several questions in a request (--batch-size)",
                fault,
            )
        if self._misfits == FIRST_READINGS:
            self._close(
                f"{self._name} writes nothing that fits: none of its first {FIRST_READINGS} replies did (of the last, "
                f"{fault}); {fault.advice}",
                fault,
            )

    async def run(
        self,
        once: Callable[[], Awaitable[Reply]],
        *,
        tokens_in: int,
        largest_reply: int,
        replied: Callable[[Reply], None] = lambda _: None,
    ) -> Reply:
        """Make one request, and repeat it while that may help.

        `once` makes one attempt, or raises an `ExchangeError`; `replied` is called before another request may start in
        its place. Raises as `ask`.
        """
        past = _Attempts(self._begun)
        self._begun += 1
        tokens = tokens_in + largest_reply
        price = self._price.of(tokens_in, largest_reply) if self._price else 0.0
        while True:
            slot = await self.admission.enter(tokens, price * self._cost_factor, repeated=past.cause != "")
            if past.cause:
                self.ledger.repeated[past.cause] += 1
            reply, took = None, tokens_in
            try:
                reply = await once()
                replied(reply)
            except ExchangeError as error:
                wait = self._wait_after(error, past, slot.number)
            else:
                self._replies += 1
                self.ledger.answers_as(self._name, reply.model)
                self.concurrency.replied()
                took = (reply.tokens_in + reply.tokens_out) or tokens
                if price and reply.price:
                    self._seen_factor = max(self._seen_factor, min(reply.price / price, LARGEST_COST_FACTOR))
                    if self._seen_factor > self._cost_factor or self._replies >= TELLING_REPLIES:
                        self._cost_factor = self._seen_factor
                return reply
            finally:
                self.admission.leave(slot, reply, took)
            await self.admission.rest(wait)

    def _wait_after(self, error: ExchangeError, past: _Attempts, number: int) -> float:
        """Seconds until the request is sent again."""
        if isinstance(error, ModelUnusable):
            self._close(str(error), error)
        if isinstance(error, RateLimited):
            return self._wait_after_busy(error, past, number)
        cause = str(error).rstrip(".")
        if isinstance(error, RequestRejected):
            self._rejected += past.number < FIRST_REQUESTS and not error.alone
            if self._rejected == FIRST_REQUESTS and not self._replies:
                self._close(f"{self._name} rejects every request: {cause}; look at the model and its options", error)
            raise RetriesExhausted(str(error)) from error
        past.busy = 0
        past.failed += 1
        past.cause = cause.split(": ")[0][:60] or "no reply"
        after = error.after if isinstance(error, TransientError) else None
        wait = after if after and after > 0 else self._random() * _backoff(past.failed, LONGEST_BACKOFF)
        if past.failed < ATTEMPTS and wait <= PATIENCE:
            return wait
        if not self._replies:
            self._close(f"{self._name} gives no answer: {cause}; look at its address and at your network", error)
        raise RetriesExhausted(f"no answer, asked {past.failed} times: {cause}") from error

    def _wait_after_busy(self, error: RateLimited, past: _Attempts, number: int) -> float:
        now = self._clock()
        if not past.busy:
            past.busy_since, past.replies_then = now, self._replies
        past.busy += 1
        past.cause = "429"
        half = _backoff(past.busy, LONGEST_BUSY_BACKOFF) / 2
        wait = error.after if error.after and error.after > 0 else half + self._random() * half
        if now + wait - past.busy_since <= PATIENCE:
            self.concurrency.slow_down(number, now + wait)
            return wait
        cause = str(error).rstrip(".")
        if not self._replies:
            self._close(f"{self._name} gives no answer: {cause} (429); look at your limits and credit there", error)
        if self._replies == past.replies_then:
            self.ledger.stop(
                f"stopped, as {self._name} answers nothing now: {cause}; give the same command later to go on"
            )
            return 0.0
        raise RetriesExhausted(f"no answer for {PATIENCE / 60:.0f} minutes: {cause}") from error

    def _close(self, sentence: str, error: Exception) -> NoReturn:
        """Give everybody the same error from now on."""
        raise JudgeError(self.admission.close(sentence)) from error


@dataclass(slots=True)
class _Reading(Generic[T]):
    read: Callable[[Reply], T]
    in_part: bool
    """Whether a reply that was cut off is read as far as it goes."""
    values: list[T] = field(default_factory=list)
    fault: MalformedReply | None = None

    def take(self, reply: Reply) -> None:
        """Read a reply, unless it was cut off and is of no use then."""
        if reply.truncated and not self.in_part:
            return
        try:
            self.values.append(self.read(reply))
        except MalformedReply as error:
            self.fault = error


def _backoff(failed: int, longest: float) -> float:
    """Seconds to wait at most after so many failures."""
    return min(FIRST_BACKOFF * 2.0 ** min(failed - 1, 16), longest)


def is_endless(text: str) -> bool:
    """Whether a text ends in what it has said over and over: more room wouldn't bring it to its end."""
    end = text[-LOOP:]
    return len(end) == LOOP and text.count(end) >= LOOPS
