"""Record OpenAI's client through OpenInference's instrumentation, retrieval and chain by its decorators and spans.

    python bench/traces/record_otlp_openai.py

The packages stand in README.md beside it.
"""

import contextlib
import json
from typing import Any

import ferry
import openai
from fake_openai import MODEL, prompt, serving
from ferry import DOGS, PRICE, QUAY, STORM, Asked
from openinference.instrumentation import OITracer, TraceConfig, get_retriever_attributes, using_attributes
from openinference.instrumentation.openai import OpenAIInstrumentor
from recording import Recording

NAME = "otlp-openinference-openai-{}.jsonl"


class Application:
    """A chain by hand around OpenAI's client."""

    def __init__(self, name: str, address: str, config: TraceConfig | None = None) -> None:
        self.config = config or TraceConfig()
        self.recording = Recording(NAME.format(name), service__version="2.4.0")
        self.tracer = OITracer(self.recording.provider.get_tracer("ferry"), config=self.config)
        self.client = openai.OpenAI(api_key="none", base_url=address, max_retries=0)

    def search(self, one: Asked) -> list[tuple[str, str]]:
        """A retrieval span with texts, ids and scores."""
        with self.tracer.start_as_current_span("search", openinference_span_kind="retriever") as span:
            span.set_input(one.query)
            documents = [
                {"id": found, "content": text, "score": ferry.score(one.query, found)} for found, text in one.sources
            ]
            span.set_attributes(get_retriever_attributes(documents=documents))
        return one.sources

    def answer(self, one: Asked, messages: list[dict[str, Any]] | None = None, **parameters: Any) -> str:
        """The answer to a question, below a chain's span."""

        @self.tracer.chain(name="answer")
        def answer(question: str) -> str:
            self.search(one)
            given = {"model": MODEL, "messages": messages or prompt(one)} | parameters
            said = self.client.chat.completions.create(**given)
            if parameters.get("stream"):
                return "".join(chunk.choices[0].delta.content or "" for chunk in said if chunk.choices)
            return str(said.choices[0].message.content)

        return str(answer(one.query))


@contextlib.contextmanager
def application(name: str, config: TraceConfig | None = None) -> Any:
    """The application, instrumented; its recording is written at the end."""
    instrumentor = OpenAIInstrumentor()
    with serving() as address:
        made = Application(name, address, config)
        instrumentor.instrument(tracer_provider=made.recording.provider, config=made.config)
        try:
            yield made
        finally:
            instrumentor.uninstrument()
    made.recording.write()


def scored(one: Asked) -> dict[str, Any]:
    """The scores that its retrieval gave."""
    return {"scores": [ferry.score(one.query, found) for found in one.found]}


def main() -> None:
    """All fixtures."""
    with application("chain") as made:
        known = {
            "conversation": "conversation-7",
            "user": "user-3",
            "tags": {"tenant": "norrhamn", "service.version": "2.4.0"},
        }
        with made.recording.trace(PRICE.query, PRICE.sources, PRICE.answer, **known, **scored(PRICE)):
            with using_attributes(session_id="conversation-7", user_id="user-3", metadata={"tenant": "norrhamn"}):
                made.answer(PRICE)
        with made.recording.trace(DOGS.query, DOGS.sources, DOGS.answer, **scored(DOGS), note="streamed"):
            made.answer(DOGS, stream=True)
        note = "status ERROR and no output: tag failure"
        with made.recording.trace(STORM.query, STORM.sources, None, **scored(STORM), note=note):
            with contextlib.suppress(openai.InternalServerError):
                made.answer(STORM, model="broken")
    with application("image") as made:
        system, user = prompt(PRICE)
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
        messages = [system, {"role": "user", "content": [{"type": "text", "text": user["content"]}, image]}]
        note = "the chain's input is the text; the model's message has a part that is an image"
        with made.recording.trace(PRICE.query, PRICE.sources, PRICE.answer, **scored(PRICE), note=note):
            made.answer(PRICE, messages)
    with application("bare") as made:
        why = "only a model span, no retrieval: with --map sources= it is judged without sources"
        with made.recording.trace(QUAY.query, None, QUAY.answer, rejected=why):
            made.client.chat.completions.create(model=MODEL, messages=prompt(QUAY))
    with application("tool") as made:
        note = "no retrieval and exactly one tool: its output counts as the source"
        found = "\n".join(text for _, text in QUAY.sources)
        function = {"name": "lookup", "parameters": {"type": "object", "properties": {"query": {"type": "string"}}}}

        @made.tracer.tool(name="lookup")
        def lookup(query: str) -> str:
            return found

        @made.tracer.agent(name="answer")
        def answer(question: str) -> str:
            messages: list[Any] = [{"role": "user", "content": question}]
            offered = {"model": MODEL, "tools": [{"type": "function", "function": function}]}
            called = made.client.chat.completions.create(messages=messages, **offered).choices[0].message
            messages.append(called.model_dump(exclude_none=True))
            for call in called.tool_calls:
                text = lookup(**json.loads(call.function.arguments))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
            return str(made.client.chat.completions.create(messages=messages, **offered).choices[0].message.content)

        with made.recording.trace(QUAY.query, [(None, found)], QUAY.answer, note=note):
            answer(QUAY.query)
    with application("hidden", TraceConfig(hide_input_text=True, hide_output_text=True)) as made:
        note = "hide_input_text and hide_output_text mask the messages alone: the chain's own texts are there"
        with made.recording.trace(PRICE.query, PRICE.sources, PRICE.answer, **scored(PRICE), note=note):
            made.answer(PRICE)
    with application("hidden-documents", TraceConfig(hide_retrieval_documents=True)) as made:
        why = "sources were not recorded: their texts are __REDACTED__"
        with made.recording.trace(PRICE.query, None, PRICE.answer, rejected=why):
            made.answer(PRICE)


if __name__ == "__main__":
    main()
