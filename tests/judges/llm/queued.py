"""Requests by a batch API: a queue of a new command, its tickets in a dictionary, and what became of its prompts."""

import asyncio
import json
import re

from pydantic_ai.models.openai import OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

from batch_server import KEY, replying
from ragtriage.core.errors import Stopped
from ragtriage.judges.budget import Ledger
from ragtriage.judges.llm.batches import BatchQueue
from ragtriage.judges.llm.options import LLMOptions, MalformedReply, Price, Prompt

NAME = "openai:gpt-5-mini"
PRICE = Price(1.0, 10.0)
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
QUIET = 0
"""Seconds; twenty turns of the loop all the same."""


class Kept:
    """Tickets in a dictionary."""

    def __init__(self, entries=()):
        self.entries = dict(entries)
        self.filled = asyncio.Event()

    def get(self, keys):
        """See `Tickets`."""
        return {key: self.entries[key] for key in keys if key in self.entries}

    def put(self, entries):
        """See `Tickets`."""
        self.entries |= entries
        self.filled.set()

    def drop(self, keys):
        """See `Tickets`."""
        for key in keys:
            del self.entries[key]


def prompt(word, **others):
    return Prompt(**{"system": "Judge.", "user": f"<{word}>", "schema": SCHEMA, "largest_reply": 500} | others)


def read(reply):
    try:
        return json.loads(reply.text)["answer"]
    except (ValueError, KeyError):
        raise MalformedReply("it is no answer") from None


def asked(body):
    """The word that a request is about, and the words that follow in further messages."""
    words = [m["content"] if isinstance(m["content"], str) else m["content"][0]["text"] for m in body["input"]]
    return re.search("<(.*)>", "".join(words))[1]


def echo(body):
    return 200, replying(json.dumps({"answer": asked(body).upper()}))


def provider_of(server, key=KEY):
    provider = OpenAIProvider(base_url=server.address, api_key=key)
    provider.client.max_retries = 0
    return provider


def queue_at(server, tickets, *, key=KEY, options=None, ledger=None, **others):
    """A queue of a new command."""
    options = options or LLMOptions()
    ledger = ledger or Ledger(budget=options.budget, max_requests=options.max_requests)
    model = OpenAIResponsesModel("gpt-5-mini", provider=provider_of(server, key))
    return BatchQueue(NAME, options, ledger, tickets, **{"price": PRICE, "quiet": QUIET, "model": model} | others)


def at_once(*asking):
    """What these come to together, in an event loop of their own: answers and errors."""

    async def together():
        return await asyncio.gather(*asking, return_exceptions=True)

    return asyncio.run(together())


def answers(queue, words, killed=False):
    """What each prompt came to, in a command that ends in peace, or is killed as soon as that is known."""

    async def command():
        prompts = [word if isinstance(word, Prompt) else prompt(word) for word in words]
        found = await asyncio.gather(*(queue.ask(one, read) for one in prompts), return_exceptions=True)
        if not killed:
            await queue._worker
        return found

    return asyncio.run(command())


def submitted(server, *words, **others):
    """Tickets of a batch that a command submitted and that has ended since."""
    tickets = Kept()
    ended, server.ended = server.ended, lambda number: False
    answers(queue_at(server, tickets, **others), words)
    server.ended = ended
    return tickets


class Naps(list):
    """Sleeps for no time, and remembers for how long it was to sleep.

    Args:
        then: what happens meanwhile.
    """

    def __init__(self, then=lambda: None):
        super().__init__()
        self.then = then

    async def __call__(self, seconds):
        """See `asyncio.sleep`."""
        self.append(seconds)
        self.then()


def stopped(found):
    """The one sentence that all were told."""
    assert {type(one) for one in found} == {Stopped}
    assert len({str(one) for one in found}) == 1
    return str(found[0])
