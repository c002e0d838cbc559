"""The ferry company's assistant, built with LangChain on fake models: what the recorders of several tools run."""

from collections.abc import Iterator
from typing import Any

import ferry
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import create_retriever_tool, tool


class Leaflets(BaseRetriever):
    """Finds what `ferry` says is found; `only` leaves the leaflets of one index."""

    only: tuple[str, ...] = tuple(ferry.LEAFLETS)

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return [
            Document(page_content=text, metadata={"source": f"{one}.md", "score": ferry.score(query, one)})
            for one, text in ferry.asked(query).sources
            if one in self.only
        ]


class Assistant(BaseChatModel):
    """Answers the question that stands last in its prompt; `calls` are the tool calls that it makes first, step by step."""

    calls: tuple[tuple[tuple[str, dict[str, str]], ...], ...] = ()
    broken: bool = False

    @property
    def _llm_type(self) -> str:
        return "fake-assistant"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": "ferry-model-1"}

    def bind_tools(self, tools: Any, **_: Any) -> Runnable[Any, Any]:
        """Itself: the calls are scripted."""
        return self

    def _reply(self, messages: list[BaseMessage]) -> AIMessage:
        if self.broken:
            raise ConnectionError("the model's server closed the connection")
        done = sum(isinstance(one, AIMessage) for one in messages)
        usage = {"input_tokens": 40, "output_tokens": 12, "total_tokens": 52}
        if done < len(self.calls):
            calls = [
                {"name": name, "args": arguments, "id": f"call-{done}-{at}"}
                for at, (name, arguments) in enumerate(self.calls[done])
            ]
            return AIMessage("", tool_calls=calls, usage_metadata=usage)
        content = messages[-1].content if not self.calls else messages[0].content
        human = next((one.content for one in reversed(messages) if one.type == "human"), content)
        return AIMessage(
            ferry.asked(str(human)).answer, usage_metadata=usage, response_metadata={"model_name": "ferry-model-1"}
        )

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._reply(messages))])


class Streaming(Assistant):
    """The same, word by word."""

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> Iterator[ChatGenerationChunk]:
        words = str(self._reply(messages).content).split(" ")
        for at, word in enumerate(words):
            chunk = ChatGenerationChunk(message=AIMessageChunk(word if at == 0 else f" {word}"))
            if run_manager:
                run_manager.on_llm_new_token(str(chunk.message.content), chunk=chunk)
            yield chunk


class Last(BaseDocumentCompressor):
    """A reranker that turns the order round and keeps the first."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        """The last document alone."""
        return [
            Document(
                page_content=documents[-1].page_content, metadata=documents[-1].metadata | {"relevance_score": 0.91}
            )
        ]


PROMPT = ChatPromptTemplate.from_messages(
    [("system", "Answer from these leaflets:\n{context}"), ("placeholder", "{chat_history}"), ("human", "{input}")]
)


def chain(model: BaseChatModel | None = None, retriever: Any = None) -> Runnable[Any, Any]:
    """LangChain's own retrieval chain: a mapping with `input`, `context`, `answer` comes out."""
    from langchain_classic.chains import create_retrieval_chain
    from langchain_classic.chains.combine_documents import create_stuff_documents_chain

    return create_retrieval_chain(retriever or Leaflets(), create_stuff_documents_chain(model or Assistant(), PROMPT))


def short(model: BaseChatModel | None = None) -> Runnable[Any, Any]:
    """A chain from a text to a text, as LangChain's expression language writes it."""
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.runnables import RunnablePassthrough

    joined = RunnableLambda(lambda found: "\n\n".join(one.page_content for one in found)).with_config(run_name="join")
    given = {"context": Leaflets() | joined, "input": RunnablePassthrough()}
    return given | PROMPT | (model or Assistant()) | StrOutputParser()


def function(model: BaseChatModel | None = None, retriever: Any = None) -> Runnable[Any, Any]:
    """A function as a chain, with few spans: a mapping with `input` and `chat_history` goes in, a text comes out."""

    def answer(asked: dict[str, Any]) -> str:
        found = (retriever or Leaflets()).invoke(asked["input"])
        context = "\n\n".join(one.page_content for one in found)
        prompt = PROMPT.format_messages(context=context, **asked)
        return str((model or Assistant()).invoke(prompt).content)

    return RunnableLambda(answer)


def nested() -> Runnable[Any, Any]:
    """A function that answers from what another returns, which hands on what its retriever found."""

    def retrieve(query: str) -> list[Document]:
        return Leaflets().invoke(query)

    def answer(query: str) -> str:
        found = RunnableLambda(retrieve).invoke(query)
        context = "\n\n".join(one.page_content for one in found)
        return str(Assistant().invoke(PROMPT.format_messages(context=context, input=query)).content)

    return RunnableLambda(answer)


@tool
def calculator(expression: str) -> str:
    """Work out a sum."""
    return str(sum(float(part) for part in expression.split("+")))


def agent(*, whole: bool = True) -> Any:
    """An agent that searches the handbook and the timetable and works out a sum, all at once, then answers.

    Without `whole` it searches the handbook alone.
    """
    from langchain.agents import create_agent

    handbook = Leaflets(only=tuple(one for one in ferry.LEAFLETS if one not in ferry.TIMETABLE))
    tools: list[Any] = [
        create_retriever_tool(handbook, "search_handbook", "Fares and rules."),
        create_retriever_tool(Leaflets(only=ferry.TIMETABLE), "search_timetable", "When and where ferries leave."),
        calculator,
    ]
    handbook_call = ("search_handbook", {"query": f"handbook: {ferry.PRICE.query}"})
    timetable_call = ("search_timetable", {"query": f"timetable: {ferry.QUAY.query}"})
    sum_call = ("calculator", {"expression": "18 + 4"})
    calls = ((handbook_call, timetable_call, sum_call),) if whole else ((handbook_call,),)
    return create_agent(Assistant(calls=calls), tools, name="ferry-agent")
