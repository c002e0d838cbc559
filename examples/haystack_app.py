"""A pipeline of Haystack over the documents of app.py, and how it is evaluated: python examples/haystack_app.py."""

from __future__ import annotations

from typing import Any

from app import best_sentence, passages
from haystack import Document, Pipeline, component
from haystack.components.builders import PromptBuilder
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from ragtriage import EmbeddedJudge, evaluate_sync
from ragtriage.haystack import collect


@component
class ExtractingGenerator:
    """Stands for a language model: answers with a sentence of its prompt."""

    @component.output_types(replies=list[str])
    def run(self, prompt: str) -> dict[str, Any]:
        """The one reply."""
        context, _, question = prompt.rpartition("\n\nQuestion: ")
        return {"replies": [best_sentence(question, context)]}


TEMPLATE = "{% for document in documents %}{{ document.content }}\n\n{% endfor %}\n\nQuestion: {{ question }}"
store = InMemoryDocumentStore()
store.write_documents([Document(id=name, content=text) for name, text in passages()])
rag = Pipeline()
rag.add_component("retriever", InMemoryBM25Retriever(store, top_k=3))
rag.add_component("prompt", PromptBuilder(TEMPLATE, required_variables=["documents", "question"]))
rag.add_component("llm", ExtractingGenerator())
rag.connect("retriever.documents", "prompt.documents")
rag.connect("prompt.prompt", "llm.prompt")

if __name__ == "__main__":
    cases = collect(rag, ["What does a large locker at Hallin Quay cost?", "May I bring two dogs on the ferry?"])
    for record in evaluate_sync(cases, EmbeddedJudge()):
        print(record)
