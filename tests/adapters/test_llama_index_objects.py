"""LlamaIndex's engines, retrievers, agents and workflows as applications."""

import asyncio
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="LlamaIndex isn't installed: make test-frameworks")

from adapters_contract import FAILING, QUESTIONS, AdapterContract, Seen, StreamContract, again, answer_to, asked, seen
from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.base.response.schema import Response
from llama_index.core.chat_engine import ContextChatEngine, SimpleChatEngine
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import ImageNode, NodeWithScore, TextNode
from llama_index.core.tools import QueryEngineTool
from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step
from llama_index_fakes import (
    INDEX,
    PROMPT,
    RETRIEVER,
    Answering,
    Looking,
    Reasoning,
    Streaming,
    found,
    handlers,
    listened,
)

from ragtriage import Case, ConfigError
from ragtriage.adapters.opening import application_of
from ragtriage.core.case import Turn
from ragtriage.llama_index import collect


def engine(llm: Any = None, **how: Any) -> Any:
    options = {"similarity_top_k": 2, "text_qa_template": PROMPT} | how
    return INDEX.as_query_engine(llm=llm or Answering(), **options)


class LlamaIndexContract(AdapterContract):
    """What its kinds have in common."""

    def found(self, question: str) -> Seen:
        return found(question)

    def watched(self, notes: list[Any]) -> Any:
        listened(notes)
        return self.made()

    def handlers(self, app: Any) -> int:
        return handlers()


class TestQueryEngine(LlamaIndexContract, StreamContract):
    """An index as a query engine."""

    def made(self) -> Any:
        return engine()

    def twice(self) -> Any:
        return engine(node_postprocessors=[Looking()])

    def streaming(self, *, breaks: bool) -> Any:
        return engine(Streaming(breaks=breaks), streaming=True)


def chat_engine(llm: Any = None, *further: Any) -> Any:
    memory = ChatMemoryBuffer(token_limit=9999)
    return ContextChatEngine.from_defaults(
        retriever=RETRIEVER, llm=llm or Answering(), memory=memory, node_postprocessors=further
    )


class TestChatEngine(LlamaIndexContract):
    """A chat engine, which has one memory."""

    def made(self) -> Any:
        return chat_engine()

    def twice(self) -> Any:
        return chat_engine(None, Looking())


class TestRetriever(LlamaIndexContract):
    """A retriever alone."""

    answers = False

    def made(self) -> Any:
        return RETRIEVER

    def twice(self) -> Any:
        class Both:
            async def aretrieve(self, query: str) -> Any:
                return await RETRIEVER.aretrieve(query) + await RETRIEVER.aretrieve(again(query))

        return Both()


class TestAgent(LlamaIndexContract):
    """An agent that searches with a tool."""

    def made(self) -> Any:
        return self._agent(1)

    def twice(self) -> Any:
        return self._agent(2)

    def _agent(self, searches: int) -> Any:
        class Silent(Answering):
            def complete(self, prompt: str, *_: Any, **__: Any) -> Any:
                return super().complete("Question: anything")

        tool = QueryEngineTool.from_defaults(engine(Silent()), name="search", description="Searches.")
        return ReActAgent(tools=[tool], llm=Reasoning(searches=searches), streaming=False)


class Flow(Workflow):
    """Retrieves and answers."""

    searches: int = 1

    @step
    async def respond(self, ev: StartEvent) -> StopEvent:
        for search in range(self.searches):
            await RETRIEVER.aretrieve(again(ev.user_msg) if search else ev.user_msg)
        return StopEvent(result=answer_to(ev.user_msg))


class TestWorkflow(LlamaIndexContract):
    """A workflow of the user's own."""

    def made(self) -> Any:
        return Flow()

    def twice(self) -> Any:
        flow = Flow()
        flow.searches = 2
        return flow


class Begin(StartEvent):
    """Has the question under a name of its own."""

    question: str


class Named(Workflow):
    """Begins with that."""

    @step
    async def respond(self, ev: Begin) -> StopEvent:
        return StopEvent(result=Response(answer_to(ev.question), source_nodes=RETRIEVER.retrieve(ev.question)))


