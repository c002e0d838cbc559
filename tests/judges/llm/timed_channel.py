"""A channel in a time that passes at once, and a server that answers it from a script."""

import asyncio
import selectors
from functools import wraps

from ragtriage.judges.budget import Ledger
from ragtriage.judges.llm.channel import Channel
from ragtriage.judges.llm.options import LLMOptions, Price, RateLimited, Reply

YES = Reply("yes")
BUSY = RateLimited("slow down")
DOLLAR = Price(1e6, 1e6)
"""A dollar a token, in and out."""


class Instant(selectors.DefaultSelector):
    """Lets time pass instead of waiting."""

    def __init__(self):
        super().__init__()
        self.now = 0.0

    def select(self, timeout=None):
        """Whatever is ready; else the next timer is due at once."""
        found = super().select(0)
        if not found:
            assert timeout is not None, "everybody waits for ever"
            self.now += timeout
        return found


class Loop(asyncio.SelectorEventLoop):
    """An event loop with a clock of its own."""

    def __init__(self):
        self.instant = Instant()
        super().__init__(self.instant)

    def time(self):
        """Seconds since it began."""
        return self.instant.now


def in_no_time(scenario):
    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(scenario)


def timed(test):
    """An asynchronous test, in a time of its own that passes at once."""

    @wraps(test)
    def run(*given, **named):
        in_no_time(test(*given, **named))

    return run


def now():
    return asyncio.get_running_loop().time()


class Server:
    """Answers requests from a script, and remembers when each came.

    Args:
        script: what becomes of each request in order: a reply, an error, or both with the seconds that it takes; the
            last one goes on.
        latency: seconds, where the script doesn't say.
        most: in flight, before it is busy.
    """

    def __init__(self, *script, latency=1.0, most=1000):
        self.script = list(script) or [YES]
        self.latency = latency
        self.most = most
        self.came = []
        self.prompts = []
        self.in_flight = 0
        self.peak = 0
        self.ended = 0

    async def __call__(self):
        """One attempt."""
        self.came.append(now())
        outcome = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        outcome, latency = outcome if isinstance(outcome, tuple) else (outcome, self.latency)
        if self.in_flight >= self.most:
            raise RateLimited("too many")
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            await asyncio.sleep(latency)
        finally:
            self.in_flight -= 1
        self.ended += 1
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def send(self, prompt):
        """See `Send`."""
        self.prompts.append(prompt)
        return await self()


def channel(ledger=None, price=None, random=lambda: 0.5, **options):
    return Channel(LLMOptions(**options), ledger or Ledger(), price, name="the oracle", clock=now, random=random)


def requests(way, once, count, tokens_in=1, largest_reply=1):
    return [
        asyncio.ensure_future(way.run(once, tokens_in=tokens_in, largest_reply=largest_reply)) for _ in range(count)
    ]


def all_of(way, once, count, **tokens):
    """The replies and errors of so many requests that come together."""

    async def scenario():
        return await asyncio.gather(*requests(way, once, count, **tokens), return_exceptions=True)

    return in_no_time(scenario())


def causes(results):
    return [str(result) for result in results if isinstance(result, Exception)]
