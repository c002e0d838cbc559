"""LangChain's runnables as applications, with its own retrievers."""

import asyncio
import time
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="LangChain isn't installed: make test-frameworks")

from adapters_contract import QUESTIONS, StreamContract, again, answer_to, asked, seen
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableGenerator, RunnableLambda, RunnablePassthrough
from langchain_fakes import RETRIEVER, STORE, Answering, LangChainContract, found, pieces

from ragtriage import Case, ConfigError
from ragtriage.adapters.opening import application_of
from ragtriage.core.case import Turn
from ragtriage.langchain import collect

PROMPT = ChatPromptTemplate.from_template("From {context}, answer:\n{question}")


def chain(retriever: Any = RETRIEVER, model: Any = None) -> Any:
    return {"context": retriever, "question": RunnablePassthrough()} | PROMPT | (model or Answering())


class TestChain(LangChainContract, StreamContract):
    """A chain of retriever, prompt and model."""

    def made(self) -> Any:
        return chain()

    def twice(self) -> Any:
        further = RunnableLambda(again) | RETRIEVER
        parts = {"context": RETRIEVER, "question": RunnablePassthrough()}
        return (
            parts | RunnablePassthrough.assign(more=lambda one: further.invoke(one["question"])) | PROMPT | Answering()
        )

    def streaming(self, *, breaks: bool) -> Any:
        return {"context": RETRIEVER} | RunnableLambda(lambda _: list(pieces(breaks=breaks)) and pieces(breaks=breaks))


class TestRetriever(LangChainContract):
    """A retriever alone."""

    answers = False

    def made(self) -> Any:
        return RETRIEVER

    def twice(self) -> Any:
        def joined(two: Any) -> Any:
            return [*two["one"], *two["two"]]

        return {"one": RETRIEVER, "two": RunnableLambda(again) | RETRIEVER} | RunnableLambda(joined)


class Outer(BaseRetriever):
    """Keeps the best of what another finds, as compression and ensembles do."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return RETRIEVER.invoke(query, config={"callbacks": run_manager.get_child()})[:1]


def test_of_nested_retrievers_the_outermost_counts() -> None:
    [case] = asked(chain(Outer()), QUESTIONS[:1])

    assert application_of("app:chain", chain()).name == "app:chain (LangChain runnable)"
    assert seen(case) == found(QUESTIONS[0])[:1]
    assert case.tags["retrievals"] == 1


def test_of_a_search_that_no_callback_tells_of_documents_in_the_result_count() -> None:
    hidden = RunnableLambda(STORE.similarity_search)
    with pytest.warns(UserWarning, match="no retriever told what it found for 2 of 2"):
        cases = collect(chain(hidden), QUESTIONS[:2])
    assert [case.sources for case in cases] == [None, None]
    assert cases[0].response == answer_to(QUESTIONS[0])

    silent = RunnableLambda(lambda question: {"answer": "Yes.", "context": STORE.similarity_search(question, k=1)})
    [case] = asked(silent, QUESTIONS[:1])
    assert case.response == "Yes."
    assert [source.id for source in case.known_sources] == [found(QUESTIONS[0])[0][1]]


def test_the_input_is_the_one_key_that_is_known_or_that_is_named() -> None:
    one = ChatPromptTemplate.from_template("{input}") | Answering()
    two = ChatPromptTemplate.from_template("{question}\n{query}") | Answering()
    other = ChatPromptTemplate.from_template("{topic}") | Answering()

    for app, key in ((one, None), (other, "topic")):
        with pytest.warns(UserWarning, match="no retriever"):
            [case] = collect(app, ["Q"], input=key)
        assert case.response == answer_to("Q")
    with pytest.raises(ConfigError, match="needs context, question: only the question can be given"):
        collect(PROMPT | Answering(), ["Q"])
    with pytest.raises(ConfigError, match="takes question, query: say with --app-input"):
        collect(two, ["Q"])
    with pytest.raises(ConfigError, match="needs topic: name the one that takes the question"):
        collect(other, ["Q"])
    with pytest.raises(ConfigError, match="has no input 'nope'; it has topic"):
        collect(other, ["Q"], input="nope")


def test_the_conversation_goes_into_chat_history() -> None:
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("chat_history"), ("human", "{input}")])
    told = prompt | RunnableLambda(lambda value: " | ".join(one.content for one in value.to_messages()))
    history = (Turn("user", "Hello"), Turn("assistant", "Hi"))
    with pytest.warns(UserWarning, match="no retriever"):
        cases = collect(told, [Case("a", "Q", history=history), "P"])

    assert [case.response for case in cases] == ["Hello | Hi | Q", "P"]


def test_of_a_content_in_blocks_the_text_counts() -> None:
    blocks = [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "It "}, "opens."]
    [case] = asked(chain(model=RunnableLambda(lambda _: AIMessage(blocks))), QUESTIONS[:1])

    assert case.response == "It opens."


class Finding(BaseRetriever):
    """Finds what it is told; `None` stands for what isn't documents."""

    documents: Any

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        return ["no document"] if self.documents is None else self.documents


