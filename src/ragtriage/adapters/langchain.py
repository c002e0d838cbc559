"""Runnables of LangChain and graphs of LangGraph as applications; retrievers tell what they found by callbacks."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any
from uuid import UUID, uuid4

from ragtriage.adapters.asked_objects import HISTORY, answer_in, messages, query_key, refuse_further, whole
from ragtriage.adapters.packages import require
from ragtriage.adapters.retrieval_notes import RetrievalNotes, Search, document, outer
from ragtriage.collect.application import Unanswered
from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError
from ragtriage.readers.traces.attributes import FoundDocument

IDS = ("id", "doc_id", "chunk_id", "source")
SCORES = ("relevance_score", "score")
MESSAGES = "messages"
_UNKNOWN = "root"
"""The key by which LangChain says that an input has no keys."""


def langchain_object(name: str, found: Any, key: str | None) -> "LangChainRunnable | None":
    """An adapter for a runnable or a graph; None for another object."""
    return LangChainRunnable(name, found, key) if hasattr(found, "ainvoke") and hasattr(found, "with_config") else None


class LangChainRunnable:
    """Asks a runnable; its state is new for every question, and is not kept."""

    remembers = False
    notes = ()

    def __init__(self, name: str, runnable: Any, key: str | None) -> None:
        self._runnable = runnable
        self._is_graph = is_graph = hasattr(runnable, "builder")
        self.kind = "LangGraph graph" if is_graph else "LangChain runnable"
        require(*(("langgraph", "0.6.11") if is_graph else ("langchain-core", "0.3.86")))
        keys, needed = _state_keys(runnable.builder) if is_graph else _input_keys(runnable)
        self._key = query_key(name, keys, key) or (MESSAGES if MESSAGES in keys else None)
        if is_graph and self._key is None:
            there = f": its state has {', '.join(sorted(keys))}" if keys else ""
            raise ConfigError(f"--app {name}: say with --app-input which key takes the question{there}")
        if key is None:  # what LangChain reads off a function's source isn't always right
            refuse_further(name, set(needed), self._key)
        self._history = HISTORY if HISTORY in keys else None
        self._memory: Any = getattr(runnable, "checkpointer", None) if is_graph else None

    async def answer(self, case: Case, retrieved: RetrievalNotes) -> str | None:
        """Invoke it with a callback handler of this one question."""
        thread = uuid4().hex
        config: dict[str, Any] = {"callbacks": [_handler_class()(retrieved)]}
        if self._memory:
            config["configurable"] = {"thread_id": thread}
        try:
            value = await whole(await self._invoke(self._input(case), config), retrieved)
            if await self._stopped(value, config):
                raise Unanswered("interrupted", "the graph stopped and waits for a person", broken=False)
        finally:
            if hasattr(self._memory, "adelete_thread"):
                with suppress(NotImplementedError):
                    await self._memory.adelete_thread(thread)
        if not retrieved.ended:
            retrieved.given = next(_documents_in(value), None)
        if _are_documents(value) or (value == [] and retrieved.ended):
            return None
        spoken = value.get(MESSAGES) if isinstance(value, Mapping) else None
        last = spoken[-1] if isinstance(spoken, list) and spoken else None
        is_answer = getattr(last, "type", None) in {"ai", "AIMessageChunk"} and not getattr(last, "tool_calls", None)
        return answer_in(last if is_answer else value)

    def _invoke(self, value: Any, config: Any) -> Any:
        """Beside the callbacks that it has: those of a runnable stay as here, of a LangGraph 0.6 graph as there."""
        if self._is_graph:
            return self._runnable.with_config(config).ainvoke(value)
        return self._runnable.ainvoke(value, config=config)

    def _input(self, case: Case) -> Any:
        if self._key is None:
            return case.query
        if self._key == MESSAGES:
            return {MESSAGES: [*messages(case), {"role": "user", "content": case.query}]}
        return {self._key: case.query} | ({self._history: messages(case)} if self._history else {})

    async def _stopped(self, value: Any, config: Any) -> bool:
        if isinstance(value, Mapping) and value.get("__interrupt__"):
            return True
        breaks = ("interrupt_before_nodes", "interrupt_after_nodes")
        if not self._memory or not any(getattr(self._runnable, name, None) for name in breaks):
            return False
        return bool((await self._runnable.aget_state(config)).next)


def _state_keys(builder: Any) -> tuple[set[str], tuple[str, ...]]:
    """The keys of a graph's input, read off its class: a schema can't be made of every one."""
    schema = getattr(builder, "input_schema", None)
    return {key for one in getattr(schema, "__mro__", (schema,)) for key in getattr(one, "__annotations__", {})}, ()


def _input_keys(runnable: Any) -> tuple[Collection[str], Collection[str]]:
    """The keys of a runnable's input, and those that it needs; none where it takes a text, or nothing is known."""
    if isinstance(keys := getattr(runnable, "input_keys", None), list):
        return keys, keys
    try:
        schema = runnable.get_input_jsonschema()
    except Exception:  # noqa: BLE001  # pydantic refuses what it can't describe in many ways
        return (), ()
    if (place := schema.get("$ref")) and "$defs" in schema:  # of a graph behind another runnable
        schema = schema["$defs"].get(place.rpartition("/")[2], schema)
    if schema.get("type") == "string":
        return (), ()
    keys, needed = schema.get("properties", ()), schema.get("required", ())
    return [key for key in keys if key != _UNKNOWN], [key for key in needed if key != _UNKNOWN]


