"""A graph of LangGraph over the documents of app.py, and how it is evaluated: python examples/langgraph_app.py."""

from __future__ import annotations

from typing import Any, TypedDict

from app import best_sentence
from langchain_app import KeywordRetriever, joined
from langgraph.graph import END, START, StateGraph

from ragtriage import EmbeddedJudge, evaluate_sync
from ragtriage.langchain import collect


class State(TypedDict):
    """What the nodes know."""

    question: str
    context: str
    answer: str


def search(state: State) -> dict[str, Any]:
    """The node that retrieves."""
    return {"context": joined(KeywordRetriever().invoke(state["question"]))}


def respond(state: State) -> dict[str, Any]:
    """The node that stands for a language model."""
    return {"answer": best_sentence(state["question"], state["context"])}


builder = StateGraph(State)
builder.add_node("search", search)
builder.add_node("respond", respond)
builder.add_edge(START, "search")
builder.add_edge("search", "respond")
builder.add_edge("respond", END)
graph = builder.compile()

if __name__ == "__main__":
    cases = collect(graph, ["What does a large locker at Hallin Quay cost?", "May I bring two dogs on the ferry?"])
    for record in evaluate_sync(cases, EmbeddedJudge()):
        print(record)
