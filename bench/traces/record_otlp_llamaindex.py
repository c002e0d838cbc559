"""Record LlamaIndex through OpenInference's instrumentation, in the collector's file exporter's form.

    python bench/traces/record_otlp_llamaindex.py

The packages stand in README.md beside it.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import ferry
from ferry import DOGS, PRICE, QUAY, STORM, Asked
from llama_index.core import Settings
from llama_index.core.callbacks import CallbackManager
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.query_engine import RetrieverQueryEngine, TransformQueryEngine
from llamaindex_ferry import Assistant, Last, Leaflets
from openinference.instrumentation import TraceConfig, using_attributes
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from recording import Recording

NAME = "otlp-openinference-llamaindex-{}.jsonl"


@contextlib.contextmanager
def instrumented(name: str, config: TraceConfig | None = None, **resource: str) -> Any:
    """A recording that the instrumentation writes into, written at the end."""
    recording = Recording(NAME.format(name), **resource)
    instrumentor = LlamaIndexInstrumentor()
    instrumentor.instrument(tracer_provider=recording.provider, config=config or TraceConfig())
    try:
        yield recording
    finally:
        instrumentor.uninstrument()
    recording.write()


def scored(one: Asked) -> dict[str, Any]:
    """The scores that its retrieval gave."""
    return {"scores": [ferry.score(one.query, found) for found in one.found]}


def engines() -> None:
    """A query engine with session, user, tags, metadata; one that searches with a bundle; a reranker; nothing found."""
    from llama_index.core.indices.query.query_transform import HyDEQueryTransform
    from llama_index.core.postprocessor import LLMRerank

    with instrumented("engine", service__version="2.4.0") as recording:
        attributes = {
            "session_id": "conversation-7",
            "user_id": "user-3",
            "tags": ["web"],
            "metadata": {"tenant": "skarvo"},
        }
        known = {
            "conversation": "conversation-7",
            "user": "user-3",
            "tags": {"tenant": "skarvo", "service.version": "2.4.0"},
        }
        with recording.trace(PRICE.query, PRICE.sources, PRICE.answer, **known, **scored(PRICE)):
            with using_attributes(**attributes):
                RetrieverQueryEngine.from_args(Leaflets(), llm=Assistant()).query(PRICE.query)
        note = "the retrieval's input is a JSON of a query bundle: the model wrote a text to search with"
        with recording.trace(PRICE.query, PRICE.sources, PRICE.answer, **scored(PRICE), note=note):
            engine = RetrieverQueryEngine.from_args(Leaflets(), llm=Assistant())
            TransformQueryEngine(engine, HyDEQueryTransform(llm=Assistant())).query(PRICE.query)
    with instrumented("reranker") as recording:
        note = "the reranker's output replaces what was retrieved"
        with recording.trace(STORM.query, STORM.sources[1:], STORM.answer, scores=[0.91], note=note):
            RetrieverQueryEngine.from_args(Leaflets(), llm=Assistant(), node_postprocessors=[Last()]).query(STORM.query)
    with instrumented("llm-reranker") as recording:
        note = "LlamaIndex's LLMRerank writes no RERANKER span; what it left (prompted) stands only in the prompt"
        known = {"prompted": [list(one) for one in STORM.sources[1:]], "note": note}
        with recording.trace(STORM.query, STORM.sources, STORM.answer, **scored(STORM), **known):
            reranker = LLMRerank(llm=Assistant(), top_n=1)
            RetrieverQueryEngine.from_args(Leaflets(), llm=Assistant(), node_postprocessors=[reranker]).query(
                STORM.query
            )


def streamed() -> None:
    """A streamed answer that is read to its end, a chat whose second turn is recorded."""
    with instrumented("streamed") as recording:
        with recording.trace(DOGS.query, DOGS.sources, DOGS.answer, **scored(DOGS), note="streamed"):
            engine = RetrieverQueryEngine.from_args(Leaflets(), llm=Assistant(), streaming=True)
            for _ in engine.query(DOGS.query).response_gen:
                pass
    chat = ContextChatEngine.from_defaults(retriever=Leaflets(), llm=Assistant())
    chat.chat(STORM.query)
    with instrumented("conversation") as recording:
        history = [["user", STORM.query], ["assistant", STORM.answer]]
        note = "the first turn isn't in the file; it stands in the model's messages"
        known = {"conversation": "conversation-9", "history": history, "note": note}
        with recording.trace(PRICE.query, PRICE.sources, PRICE.answer, **known, **scored(PRICE)):
            with using_attributes(session_id="conversation-9"):
                chat.chat(PRICE.query)


def agents() -> None:
    """An agent that thinks aloud, with two retrievers as tools."""
    from llama_index.core.agent.react import ReActChatFormatter
    from llama_index.core.agent.workflow import ReActAgent
    from llama_index.core.tools import RetrieverTool

    handbook = Leaflets(tuple(one for one in ferry.LEAFLETS if one not in ferry.TIMETABLE))
    tools = [
        RetrieverTool.from_defaults(handbook, name="search_handbook", description="Fares and rules."),
        RetrieverTool.from_defaults(Leaflets(ferry.TIMETABLE), name="search_timetable", description="When and where."),
    ]
    steps = (
        f'Thought: The handbook.\nAction: search_handbook\nAction Input: {{"input": "{PRICE.query}"}}',
        f'Thought: The timetable.\nAction: search_timetable\nAction Input: {{"input": "{QUAY.query}"}}',
        f"Thought: I can answer without using any more tools.\nAnswer: {PRICE.answer}",
    )

    class Scripted(Assistant):
        at: int = -1

        def _reply(self, prompt: str) -> str:
            self.at += 1
            return steps[self.at]

    async def run() -> None:
        formatter = ReActChatFormatter(system_header="Tools: {tool_desc}. Name one of {tool_names}.")
        await ReActAgent(tools=tools, llm=Scripted(), formatter=formatter, verbose=False).run(PRICE.query)

    with instrumented("agent") as recording:
        note = "two retrievals inside tools; texts of the workflow's spans are Python's own prints of its objects"
        sources = [*PRICE.sources, *QUAY.sources]
        with recording.trace(PRICE.query, sources, PRICE.answer, note=note):
            asyncio.run(run())


def hidden() -> None:
    """Retrieved texts masked: their ids and scores are there."""
    with instrumented("hidden-documents", TraceConfig(hide_retrieval_documents=True)) as recording:
        why = "sources were not recorded: their texts are __REDACTED__"
        with recording.trace(PRICE.query, None, PRICE.answer, rejected=why):
            RetrieverQueryEngine.from_args(Leaflets(), llm=Assistant()).query(PRICE.query)


if __name__ == "__main__":
    Settings.callback_manager = CallbackManager()
    for record in (engines, streamed, agents, hidden):
        record()