class Fixed(BaseRetriever):
    """Finds what it is told."""

    def __init__(self, *nodes: Any) -> None:
        self._nodes = nodes
        super().__init__()

    def _retrieve(self, query_bundle: Any) -> Any:
        return [NodeWithScore(node=node, score=0.5) for node in self._nodes]


class Outer(BaseRetriever):
    """Keeps the best of what another finds."""

    def _retrieve(self, query_bundle: Any) -> Any:
        return RETRIEVER.retrieve(query_bundle)[:1]


class Around(CustomQueryEngine):
    """An engine around a retriever that says nothing of its nodes."""

    retriever: Any

    def custom_query(self, query_str: str) -> Any:
        return f"{len(self.retriever.retrieve(query_str))} nodes"


class Best(Looking):
    """Keeps the best of what was found."""

    def _postprocess_nodes(self, nodes: Any, query_bundle: Any = None) -> Any:
        return nodes[:1]


def test_what_the_model_was_given_counts_whoever_took_the_rest_away() -> None:
    for app in (engine(node_postprocessors=[Best()]), Around(retriever=Outer())):
        [case] = asked(app, QUESTIONS[:1])
        assert seen(case) == found(QUESTIONS[0])[:1]
        assert case.tags["retrievals"] == 1
    assert case.response == "1 nodes"
    assert application_of("app:engine", engine()).name == "app:engine (LlamaIndex query engine)"


def test_where_no_node_is_found_its_own_answer_is_marked_and_one_without_a_text_is_counted() -> None:
    empty = engine().__class__(Fixed(), response_synthesizer=engine()._response_synthesizer)
    [case] = asked(empty, QUESTIONS[:1])
    assert (case.response, case.sources) == ("Empty Response", ())
    assert case.tags["canned"] is True

    nodes = (ImageNode(image="aGk=", metadata={"file": "i.png"}), TextNode(text="A text.", id_="t"))
    [case] = asked(Fixed(*nodes), QUESTIONS[:1])
    assert seen(case) == [("A text.", "t", 0.5)]
    assert case.tags["sources_left_out"] == 1


def test_an_object_that_retrieves_nothing_has_no_recorded_sources() -> None:
    with pytest.warns(UserWarning, match="no retriever told what it found for 1 of 1"):
        [case] = collect(SimpleChatEngine.from_defaults(llm=Answering()), QUESTIONS[:1])

    assert (case.response, case.sources) == (answer_to(QUESTIONS[0]), None)


def test_a_chat_engine_is_asked_one_at_a_time_unless_several_are_built() -> None:
    running = []
    most = []

    class Counting(Answering):
        async def acomplete(self, prompt: str, *_: Any, **__: Any) -> Any:
            running.append(1)
            most.append(len(running))
            await asyncio.sleep(0.05)
            running.pop()
            return self.complete(prompt)

    def build() -> Any:
        return chat_engine(Counting())

    good = [one for one in QUESTIONS if one != FAILING]
    with pytest.warns(UserWarning, match="one memory, so it is asked one question at a time"):
        alone = collect(build(), good, concurrency=4)
    assert max(most) == 1
    built = asked(build, good, concurrency=4, build=True)
    assert max(most) == 4
    assert [case.response for case in built] == [case.response for case in alone] == [answer_to(one) for one in good]


def test_the_conversation_is_given_to_a_chat_engine() -> None:
    class Told(Answering):
        def complete(self, prompt: str, *_: Any, **__: Any) -> Any:
            return super().complete("Question: " + ("history" if "assistant: Hi" in prompt else "none"))

    history = (Turn("user", "Hello"), Turn("assistant", "Hi"))
    with pytest.warns(UserWarning, match="one memory"):
        cases = collect(chat_engine(Told()), [Case("a", "Q", history=history), "P"])

    assert [case.response for case in cases] == [answer_to("history"), answer_to("none")]


def test_a_workflow_takes_the_question_under_the_name_that_its_start_event_has() -> None:
    [case] = asked(Named(), QUESTIONS[:1])
    assert (case.response, seen(case)) == (answer_to(QUESTIONS[0]), found(QUESTIONS[0]))
    with pytest.raises(ConfigError, match="has no input 'nope'"):
        collect(Named(), QUESTIONS, input="nope")
