"""Record LlamaIndex through OpenInference's instrumentation, in the collector's file exporter's form.

    python bench/traces/record_otlp_llamaindex.py

The packages stand in README.md beside it.
"""

import asyncio
import contextlib
from typing import Any

import ferry
from ferry import DOGS, PRICE, STORM, Asked
from llama_index.core import PromptTemplate, Settings
from llama_index.core.callbacks import CallbackManager
from llama_index.core.query_engine import RetrieverQueryEngine, TransformQueryEngine
from llama_index.core.response_synthesizers import ResponseMode
from llamaindex_ferry import Assistant, Last, Leaflets
from openinference.instrumentation import using_attributes
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from recording import Recording

PROMPT = PromptTemplate("Write a passage: {context_str}")
PLAIN = {  # short prompts and few spans
    "response_mode": ResponseMode.SIMPLE_SUMMARIZE,
    "text_qa_template": PromptTemplate("{context_str}\n{query_str}"),
}
NAME = "otlp-openinference-llamaindex-{}.jsonl"


@contextlib.contextmanager
def instrumented(name: str, **resource: str) -> Any:
    """A recording that the instrumentation writes into, written at the end."""
    recording = Recording(NAME.format(name), **resource)
    instrumentor = LlamaIndexInstrumentor()
    instrumentor.instrument(tracer_provider=recording.provider)
    try:
        yield recording
    finally:
        instrumentor.uninstrument()
    recording.write()


def scored(one: Asked) -> dict[str, Any]:
    """The scores that its retrieval gave."""
    return {"scores": [ferry.score(one.query, found) for found in one.found]}


def engines() -> None:
    """A query engine that searches with a bundle, with session, user, tags, metadata; a reranker."""
    from llama_index.core.indices.query.query_transform import HyDEQueryTransform

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
        note = "the retrieval's input is a JSON of a query bundle: the model wrote a text to search with"
        with recording.trace(PRICE.query, PRICE.sources, PRICE.answer, **known, **scored(PRICE), note=note):
            with using_attributes(**attributes):
                engine = RetrieverQueryEngine.from_args(Leaflets(), llm=Assistant(), **PLAIN)
                TransformQueryEngine(engine, HyDEQueryTransform(Assistant(), PROMPT)).query(PRICE.query)
    with instrumented("reranker") as recording:
        note = "the reranker's output replaces what was retrieved"
        with recording.trace(STORM.query, STORM.sources[1:], STORM.answer, scores=[0.91], note=note):
            RetrieverQueryEngine.from_args(Leaflets(), llm=Assistant(), **PLAIN, node_postprocessors=[Last()]).query(
                STORM.query
            )


def streamed() -> None:
    """A streamed answer that is read to its end."""
    with instrumented("streamed") as recording:
        with recording.trace(DOGS.query, DOGS.sources, DOGS.answer, **scored(DOGS), note="streamed"):
            engine = RetrieverQueryEngine.from_args(Leaflets(), llm=Assistant(), **PLAIN, streaming=True)
            for _ in engine.query(DOGS.query).response_gen:
                pass


def agents() -> None:
    """An agent with a retriever as its tool."""
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.base.llms.types import ChatMessage, TextBlock, ToolCallBlock
    from llama_index.core.llms.mock import MockFunctionCallingLLM
    from llama_index.core.tools import RetrieverTool

    handbook = Leaflets(tuple(one for one in ferry.LEAFLETS if one not in ferry.TIMETABLE))
    tools = [
        RetrieverTool.from_defaults(handbook, name="search_handbook", description="Fares and rules."),
    ]

    def reply(messages: list[ChatMessage], **_: Any) -> ChatMessage:
        if any(one.role == "tool" for one in messages):
            return ChatMessage(role="assistant", blocks=[TextBlock(text=PRICE.answer)])
        call = ToolCallBlock(tool_call_id="call-1", tool_name="search_handbook", tool_kwargs={"input": PRICE.query})
        return ChatMessage(role="assistant", blocks=[call])

    async def run() -> None:
        model = MockFunctionCallingLLM(response_generator=reply, is_chat_model=True)
        await FunctionAgent(tools=tools, llm=model, verbose=False).run(PRICE.query)

    with instrumented("agent") as recording:
        note = (
            "a retrieval inside a tool; the question stands in the model's messages alone, above are prints of objects"
        )
        with recording.trace(PRICE.query, PRICE.sources, PRICE.answer, note=note):
            asyncio.run(run())


if __name__ == "__main__":
    Settings.callback_manager = CallbackManager()
    for record in (engines, streamed, agents):
        record()
