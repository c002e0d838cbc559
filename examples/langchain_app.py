"""A chain of LangChain over the documents of app.py, and how it is evaluated: python examples/langchain_app.py."""

from __future__ import annotations

from typing import Any

from app import best_sentence, retrieve
from langchain_core.documents import Document
from langchain_core.language_models import SimpleChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnablePassthrough

from ragtriage import EmbeddedJudge, evaluate_sync
from ragtriage.langchain import collect


class KeywordRetriever(BaseRetriever):
    """Finds passages by the words that they share with the question."""

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return [Document(page_content=text, id=name) for name, text in retrieve(query)]


class ExtractingModel(SimpleChatModel):
    """Stands for a language model: answers with a sentence of its prompt."""

    def _call(self, messages: Any, *_: Any, **__: Any) -> str:
        context, _, question = messages[-1].content.rpartition("\n\nQuestion: ")
        return best_sentence(question, context)

    @property
    def _llm_type(self) -> str:
        return "extracting"


def joined(documents: list[Document]) -> str:
    """The documents as the prompt has them."""
    return "\n\n".join(document.page_content for document in documents)


prompt = ChatPromptTemplate.from_template("{context}\n\nQuestion: {question}")
inputs = {"context": KeywordRetriever() | joined, "question": RunnablePassthrough()}
chain = inputs | prompt | ExtractingModel() | StrOutputParser()

if __name__ == "__main__":
    cases = collect(chain, ["What does a large locker at Hallin Quay cost?", "May I bring two dogs on the ferry?"])
    for record in evaluate_sync(cases, EmbeddedJudge()):
        print(record)
