"""Engines, retrievers, agents and workflows of LlamaIndex as applications, and scores in its `BatchEvalRunner`.

Retrievals are told by its events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Unpack

from ragtriage.adapters.asked_objects import HISTORY, answer_in, messages, query_key, whole
from ragtriage.adapters.packages import require
from ragtriage.adapters.retrieval_notes import RetrievalNotes, Search, document, outer
from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError
from ragtriage.readers.traces.attributes import FoundDocument

if TYPE_CHECKING:
    from ragtriage.adapters.harness import HarnessOptions

LEAST = "0.12.52"
EMPTY = "Empty Response"
"""What LlamaIndex says itself where no node was found."""
_TAG = "ragtriage"


def llama_index_object(name: str, found: Any, key: str | None) -> LlamaIndexObject | None:
    """An adapter for an engine, a workflow or a retriever; None for another object."""
    if any(one.__name__ == "Workflow" for one in type(found).__mro__):
        return LlamaIndexObject("workflow", found, _workflow_key(name, found, key))
    chats = hasattr(found, "achat") and hasattr(found, "reset")
    asked = {"query engine": hasattr(found, "aquery"), "chat engine": chats, "retriever": hasattr(found, "aretrieve")}
    what = next((kind for kind, fits in asked.items() if fits), None)
    if what is not None and key is not None:
        raise ConfigError(f"--app {name}: a {what} takes the question alone: leave out --app-input {key}")
    return None if what is None else LlamaIndexObject(what, found)


class LlamaIndexObject:
    """Asks one object."""

    notes = ()

    def __init__(self, what: str, found: Any, key: str = "") -> None:
        require("llama-index-core", LEAST)
        self.kind = f"LlamaIndex {what}"
        self.remembers = what == "chat engine"
        self._ask = {
            "query engine": self._query,
            "chat engine": self._chat,
            "workflow": self._run,
            "retriever": self._retrieve,
        }[what]
        self._object, self._key, self._events = found, key, _Events()

    async def answer(self, case: Case, retrieved: RetrievalNotes) -> str | None:
        """Ask it while its events of this one question are listened to."""
        with self._events.of(retrieved):
            return await self._ask(case, retrieved)

    async def _query(self, case: Case, retrieved: RetrievalNotes) -> str:
        return await _response(await self._object.aquery(case.query), retrieved)

    async def _chat(self, case: Case, retrieved: RetrievalNotes) -> str:
        return await _response(await self._object.achat(case.query, chat_history=_history(case)), retrieved)

    async def _retrieve(self, case: Case, retrieved: RetrievalNotes) -> None:
        _give(retrieved, await self._object.aretrieve(case.query))

    async def _run(self, case: Case, retrieved: RetrievalNotes) -> str:
        history = {HISTORY: _history(case)} if case.history else {}
        value = await self._object.run(**{self._key: case.query}, **history)
        results = [getattr(call.tool_output, "raw_output", None) for call in getattr(value, "tool_calls", ())]
        _give(retrieved, [node for result in results for node in getattr(result, "source_nodes", None) or ()])
        return await _response(value, retrieved)


async def _response(value: Any, retrieved: RetrievalNotes) -> str:
    """The text of what an object gave back; its source nodes are what was given to the model."""
    _give(retrieved, getattr(value, "source_nodes", None) or ())
    if hasattr(value, "response_txt"):  # a stream that wasn't read
        pieces = value.async_response_gen() if hasattr(value, "async_response_gen") else value.response_gen
        text = str(await whole(pieces, retrieved))
    else:
        told = getattr(value, "response", value)
        text = answer_in(told if isinstance(told, str | Mapping) or hasattr(told, "content") else str(told))
    if text == EMPTY and not retrieved.given:
        retrieved.tags["canned"] = True
        retrieved.given = []
    return text


def _give(retrieved: RetrievalNotes, nodes: Any) -> None:
    """Note the nodes that were given to the model; many an object tells none, though it retrieved some."""
    if nodes:
        retrieved.given = list(map(_document, nodes))


def _document(found: Any) -> FoundDocument:
    node = found.node
    text = node.get_content(metadata_mode="llm") if node.get_content(metadata_mode="none").strip() else None
    return document(text, node.node_id, found.score)


def _history(case: Case) -> list[Any]:
    message = import_module("llama_index.core.llms").ChatMessage
    return [message(**one) for one in messages(case)]


def _workflow_key(name: str, workflow: Any, given: str | None) -> str:
    """Under which name a workflow takes the question: an agent as `user_msg`, another as its start event says."""
    start = getattr(workflow, "_start_event_class", None)
    if getattr(start, "__name__", "") == "AgentWorkflowStartEvent":
        return "user_msg"
    return query_key(name, getattr(start, "model_fields", ()), given) or "user_msg"


class _Events:
    """Listens to LlamaIndex as long as questions are asked; which one an event belongs to is told by its tag."""

    def __init__(self) -> None:
        self._asked: dict[str, RetrievalNotes] = {}
        self._spans: Any = None
        self._searches: dict[str, Search | None] = {}

    @contextmanager
    def of(self, retrieved: RetrievalNotes) -> Iterator[None]:
        """Note the retrievals of one question."""
        dispatching = import_module("llama_index_instrumentation.dispatcher")
        root = import_module("llama_index.core.instrumentation").get_dispatcher()
        tag = str(id(retrieved))
        if not self._asked:
            self._spans = _spans_class()()
            root.add_event_handler(self)
            root.add_span_handler(self._spans)
        self._asked[tag] = retrieved
        try:
            with dispatching.instrument_tags({**dispatching.active_instrument_tags.get(), _TAG: tag}):
                yield
        finally:
            del self._asked[tag]
            if not self._asked:
                root.event_handlers.remove(self)
                root.span_handlers.remove(self._spans)
                self._searches.clear()

    def handle(self, event: Any, **_: Any) -> None:
        """Note that a retrieval begins or ends; of nested ones the outermost."""
        retrieved = self._asked.get(event.tags.get(_TAG, ""))
        if retrieved is None or not event.class_name().startswith("Retrieval"):
            return
        with retrieved.noting():
            if event.class_name() == "RetrievalStartEvent":
                above = outer(event.span_id, self._spans.parents, self._searches)
                asked = event.str_or_query_bundle
                query = asked if isinstance(asked, str) else asked.query_str
                self._searches[event.span_id] = retrieved.begin(query) if above is None else None
            elif search := self._searches.pop(event.span_id, None):
                search.documents = list(map(_document, event.nodes))

    async def ahandle(self, event: Any, **_: Any) -> None:
        """`handle` for events that are awaited."""
        self.handle(event)


@cache
def _spans_class() -> Any:
    base = import_module("llama_index.core.instrumentation.span_handlers").NullSpanHandler

    class Spans(base):  # type: ignore[misc, valid-type]  # its base is the framework's
        """Keeps which call is made within which."""

        parents: dict[str, str | None] = {}  # noqa: RUF012  # pydantic copies it

        def span_enter(self, id_: str, *_: Any, parent_id: str | None = None, **__: Any) -> None:
            self.parents[id_] = parent_id

        def span_exit(self, id_: str, *_: Any, **__: Any) -> None:
            self.parents.pop(id_, None)

        span_drop = span_exit

    return Spans


def evaluators(metrics: Sequence[str] | None = None, **options: Unpack[HarnessOptions]) -> dict[str, Any]:
    """An evaluator for every metric, by its name: `BatchEvalRunner(ragtriage.llama_index.evaluators(), workers=32)`.

    The evaluators share what is judged: a response is judged once, whichever of them asks. Its sources are the
    response's `source_nodes`, as the model read them; else the `contexts` that are given.

    Args:
        metrics: their names, as for `--metrics`; those of the settings, else THELMA's, if None.
        options: see `ragtriage.adapters.harness.HarnessOptions`.

    Raises:
        ConfigError: LlamaIndex isn't there, or a metric or the judge can't be used.
    """
    require("llama-index-core", LEAST)
    from ragtriage.adapters.harness import Harness

    harness = Harness("llama_index", metrics, options)
    return {name: _evaluator_class()(harness, name) for name in harness.names}


@lru_cache(maxsize=1)
def _evaluator_class() -> Any:
    from llama_index.core.evaluation import BaseEvaluator, EvaluationResult

    class RagtriageEvaluator(BaseEvaluator):  # type: ignore[misc]  # of a package that may be missing
        """One metric of a response: `score`, `passing` by its threshold, `feedback`; else `invalid_reason`."""

        def __init__(self, harness: Any, metric: str) -> None:
            self._harness, self._metric = harness, metric

        def _get_prompts(self) -> dict[str, Any]:
            return {}

        def _update_prompts(self, prompts_dict: Any) -> None:
            """There are no prompts of LlamaIndex's."""

        async def aevaluate_response(self, query: str | None = None, response: Any = None, **given: Any) -> Any:
            """Evaluate a response with its source nodes."""
            text, nodes = (None, None) if response is None else (str(response.response), response.source_nodes)
            sources = None if nodes is None else [_as_read(node) for node in nodes]
            return await self._evaluated(query, text, sources, given)

        async def aevaluate(
            self,
            query: str | None = None,
            response: str | None = None,
            contexts: Sequence[str] | None = None,
            **given: Any,
        ) -> Any:
            """Evaluate texts."""
            sources = None if contexts is None else [{"text": text} for text in contexts]
            return await self._evaluated(query, response, sources, given)

        async def _evaluated(self, query: str | None, response: str | None, sources: Any, given: Any) -> Any:
            row = {"query": query, "response": response, "sources": sources}
            if given.get("reference"):
                row["reference"] = given["reference"]
            judged, name = await self._harness.judged_beside(row), self._metric
            value, why = getattr(judged.outcome(name), "value", None), judged.why(name)
            return EvaluationResult(
                query=query,
                contexts=None if sources is None else [one["text"] for one in sources],
                response=response,
                passing=judged.passing(name),
                score=value,
                feedback=why or None,
                invalid_result=value is None,
                invalid_reason=None if value is not None else str(judged.outcome(name)),
            )

    return RagtriageEvaluator


def _as_read(node: Any) -> dict[str, Any]:
    return {"text": node.get_content(metadata_mode="llm"), "id": node.node_id}