def test_a_document_without_a_text_is_left_out_and_counted() -> None:
    named = Document(page_content="A text.", metadata={"source": "a.md", "score": 2})
    found = [Document(page_content="", id="image"), named, Document(page_content="Another.")]
    [case] = asked(chain(Finding(documents=found)), QUESTIONS[:1])

    assert seen(case) == [("A text.", "a.md", 2.0), ("Another.", None, None)]
    assert case.tags["sources_left_out"] == 1
    assert "retrieved" not in case.tags


def test_what_can_not_be_read_is_not_recorded_and_where_nothing_is_found_nothing_was() -> None:
    with pytest.warns(UserWarning, match="no retriever told"):
        [case] = collect(chain(Finding(documents=None)), QUESTIONS[:1])
    assert (case.response, case.sources) == (answer_to(QUESTIONS[0]), None)

    [none] = collect(Finding(documents=[]), QUESTIONS[:1])
    assert (none.sources, "failure" in none.tags) == ((), False)


def test_a_streaming_step_of_a_chain_is_whole() -> None:
    async def stream(_: Any) -> Any:
        for piece in pieces(breaks=False):
            yield piece
            await asyncio.sleep(0)

    async def broken(_: Any) -> Any:
        for piece in pieces(breaks=True):
            yield piece

    assert asked(chain(model=RunnableGenerator(stream)), QUESTIONS[:1])[0].response == "One two three"
    [case] = asked(chain(model=RunnableGenerator(broken)), QUESTIONS[:1])
    assert (case.response, case.tags["failure"]) == (None, "exception ModelDown")


def test_more_questions_than_threads_wait_for_no_other() -> None:
    begun = time.monotonic()
    cases = collect(RunnableLambda(lambda query: time.sleep(0.5) or query), QUESTIONS * 3, concurrency=24)

    assert all(case.response for case in cases)
    assert time.monotonic() - begun < 4  # one by one 12 s


def test_one_that_takes_too_long_is_a_failure_which_keeps_what_was_retrieved_before() -> None:
    async def forever(_: Any) -> None:
        await asyncio.sleep(30)

    for model in (lambda _: time.sleep(5), forever):
        slow = chain(model=RunnableLambda(model))
        both = RunnableLambda(lambda query, slow=slow: slow if query == QUESTIONS[0] else "at once")
        begun = time.monotonic()
        late, quick = collect(both, [QUESTIONS[0], QUESTIONS[1]], timeout=0.5)

        assert time.monotonic() - begun < 4
        assert late.tags["failure"] == "time-out"
        assert [one.text for one in late.known_sources] == [text for text, *_ in found(QUESTIONS[0])]
        assert quick.response == "at once"
