"""An object of a framework as the application under test, and into which of its inputs the question goes."""

import asyncio
import inspect
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Protocol, Self

from ragtriage.adapters.retrieval_notes import RetrievalNotes
from ragtriage.collect.application import NO_ANSWER, UNREADABLE, ApplicationReply, Unanswered, aliased
from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError
from ragtriage.core.event_loops import in_a_thread
from ragtriage.readers.field_values import ALIASES
from ragtriage.readers.named_functions import told
from ragtriage.readers.text_values import clean, described

QUERY_KEYS = ("question", "query", "input", "user_input")
"""The names of an input that takes the question."""
HISTORY = "chat_history"
"""The name of an input that takes the conversation before it."""


def query_key(name: str, keys: Collection[str], given: str | None) -> str | None:
    """The one input that takes the question, the one that the user `given` names; None if none of them is so named.

    `keys` are empty if they aren't known. A ConfigError where that isn't there, or several are so named.
    """
    if given is not None:
        if keys and given not in keys:
            raise ConfigError(f"--app {name}: has no input {given!r}; it has {', '.join(sorted(keys))}")
        return given
    fitting = [key for key in QUERY_KEYS if key in keys]
    if len(fitting) > 1:
        raise ConfigError(f"--app {name}: takes {', '.join(fitting)}: say with --app-input which is the question")
    return fitting[0] if fitting else None


def refuse_further(name: str, needed: AbstractSet[str], key: str | None) -> None:
    """Refuse, with what it needs, an application that needs more than the question."""
    if needed - {key, HISTORY}:
        if key is None:
            hint = "name the one that takes the question with --app-input"
        else:
            hint = "only the question can be given, so name the whole application, with its retriever"
        raise ConfigError(f"--app {name}: needs {', '.join(sorted(needed))}: {hint}")


def messages(case: Case) -> list[dict[str, str]]:
    """The conversation before the question, a mapping a message."""
    return [{"role": turn.role, "content": turn.text} for turn in case.history]


WRAPPERS = frozenset({"PipelineRuntimeError", "WorkflowRuntimeError"})
"""Exceptions by which frameworks say where another was raised."""


class Adapter(Protocol):
    """Asks an object of one kind."""

    @property
    def kind(self) -> str:
        """What the object is, in words."""

    @property
    def remembers(self) -> bool:
        """Whether it has one memory for all that it is asked, so that it can be asked one query at a time only."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What its user should know, in sentences."""

    async def answer(self, case: Case, retrieved: RetrievalNotes) -> str | None:
        """Ask it; what it retrieves is noted. A retriever gives None; what is no answer is Unanswered."""


class ObjectApplication:
    """Asks an object of a framework."""

    takes_temperature = False

    def __init__(self, name: str, adapter: Adapter, *, built: bool = False) -> None:
        self.name = f"{name} ({adapter.kind})"
        self._adapter = adapter
        self.most_at_once = 1 if adapter.remembers and not built else None
        alone = "it has one memory, so it is asked one question at a time (--app 'module:build()' makes several)"
        self.notes = (*((alone,) if self.most_at_once else ()), *adapter.notes)

    async def ask(self, case: Case) -> ApplicationReply:
        """Ask it; an exception is the reason why there is no answer, and what was retrieved before it is kept.

        A cancellation tells it as its argument.
        """
        retrieved = RetrievalNotes()
        try:
            response = await self._adapter.answer(case, retrieved)
        except asyncio.CancelledError as given_up:
            given_up.args = (retrieved.reply(None),)
            raise
        except Unanswered as why:
            raise replace(why, found=retrieved.reply(None)) from None
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the user's code may raise anything
            raised: BaseException = error
            while type(raised).__name__ in WRAPPERS and raised.__cause__:
                raised = raised.__cause__
            cause = f"exception {type(raised).__name__}"
            raise Unanswered(cause, told(raised), broken=False, found=retrieved.reply(None)) from None
        return retrieved.reply(None if response is None else clean(response, []))

    async def close(self) -> None:
        """Nothing to let go of."""

    def again(self, temperature: float | None) -> Self:  # noqa: ARG002  # it can't be told
        """The same object."""
        return self


async def whole(value: Any, retrieved: RetrievalNotes) -> Any:
    """A value; of a stream all pieces, joined."""
    if hasattr(value, "__aiter__"):
        pieces = []
        async for piece in value:
            retrieved.piece_came()
            pieces.append(piece)
    elif inspect.isgenerator(value):
        pieces = []
        end = object()
        while (piece := await in_a_thread(lambda: next(value, end))) is not end:
            retrieved.piece_came()
            pieces.append(piece)
    else:
        return value
    return "".join(text_in(piece) or "" for piece in pieces)


def text_in(value: Any) -> str | None:
    """The text of a text or a message, of a message in blocks that of its text blocks; None if it is something else."""
    content = getattr(value, "content", value)
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [block if isinstance(block, str) else _text_of_block(block) for block in content]
    return "".join(text for text in texts if text is not None)


def _text_of_block(block: Any) -> str | None:
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    return text if isinstance(text, str) else None


def answer_in(value: Any) -> str:
    """The response in what an object gave back: a text, a message, or a mapping with one; else Unanswered."""
    key = aliased(value, "response")
    found = value if key is None else value[key]
    text = None if isinstance(found, list) and key is None else text_in(found)
    if text is None and key is not None and found is None:
        raise Unanswered(NO_ANSWER, f"it gave null at {key!r}", broken=False)
    if text is None:
        shape = f"give a text, or a mapping with one of {', '.join(ALIASES['response'])}"
        raise Unanswered(UNREADABLE, f"it gave {described(value)}: {shape}")
    return text
