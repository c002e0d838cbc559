"""LangGraph's graphs and agents as applications."""

import importlib.util
import operator
import typing
from typing import Annotated, Any

import pytest

pytest.importorskip("langgraph", reason="LangGraph isn't installed: make test-frameworks")

from adapters_contract import FAILING, QUESTIONS, again, answer_to, asked, seen
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langchain_fakes import RETRIEVER, STORE, LangChainContract, ToolUser, found
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

from ragtriage import Case, ConfigError
from ragtriage.core.case import Turn
from ragtriage.langchain import collect


class State(typing.TypedDict):
    """Pydantic can't read it on Python 3.11: it is typing's own."""

    question: str
    documents: Annotated[list[Any], operator.add]
    answer: str


def retrieve(state: State) -> Any:
    return {"documents": RETRIEVER.invoke(state["question"])}


async def retrieve_again(state: State) -> Any:
    return {"documents": await RETRIEVER.ainvoke(again(state["question"]))}


def generate(state: State) -> Any:
    return {"answer": answer_to(state["question"])}


def graph(*nodes: Any, state: Any = State, **how: Any) -> Any:
    built = StateGraph(state)
    for before, node in zip([START, *[one.__name__ for one in nodes]], nodes, strict=False):
        built.add_node(node.__name__, node)
        built.add_edge(before, node.__name__)
    built.add_edge(nodes[-1].__name__, END)
    return built.compile(**how)


def agent(searched: Any = RETRIEVER.invoke, **how: Any) -> Any:
    """An agent as the newest packages that are installed make it."""

    @tool(response_format="content_and_artifact")
    def search(query: str) -> Any:
        """Search the documents."""
        documents = searched(query)
        return "\n".join(one.page_content for one in documents), documents

    if importlib.util.find_spec("langchain"):
        from langchain.agents import create_agent  # not among the lowest versions

        return create_agent(ToolUser(), [search], **how)
    from langgraph.prebuilt import create_react_agent  # the newest warn of it

    return create_react_agent(ToolUser(), [search], **how)


class TestGraph(LangChainContract):
    """A graph with a state of its own."""

    def made(self) -> Any:
        return graph(retrieve, generate)

    def twice(self) -> Any:
        return graph(retrieve, retrieve_again, generate)


class TestAgent(LangChainContract):
    """An agent that searches with a tool."""

    def made(self) -> Any:
        return agent()

    def twice(self) -> Any:
        async def respond(state: Any) -> Any:
            return {"messages": [AIMessage(answer_to(state["messages"][-1].content))]}

        async def look(state: Any) -> Any:
            question = state["messages"][-1].content
            await RETRIEVER.ainvoke(question)
            await RETRIEVER.ainvoke(again(question))

        return graph(look, respond, state=MessagesState)


def test_the_artifact_of_a_tool_stands_for_a_search_that_no_callback_tells_of() -> None:
    [case] = asked(agent(lambda query: STORE.similarity_search(query, k=1)), QUESTIONS[:1])

    assert case.response == answer_to(QUESTIONS[0])
    assert [one[:2] for one in seen(case)] == [one[:2] for one in found(QUESTIONS[0])][:1]


def test_a_graph_whose_state_has_no_known_key_needs_app_input() -> None:
    class Odd(typing.TypedDict):
        topic: str
        answer: str

    def respond(state: Odd) -> Any:
        return {"answer": answer_to(state["topic"])}

    odd = graph(respond, state=Odd)
    with pytest.raises(ConfigError, match="which key takes the question: its state has answer, topic"):
        collect(odd, QUESTIONS[:1])
    with pytest.warns(UserWarning, match="no retriever"):
        assert collect(odd, QUESTIONS[:1], input="topic")[0].response == answer_to(QUESTIONS[0])


def test_the_conversation_stands_before_the_last_message() -> None:
    def respond(state: Any) -> Any:
        return {"messages": [AIMessage(" | ".join(one.content for one in state["messages"]))]}

    history = (Turn("user", "Hello"), Turn("assistant", "Hi"))
    with pytest.warns(UserWarning, match="no retriever"):
        [case] = collect(graph(respond, state=MessagesState), [Case("a", "Q", history=history)])

    assert case.response == "Hello | Hi | Q"


def test_a_graph_that_waits_for_a_person_is_interrupted_and_leaves_nothing_in_its_memory() -> None:
    def asks(state: State) -> Any:
        return {"answer": interrupt("May I?")}

    for how in ({}, {"interrupt_before": ["generate"]}):
        saver = InMemorySaver()
        waiting = graph(retrieve, *((generate,) if how else (asks,)), checkpointer=saver, **how)
        [case] = asked(waiting, QUESTIONS[:1])

        assert (case.response, case.tags["failure"]) == (None, "interrupted")
        assert seen(case) == found(QUESTIONS[0])
        assert not list(saver.list(None))


def test_a_graph_with_a_memory_is_asked_each_question_anew() -> None:
    remembering = agent(checkpointer=InMemorySaver())
    good = [one for one in QUESTIONS if one != FAILING]

    assert [case.response for case in asked(remembering, good)] == [answer_to(one) for one in good]


def test_its_recursion_limit_is_a_failure() -> None:
    def loops(state: State) -> Any:
        return {"answer": "again"}

    built = StateGraph(State)
    built.add_node("retrieve", retrieve)
    built.add_node("loops", loops)
    built.add_edge(START, "retrieve")
    built.add_edge("retrieve", "loops")
    built.add_edge("loops", "loops")
    [case] = asked(built.compile().with_config(recursion_limit=5), QUESTIONS[:1])

    assert (case.response, case.tags["failure"]) == (None, "exception GraphRecursionError")
    assert seen(case) == found(QUESTIONS[0])
