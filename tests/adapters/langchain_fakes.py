"""LangChain's own local retriever and fake models, over the documents of the contract."""

from collections.abc import Iterator
from typing import Any

from adapters_contract import DOCUMENTS, AdapterContract, Seen, answer_to
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import BaseChatModel, SimpleChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

STORE = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
STORE.add_documents([Document(page_content=text, id=name) for name, text in DOCUMENTS.items()])


class ScoredRetriever(BaseRetriever):
    """A vector store's documents with their scores in the metadata, as rerankers write them."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        found = STORE.similarity_search_with_score(query, k=2)
        return [
            Document(page_content=one.page_content, id=one.id, metadata={"relevance_score": score})
            for one, score in found
        ]


RETRIEVER = ScoredRetriever()


def found(question: str) -> Seen:
    return [(one.page_content, one.id, one.metadata["relevance_score"]) for one in RETRIEVER.invoke(question)]


class Answering(SimpleChatModel):
    """Answers as `answer_to`, the last line of the prompt being the question."""

    def _call(self, messages: Any, *_: Any, **__: Any) -> str:
        return answer_to(str(messages[-1].content).splitlines()[-1])

    @property
    def _llm_type(self) -> str:
        return "fake"


class ToolUser(BaseChatModel):
    """Calls the tool `search` with the question, then answers."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        asked = [one for one in messages if isinstance(one, HumanMessage)][-1].content
        if messages[-1].type == "tool":
            said = AIMessage(answer_to(asked))
        else:
            said = AIMessage("", tool_calls=[{"name": "search", "args": {"query": asked}, "id": "1"}])
        return ChatResult(generations=[ChatGeneration(message=said)])

    @property
    def _llm_type(self) -> str:
        return "fake"


class Noting(BaseCallbackHandler):
    """A user's own handler."""

    def __init__(self, notes: list[Any]) -> None:
        self._notes = notes

    def on_retriever_end(self, documents: Any, **_: Any) -> None:
        self._notes.append(documents)


class LangChainContract(AdapterContract):
    """What its kinds have in common."""

    def found(self, question: str) -> Seen:
        return found(question)

    def watched(self, notes: list[Any]) -> Any:
        return self.made().with_config(callbacks=[Noting(notes)])

    def handlers(self, app: Any) -> int:
        return len(app.config["callbacks"])


def pieces(*, breaks: bool) -> Iterator[str]:
    yield "One "
    if breaks:
        answer_to("What does a locker cost?")
    yield "two "
    yield "three"
