"""Haystack's pipelines and agents as applications, with its own retriever."""

import json
from typing import Any

import pytest

pytest.importorskip("haystack", reason="Haystack isn't installed: make test-frameworks")

import haystack
from adapters_contract import DOCUMENTS, QUESTIONS, AdapterContract, Seen, again, answer_to, asked, seen
from haystack import Document, Pipeline, component
from haystack.components.agents import Agent
from haystack.components.builders import AnswerBuilder, PromptBuilder
from haystack.components.joiners import BranchJoiner, DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.tools import Tool

from ragtriage import Case, ConfigError
from ragtriage.adapters.opening import application_of
from ragtriage.core.case import Turn
from ragtriage.haystack import collect

STORE = InMemoryDocumentStore()
STORE.write_documents([Document(id=name, content=text) for name, text in DOCUMENTS.items()])
TEMPLATE = "{% for one in documents %}{{ one.content }}\n{% endfor %}{{ question }}"
STEPS = hasattr(Pipeline, "run_async_generator")
"""Whether a plain pipeline gives its outputs step by step, as from Haystack 3 on."""


@component
class Answering:
    """Answers as `answer_to` the last line of the prompt."""

    def __init__(self, streaming_callback: Any = None) -> None:
        self.streaming_callback = streaming_callback

    @component.output_types(replies=list[str])
    def run(self, prompt: str) -> dict[str, Any]:
        if self.streaming_callback:
            self.streaming_callback(prompt)
        return {"replies": [answer_to(prompt.splitlines()[-1])]}


@component
class Again:
    """The words of a second search."""

    @component.output_types(query=str)
    def run(self, query: str) -> dict[str, Any]:
        return {"query": again(query)}


@component
class Check:
    """Wants a second search."""

    @component.output_types(retry=str, prompt=str)
    def run(self, documents: list[Document], question: str, query: str) -> dict[str, Any]:
        return {"prompt": question} if query == again(question) else {"retry": again(question)}


@component
class Best:
    """A ranker that keeps the best."""

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document], query: str) -> dict[str, Any]:
        return {"documents": documents[:1]}


@component
class Chatting:
    """Calls the tool `search` so many times, then answers."""

    def __init__(self, searches: int = 1) -> None:
        self.searches = searches

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], tools: Any = None, **_: Any) -> dict[str, Any]:
        question = next(one.text for one in messages if one.role == "user")
        looked = sum(bool(one.tool_call_results) for one in messages)
        if looked == self.searches:
            return {"replies": [ChatMessage.from_assistant(answer_to(question))]}
        call = ToolCall(tool_name="search", arguments={"query": again(question) if looked else question})
        return {"replies": [ChatMessage.from_assistant(tool_calls=[call])]}


def retriever() -> Any:
    return InMemoryBM25Retriever(STORE, top_k=2)


def pipeline(kind: Any = Pipeline, template: str = TEMPLATE, model: Any = None, **further: Any) -> Any:
    made = kind()
    made.add_component("retriever", retriever())
    made.add_component("prompt", PromptBuilder(template, required_variables=["question"]))
    made.add_component("llm", model or Answering())
    for name, one in further.items():
        made.add_component(name, one)
    made.connect("prompt.prompt", "llm.prompt")
    return made


def simple(kind: Any = Pipeline, model: Any = None) -> Any:
    made = pipeline(kind, model=model)
    made.connect("retriever.documents", "prompt.documents")
    return made


class TestPipeline(AdapterContract):
    """A pipeline."""

    tells_searches = False
    keeps_sources = STEPS

    def made(self) -> Any:
        return simple()

    def found(self, question: str) -> Seen:
        return [(one.content, one.id, one.score) for one in retriever().run(query=question)["documents"]]

    def twice(self) -> Any:
        made = pipeline(template="{{ documents }}{{ more }}\n{{ question }}", again=Again(), further=retriever())
        made.connect("retriever.documents", "prompt.documents")
        made.connect("again.query", "further.query")
        made.connect("further.documents", "prompt.more")
        return made

    def watched(self, notes: list[Any]) -> Any:
        return simple(model=Answering(notes.append))

    def handlers(self, app: Any) -> int:
        return len(app.graph.nodes)


@pytest.mark.skipif(not hasattr(haystack, "AsyncPipeline"), reason="one kind of pipeline from Haystack 3 on")
class TestAsyncPipeline(TestPipeline):
    """The pipeline that is asynchronous in Haystack 2."""

    keeps_sources = True

    def made(self) -> Any:
        return simple(haystack.AsyncPipeline)


def search_tool(**how: Any) -> Tool:
    parameters = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    return Tool("search", "Searches.", parameters, function=lambda query: retriever().run(query=query), **how)


def state_agent(**tool: Any) -> Agent:
    return Agent(
        chat_generator=Chatting(),
        tools=[search_tool(outputs_to_state={"documents": {"source": "documents"}})],
        state_schema={"documents": {"type": list[Document]}},
    )


