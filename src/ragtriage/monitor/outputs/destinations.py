"""The tools that scores can be sent to: what `destinations.toml` says of them, and what is code."""

import base64
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any
from urllib.parse import unquote

from ragtriage.monitor.outputs import listed, one_by_one
from ragtriage.monitor.outputs.entries import Entry, Environment, NotSent, ToolRequest
from ragtriage.monitor.outputs.scores import ConversationMean, ScoredBy, ScoredTrace


@dataclass(frozen=True)
class Destination:
    """A tool that scores can be sent to.

    What is sent again must not make a score twice: either what a tool takes replaces what it has under the same id,
    name or mark (`repeatable`), or entries that it has are changed by another request (`again`).
    """

    name: str
    """As its flag is called."""
    title: str
    variables: str
    """Which variables hold its keys, for messages."""
    entries: Callable[[ScoredTrace, ScoredBy], Iterator[Entry | NotSent]]
    """The scores, and verdicts on sources, of one case."""
    body: Callable[[Sequence[Entry]], str]
    """Entries of one path → the body of a request, JSON."""
    means: Callable[[ConversationMean, ScoredBy], Iterator[Entry]] | None = None
    """The mean of a conversation; None for a tool that has no place for it."""
    again: Callable[[Entry, str], ToolRequest] | None = None
    """The request that changes an entry, by what the tool calls it."""
    remote: Callable[[Entry, Any], str | None] = lambda _entry, _reply: None
    """What a tool calls an entry, from its reply."""
    find: Callable[[Entry], tuple[str, Callable[[Any], str | None]]] | None = None
    """Where a tool can be asked (GET) whether it has an entry, and what it calls it, from the reply."""
    rejected: Callable[[Any], int] = lambda _: 0
    """How many entries a tool says it did not take, in a reply that is no refusal."""
    ask_project: Callable[[str], tuple[str, Callable[[Any], str | None]]] | None = None
    """Where a tool can be asked (GET) for what it calls a project of this name, and how its reply is read."""
    method: str = "POST"
    most: int = 1
    """Entries of a request."""
    most_bytes: int = 1_000_000
    """Of a request."""
    in_flight: int = 2
    """Requests at a time."""
    repeatable: bool = True
    sources: bool = False
    """Whether it has a place for verdicts on single sources."""
    bearer: Sequence[str] = ()
    basic: Sequence[str] = ()
    header: Mapping[str, Sequence[str]] = field(default_factory=dict)
    listed: Sequence[str] = ()
    project: Sequence[str] = ()

    def headers(self, env: Environment) -> dict[str, str]:
        """Those that hold keys."""
        if key := _first(env, self.bearer):
            return {"Authorization": f"Bearer {key}"}
        if self.basic and all(env.get(name) for name in self.basic):
            both = ":".join(env[name] for name in self.basic)
            return {"Authorization": f"Basic {base64.b64encode(both.encode()).decode()}"}
        pairs = (item.partition("=") for item in _first(env, self.listed).split(",") if "=" in item)
        found = {name: _first(env, variables) for name, variables in self.header.items()}
        found |= {name.strip(): unquote(value.strip()) for name, _, value in pairs}
        return {name: value for name, value in found.items() if value}

    def project_of(self, env: Environment) -> str | None:
        """What the environment calls the project that the traces are in."""
        return _first(env, self.project) or None


def _first(env: Environment, names: Sequence[str]) -> str:
    return next((env[name] for name in names if env.get(name)), "")


def _alone(entries: Sequence[Entry]) -> str:
    (entry,) = entries
    return entry.text


def _list(entries: Sequence[Entry]) -> str:
    return "[" + ", ".join(entry.text for entry in entries) + "]"


def _list_as(name: str) -> Callable[[Sequence[Entry]], str]:
    return lambda entries: f'{{"{name}": {_list(entries)}}}'


_CODE: Mapping[str, Mapping[str, Any]] = {
    "otlp": {"entries": listed.otlp_entries, "body": listed.otlp_batch, "rejected": listed.otlp_rejected},
    "phoenix": {"entries": listed.phoenix_entries, "body": _list_as("data"), "means": listed.phoenix_means},
    "langfuse": {"entries": listed.langfuse_entries, "body": _list, "rejected": listed.langfuse_rejected},
    "mlflow": {
        "entries": one_by_one.mlflow_entries, "body": _alone, "again": one_by_one.mlflow_again,
        "remote": one_by_one.mlflow_remote, "find": one_by_one.mlflow_find,
    },
    "opik": {"entries": listed.opik_entries, "body": _list_as("scores"), "means": listed.opik_means},
    "langsmith": {
        "entries": one_by_one.langsmith_entries, "body": _alone, "again": one_by_one.langsmith_again,
        "remote": one_by_one.langsmith_remote, "ask_project": one_by_one.langsmith_project,
    },
}  # fmt: skip
_TABLE = tomllib.loads(files(__package__).joinpath("destinations.toml").read_text("utf-8"))
DESTINATIONS: Mapping[str, Destination] = {
    name: Destination(name, **_CODE[name], **facts) for name, facts in _TABLE.items()
}
"""By name, which is that of the flag."""
