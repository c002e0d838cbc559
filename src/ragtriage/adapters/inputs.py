"""Into which input of an application the question goes."""

from __future__ import annotations

from collections.abc import Collection
from collections.abc import Set as AbstractSet

from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError

QUERY_KEYS = ("question", "query", "input", "user_input")
"""The names of an input that takes the question."""
HISTORY = "chat_history"
"""The name of an input that takes the conversation before it."""


def query_key(name: str, keys: Collection[str], given: str | None) -> str | None:
    """The one input of an application that takes the question; None if none of them is so named.

    Args:
        name: the application, for messages.
        keys: its inputs; empty if they aren't known.
        given: what the user named.

    Raises:
        ConfigError: the user named one that isn't there, or several are so named.
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
    """Refuse an application that needs more than the question.

    Raises:
        ConfigError: with what it needs.
    """
    if needed - {key, HISTORY}:
        if key is None:
            hint = "name the one that takes the question with --app-input"
        else:
            hint = "only the question can be given, so name the whole application, with its retriever"
        raise ConfigError(f"--app {name}: needs {', '.join(sorted(needed))}: {hint}")


def messages(case: Case) -> list[dict[str, str]]:
    """The conversation before the question, a mapping a message."""
    return [{"role": turn.role, "content": turn.text} for turn in case.history]