class TestAgent(TestPipeline):
    """An agent that keeps the documents in its state."""

    keeps_sources = False

    def made(self) -> Any:
        return state_agent()

    def twice(self) -> Any:
        return self.watched([], 2)

    def watched(self, notes: list[Any], searches: int = 1) -> Any:
        tool = search_tool()
        function = tool.function
        tool.function = lambda query: (
            notes.append(query)
            or json.dumps([{"id": d.id, "content": d.content, "score": d.score} for d in function(query)["documents"]])
        )
        return Agent(chat_generator=Chatting(searches), tools=[tool])

    def handlers(self, app: Any) -> int:
        return len(app.tools)


def test_an_agent_without_documents_in_its_state_is_read_by_what_its_tools_gave() -> None:
    claims = TestAgent()
    [case] = asked(claims.watched([]), QUESTIONS[:1])

    assert application_of("app:agent", state_agent()).name == "app:agent (Haystack agent)"
    assert (case.response, seen(case)) == (answer_to(QUESTIONS[0]), claims.found(QUESTIONS[0]))


def test_of_components_with_documents_the_last_tells_what_the_model_was_given() -> None:
    made = pipeline(joiner=DocumentJoiner(), best=Best(), more=retriever())
    made.connect("retriever.documents", "joiner.documents")
    made.connect("more.documents", "joiner.documents")
    made.connect("joiner.documents", "best.documents")
    made.connect("best.documents", "prompt.documents")
    [case] = asked(made, QUESTIONS[:1])

    assert [text for text, _, _ in seen(case)] == [DOCUMENTS["d1"]]
    assert case.tags["retrievals"] == 1


def test_a_response_is_the_answer_builders_or_none_where_only_documents_are_found() -> None:
    made = pipeline(answers=AnswerBuilder())
    made.connect("retriever.documents", "prompt.documents")
    made.connect("retriever.documents", "answers.documents")
    made.connect("llm.replies", "answers.replies")
    assert asked(made, QUESTIONS[:1])[0].response == answer_to(QUESTIONS[0])

    assert application_of("app:rag", made).name == "app:rag (Haystack pipeline)"

    alone = Pipeline()
    alone.add_component("retriever", retriever())
    [case] = asked(alone, QUESTIONS[:1])
    assert (case.response, seen(case)) == (None, TestPipeline().found(QUESTIONS[0]))
    assert "failure" not in case.tags


def test_of_a_component_in_a_loop_all_documents_are_kept_or_the_loss_is_told() -> None:
    made = Pipeline()
    for name, one in {
        "begin": BranchJoiner(str),
        "retriever": retriever(),
        "check": Check(),
        "llm": Answering(),
    }.items():
        made.add_component(name, one)
    made.connect("begin.value", "retriever.query")
    made.connect("begin.value", "check.query")
    made.connect("retriever.documents", "check.documents")
    made.connect("check.retry", "begin.value")
    made.connect("check.prompt", "llm.prompt")
    [case] = asked(made, QUESTIONS[:1], input="begin.value, check.question")
    notes = application_of("app", made, "begin.value, check.question").notes

    assert case.response == answer_to(QUESTIONS[0])
    assert case.tags["retrievals"] == (2 if STEPS else 1)
    assert bool(notes) != STEPS
    assert all("stands in a loop" in note for note in notes)


@component
class Images:
    """Finds an image, and a text."""

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        return {"documents": [Document(id="image", content=None), Document(id="t", content="A text.")]}


def test_a_document_without_a_text_is_left_out_and_counted() -> None:
    made = Pipeline()
    made.add_component("images", Images())
    [case] = asked(made, QUESTIONS[:1])

    assert seen(case) == [("A text.", "t", None)]
    assert case.tags["sources_left_out"] == 1


def test_a_pipeline_that_needs_more_or_takes_no_question_is_refused() -> None:
    unconnected = Pipeline()
    unconnected.add_component("retriever", retriever())
    unconnected.add_component("llm", Answering())
    with pytest.raises(ConfigError, match=r"needs llm\.prompt: only the question can be given"):
        collect(unconnected, QUESTIONS)
    with pytest.raises(ConfigError, match=r"has no input 'prompt\.nope'; it has .*prompt\.question"):
        collect(simple(), QUESTIONS, input="prompt.nope")
    made = Pipeline()
    made.add_component("llm", Answering())
    with pytest.raises(ConfigError, match=r"say with --app-input, as in prompt\.question"):
        collect(made, QUESTIONS)
    with pytest.warns(UserWarning, match="no retriever told"):
        assert collect(made, ["Q"], input="llm.prompt")[0].response == answer_to("Q")


def test_the_conversation_goes_into_chat_history() -> None:
    template = "{% for one in chat_history %}{{ one.text }} {% endfor %}{{ question }}"
    made = Pipeline()
    made.add_component("prompt", PromptBuilder(template, required_variables=["question"]))
    made.add_component("llm", Answering())
    made.connect("prompt.prompt", "llm.prompt")
    with pytest.warns(UserWarning, match="no retriever told"):
        [case] = collect(made, [Case("a", "Q", history=(Turn("user", "Hello"), Turn("assistant", "Hi")))])

    assert case.response == answer_to("Hello Hi Q")
