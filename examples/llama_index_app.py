"""A query engine of LlamaIndex over app.py's documents, and how it is evaluated: python examples/llama_index_app.py."""

from __future__ import annotations

from typing import Any

from app import best_sentence, retrieve
from llama_index.core import PromptTemplate
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode

from ragtriage import EmbeddedJudge, evaluate_sync
from ragtriage.llama_index import collect


class KeywordRetriever(BaseRetriever):
    """Finds passages by the words that they share with the question."""

    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        found = retrieve(query_bundle.query_str)
        return [NodeWithScore(node=TextNode(text=text, id_=name)) for name, text in found]


class ExtractingModel(CustomLLM):
    """Stands for a language model: answers with a sentence of its prompt."""

    @property
    def metadata(self) -> LLMMetadata:
        """The usual."""
        return LLMMetadata(context_window=100_000)

    def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
        """The whole answer."""
        context, _, question = prompt.rpartition("\n\nQuestion: ")
        return CompletionResponse(text=best_sentence(question.strip(), context))

    def stream_complete(self, prompt: str, *_: Any, **__: Any) -> Any:
        """In one piece."""
        yield self.complete(prompt)


prompt = PromptTemplate("{context_str}\n\nQuestion: {query_str}")
engine = RetrieverQueryEngine.from_args(KeywordRetriever(), llm=ExtractingModel(), text_qa_template=prompt)

if __name__ == "__main__":
    cases = collect(engine, ["What does a large locker at Hallin Quay cost?", "May I bring two dogs on the ferry?"])
    for record in evaluate_sync(cases, EmbeddedJudge()):
        print(record)
