"""Record Haystack through OpenInference's instrumentation and through its own tracer.

    python bench/traces/record_otlp_haystack.py

The packages stand in README.md beside it. Retrieval is Haystack's own search by words, so what it found is asked of
the pipeline.
"""

from __future__ import annotations

import os
from typing import Any

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ["HAYSTACK_CONTENT_TRACING_ENABLED"] = "true"

import ferry
from ferry import DOGS, PRICE, STORM, Asked
from haystack import Document, Pipeline, component, tracing
from haystack.components.builders import AnswerBuilder, ChatPromptBuilder
from haystack.components.generators.chat import MockChatGenerator
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack_integrations.tracing.opentelemetry import OpenTelemetryTracer
from openinference.instrumentation import using_attributes
from openinference.instrumentation.haystack import HaystackInstrumentor
from recording import Recording


@component
class LastRanker:
    """A reranker that keeps the last document."""

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int = 1) -> dict[str, list[Document]]:
        """The last document alone."""
        return {"documents": documents[-top_k:]}


def assistant(messages: list[ChatMessage]) -> str:
    """The answer to the question in the prompt."""
    return ferry.asked(str(messages[-1].text)).answer


def pipeline(*, ranked: bool = False, built: bool = True) -> Pipeline:
    """Retriever, perhaps a ranker, prompt, model, and a builder of answers."""
    store = InMemoryDocumentStore()
    store.write_documents(
        [Document(id=one, content=text, meta={"file": f"{one}.md"}) for one, text in ferry.LEAFLETS.items()]
    )
    template = [ChatMessage.from_user("{% for one in documents %}{{ one.content }}\n{% endfor %}{{ query }}")]
    made = Pipeline()
    made.add_component("retriever", InMemoryBM25Retriever(store, top_k=2))
    made.add_component("prompt", ChatPromptBuilder(template=template, required_variables="*"))
    made.add_component("model", MockChatGenerator(response_fn=assistant, model="ferry-model-1"))
    last = "retriever"
    if ranked:
        made.add_component("ranker", LastRanker())
        made.connect("retriever.documents", "ranker.documents")
        last = "ranker"
    made.connect(f"{last}.documents", "prompt.documents")
    made.connect("prompt.prompt", "model.messages")
    if built:
        made.add_component("answers", AnswerBuilder())
        made.connect("model.replies", "answers.replies")
        made.connect(f"{last}.documents", "answers.documents")
    return made


def run(one: Asked, *, ranked: bool = False, built: bool = True) -> dict[str, Any]:
    """A run, and what its retriever, or its ranker, gave: ids, texts and scores."""
    given = {"retriever": {"query": one.query}, "prompt": {"query": one.query}}
    given |= {"answers": {"query": one.query}} if built else {}
    given |= {"ranker": {"query": one.query}} if ranked else {}
    last = "ranker" if ranked else "retriever"
    result = pipeline(ranked=ranked, built=built).run(given, include_outputs_from={last})
    found = result[last]["documents"]
    return {"sources": [[doc.id, doc.content] for doc in found], "scores": [doc.score for doc in found]}


SHAPES: tuple[tuple[Asked, dict[str, bool], str], ...] = (
    (PRICE, {}, "ends with Haystack's AnswerBuilder: the root's output holds answers with their documents"),
    (DOGS, {"built": False}, "ends with the model: the root's output holds replies"),
    (STORM, {"ranked": True}, "the ranker's output replaces what was retrieved"),
)


def record(recording: Recording, shapes: tuple[tuple[Asked, dict[str, bool], str], ...], **known: str) -> None:
    """Pipelines of these shapes."""
    for one, shape, note in shapes:
        with recording.trace(one.query, None, one.answer, note=note, **known):
            found = run(one, **shape)
        recording.rows[-1] |= found


def main() -> None:
    """Both ways, and Haystack's own without texts."""
    recording = Recording("otlp-openinference-haystack.jsonl")
    instrumentor = HaystackInstrumentor()
    instrumentor.instrument(tracer_provider=recording.provider)
    with using_attributes(session_id="conversation-7"):
        record(recording, SHAPES, conversation="conversation-7")
    instrumentor.uninstrument()
    recording.write()
    recording = Recording("otlp-haystack.jsonl")
    tracing.enable_tracing(OpenTelemetryTracer(recording.provider.get_tracer("haystack")))
    record(recording, SHAPES[1:])
    recording.write()
    recording = Recording("otlp-haystack-off.jsonl")
    tracing.enable_tracing(OpenTelemetryTracer(recording.provider.get_tracer("haystack")))
    tracing.tracer.is_content_tracing_enabled = False
    why = "the question was not recorded: HAYSTACK_CONTENT_TRACING_ENABLED is off"
    with recording.trace(None, None, None, rejected=why):
        run(PRICE)
    recording.write()


if __name__ == "__main__":
    main()
