"""Texts that a model is asked to write: over the channel of its verdicts, and kept as they come."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ragtriage.core.amount import Amount
from ragtriage.core.verdicts import Component, Failure
from ragtriage.judges.llm.batches import BatchQueue
from ragtriage.judges.llm.channel import RetriesExhausted
from ragtriage.judges.llm.judge import AskModel
from ragtriage.judges.llm.kinds import object_schema, texts_in
from ragtriage.judges.llm.options import Prompt, Reply
from ragtriage.judges.llm.reply_json import json_object
from ragtriage.judges.wrappers.cached import KEY_SIZE, AnswerMemory, CachedAnswer

Lists = Mapping[str, tuple[str, ...]]
"""Member of the reply → its texts."""


@dataclass(frozen=True)
class Writer:
    """A model that writes lists of texts.

    What it wrote is kept before it is handed out, so the same prompt is never paid twice, whenever a command ended.
    """

    name: str
    """`provider:model`."""
    ask: AskModel
    """How a prompt gets its reply, with limits, budget and retries."""
    memory: AnswerMemory
    """What keeps replies."""
    identity: str = ""
    """What else they depend on: the server's address, parameters."""
    guidance: str = ""
    """What is put behind every head."""
    spent: Callable[[], Amount] = Amount
    """What was spent so far, which is kept with a reply."""
    queue: BatchQueue | None = None
    """What prompts go through; None where requests are sent one by one."""

    async def lists(self, prompt: Prompt, members: tuple[str, ...]) -> Lists | Failure:
        """The texts that the model writes to a prompt of `asking_for_lists`, each once, in its order."""
        prompt = replace(prompt, system=prompt.system + self.guidance)
        method = hashlib.blake2b(f"{self.name}\0{self.identity}".encode(), digest_size=6).hexdigest()
        asked = json.dumps([method, prompt.system, prompt.user, prompt.schema], sort_keys=True)
        key = hashlib.blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=KEY_SIZE).digest()
        known = self.memory.recall([key]).get(key)
        if isinstance(known, tuple):
            return _read(known[0].text, members)

        def read(reply: Reply) -> Lists:
            """Read a reply and keep it, before another request starts in its place."""
            found = _read(reply.text, members)
            kept = (Component(json.dumps(found, ensure_ascii=False)),)
            entry = CachedAnswer(key, "written", f"llm:{self.name[:80]}:{method}", kept)
            self.memory.remember([entry], self.spent())
            self.memory.flush()
            return found

        try:
            return await self.ask(prompt, read)
        except RetriesExhausted as error:
            return Failure(str(error))

    def close(self) -> None:
        """Let go of the tickets of the replies, which are kept."""
        if self.queue:
            self.queue.close()


def asking_for_lists(system: str, user: str, members: tuple[str, ...], largest_reply: int) -> Prompt:
    """A prompt whose reply is an object of lists of texts."""
    properties: dict[str, Any] = {member: {"type": "array", "items": {"type": "string"}} for member in members}
    return Prompt(system, user, object_schema(properties), largest_reply)


def _read(text: str, members: tuple[str, ...]) -> Lists:
    said = json_object(text)
    return {member: texts_in(said, member) for member in members}
