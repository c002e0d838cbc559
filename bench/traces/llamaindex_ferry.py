"""The ferry company's retriever, reranker and model for LlamaIndex."""

from collections.abc import Iterator
from typing import Any

import ferry
from llama_index.core.base.llms.types import CompletionResponse, CompletionResponseGen, LLMMetadata
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.llms import CustomLLM
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode


class Leaflets(BaseRetriever):
    """Finds what `ferry` says is found, with ids and scores."""

    def __init__(self, only: tuple[str, ...] = tuple(ferry.LEAFLETS)) -> None:
        super().__init__()
        self.only = only

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_bundle.query_str
        return [
            NodeWithScore(
                node=TextNode(id_=one, text=text, metadata={"file": f"{one}.md"}), score=ferry.score(query, one)
            )
            for one, text in ferry.asked(query).sources
            if one in self.only
        ]


class Last(BaseNodePostprocessor):
    """A reranker that keeps the last node, and says so by the events that LlamaIndex's integrations send."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        dispatcher = get_dispatcher(__name__)
        dispatcher.event(ReRankStartEvent(query=query_bundle, nodes=nodes, top_n=1, model_name="ferry-rank-1"))
        best = [NodeWithScore(node=nodes[-1].node, score=0.91)]
        dispatcher.event(ReRankEndEvent(nodes=best))
        return best


class Assistant(CustomLLM):
    """Answers the question that stands last in its prompt, unless it is asked to write a passage."""

    broken: bool = False

    @property
    def metadata(self) -> LLMMetadata:
        """Its name."""
        return LLMMetadata(model_name="ferry-model-1")

    def _reply(self, prompt: str) -> str:
        if self.broken:
            raise ConnectionError("the model's server closed the connection")
        if "passage" in prompt.lower():
            return "A ticket may cost some euros."
        return ferry.asked(prompt).answer

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
        """The whole answer."""
        return CompletionResponse(text=self._reply(prompt))

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponseGen:
        """The answer word by word."""

        def words() -> Iterator[CompletionResponse]:
            text = ""
            for at, word in enumerate(self._reply(prompt).split(" ")):
                delta = word if at == 0 else f" {word}"
                text += delta
                yield CompletionResponse(text=text, delta=delta)

        return words()
