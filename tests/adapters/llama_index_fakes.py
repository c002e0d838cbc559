"""LlamaIndex's own local index and fake models, over the documents of the contract."""

import re
from hashlib import sha256
from typing import Any

from adapters_contract import DOCUMENTS, FAILING, Seen, again, answer_to
from llama_index.core import PromptTemplate, VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import ChatMessage, ChatResponse, CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import TextNode


class HashEmbedding(MockEmbedding):
    """A vector that depends on the text, so that the order of what is found depends on the question."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [byte / 255 - 0.5 for byte in sha256(text.encode()).digest()[: self.embed_dim]]

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    _aget_text_embedding = _aget_query_embedding


NODES = [TextNode(text=text, id_=name, metadata={"file": f"{name}.md"}) for name, text in DOCUMENTS.items()]
INDEX = VectorStoreIndex(NODES, embed_model=HashEmbedding(embed_dim=16))
RETRIEVER = INDEX.as_retriever(similarity_top_k=2)
PROMPT = PromptTemplate("{context_str}\nQuestion: {query_str}")


def found(question: str) -> Seen:
    nodes = RETRIEVER.retrieve(question)
    return [(one.node.get_content(metadata_mode="llm"), one.node.node_id, one.score) for one in nodes]


class Answering(CustomLLM):
    """Answers as `answer_to` the last question of its prompt."""

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
        asked = re.findall(r"^(?:Question|user): (.*)$", prompt, re.MULTILINE)
        return CompletionResponse(text=answer_to(asked[-1]))

    def stream_complete(self, prompt: str, *_: Any, **__: Any) -> Any:
        yield CompletionResponse(text=(whole := self.complete(prompt).text), delta=whole)


class Streaming(Answering):
    """Answers in pieces."""

    breaks: bool

    def stream_complete(self, prompt: str, *_: Any, **__: Any) -> Any:
        for piece in ("One ", "two ", "three"):
            yield CompletionResponse(text=piece, delta=piece)
            if self.breaks:
                answer_to(FAILING)


class Reasoning(Answering):
    """Uses the tool `search` so many times, as the ReAct prompt says, and then answers."""

    searches: int = 1

    def chat(self, messages: Any, **_: Any) -> ChatResponse:
        asked = next(one.content for one in messages if one.role == "user")
        looked = sum(str(one.content).startswith("Observation:") for one in messages)
        if looked < self.searches:
            query = again(asked) if looked else asked
            said = f'Thought: I look.\nAction: search\nAction Input: {{"input": "{query}"}}'
        else:
            said = f"Thought: I can answer.\nAnswer: {answer_to(asked)}"
        return ChatResponse(message=ChatMessage(role="assistant", content=said), delta=said)

    def stream_chat(self, messages: Any, **_: Any) -> Any:
        yield self.chat(messages)


class Looking(BaseNodePostprocessor):
    """Looks for further nodes, and puts them behind those that were found."""

    def _postprocess_nodes(self, nodes: Any, query_bundle: Any = None) -> Any:
        return [*nodes, *RETRIEVER.retrieve(again(query_bundle.query_str))]


class NotingEvents(BaseEventHandler):
    """A user's own handler."""

    notes: Any

    def handle(self, event: Any, **_: Any) -> None:
        if event.class_name() == "RetrievalEndEvent":
            self.notes.append(event)


def listened(notes: list[Any]) -> None:
    get_dispatcher().add_event_handler(handler := NotingEvents(notes=None))
    handler.notes = notes  # pydantic would copy the list


def handlers() -> int:
    root = get_dispatcher()
    return len(root.event_handlers) + len(root.span_handlers)
