"""The ferry company's pipelines for Haystack: its own search by words, a reranker, its mock model.

What the search found is asked of the pipeline, since it is Haystack's.
"""

from typing import Any

import ferry
from ferry import Asked
from haystack import Document, Pipeline, component
from haystack.components.builders import AnswerBuilder, ChatPromptBuilder
from haystack.components.generators.chat import MockChatGenerator
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore


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


def run(one: Asked, *, ranked: bool = False, built: bool = True, connector: Any = None) -> dict[str, Any]:
    """A run, and what its retriever, or its ranker, gave: ids, texts and scores."""
    given = {"retriever": {"query": one.query}, "prompt": {"query": one.query}}
    given |= {"answers": {"query": one.query}} if built else {}
    given |= {"ranker": {"query": one.query}} if ranked else {}
    last = "ranker" if ranked else "retriever"
    made = pipeline(ranked=ranked, built=built)
    if connector:
        made.add_component("connector", connector)
    result = made.run(given, include_outputs_from={last})
    found = result[last]["documents"]
    return {"sources": [[doc.id, doc.content] for doc in found], "scores": [doc.score for doc in found]}