def _are_documents(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(hasattr(one, "page_content") for one in value)


def _documents_in(value: Any) -> Iterator[list[FoundDocument]]:
    """Documents in a result, for where no retriever spoke: of a mapping's values, or what its tools hand on."""
    values = [value, *(value.values() if isinstance(value, Mapping) else ())]
    yield from (list(map(_document, one)) for one in values if _are_documents(one))
    spoken = value.get(MESSAGES, ()) if isinstance(value, Mapping) else ()
    artifacts = [getattr(one, "artifact", None) for one in spoken]
    if handed := [_document(one) for artifact in artifacts if _are_documents(artifact) for one in artifact or ()]:
        yield handed


def _document(found: Any) -> FoundDocument:
    metadata = found.metadata
    name = next(filter(None, (getattr(found, "id", None), *map(metadata.get, IDS))), None)
    return document(found.page_content, name, next((metadata[key] for key in SCORES if key in metadata), None))


@cache
def _handler_class() -> Any:
    base = import_module("langchain_core.callbacks").BaseCallbackHandler

    class Handler(base):  # type: ignore[misc, valid-type]  # its base is the framework's
        """Notes what retrievers find; of nested ones the outermost."""

        run_inline = True
        ignore_llm = ignore_chat_model = ignore_custom_event = True

        def __init__(self, retrieved: RetrievalNotes) -> None:
            self._retrieved = retrieved
            self._parents: dict[UUID, UUID | None] = {}
            self._searches: dict[UUID, Search | None] = {}

        def on_chain_start(self, *_: Any, run_id: UUID, parent_run_id: UUID | None = None, **__: Any) -> None:
            self._parents[run_id] = parent_run_id

        on_tool_start = on_chain_start

        def on_retriever_start(
            self, _: Any, query: str, *, run_id: UUID, parent_run_id: UUID | None = None, **__: Any
        ) -> None:
            with self._retrieved.noting():
                self._parents[run_id] = parent_run_id
                above = outer(run_id, self._parents, self._searches)
                self._searches[run_id] = self._retrieved.begin(query) if above is None else None

        def on_retriever_end(self, documents: Any, *, run_id: UUID, **_: Any) -> None:
            with self._retrieved.noting():
                if search := self._searches.get(run_id):
                    search.documents = list(map(_document, documents))

    return Handler
