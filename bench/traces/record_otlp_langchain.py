"""Record LangChain through OpenInference's instrumentation, in the collector's file exporter's form.

    python bench/traces/record_otlp_langchain.py

The packages stand in README.md beside it.
"""

import contextlib
from typing import Any

import ferry
import langchain_ferry as application
from ferry import DOGS, LOST, PRICE, QUAY, STORM
from openinference.instrumentation import TraceConfig, using_attributes
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry import trace as otel
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, TraceFlags
from recording import Recording

NAME = "otlp-openinference-langchain-{}.jsonl"


@contextlib.contextmanager
def instrumented(name: str, config: TraceConfig | None = None, **resource: str) -> Any:
    """A recording that the instrumentation writes into, written at the end."""
    recording = Recording(NAME.format(name), **resource)
    instrumentor = LangChainInstrumentor()
    instrumentor.instrument(tracer_provider=recording.provider, config=config or TraceConfig())
    try:
        yield recording
    finally:
        instrumentor.uninstrument()
    recording.write()


def chains() -> None:
    """A retrieval chain; a function as a chain, with session, user, tags and metadata; nothing found."""
    resource = {"service__version": "2.4.0", "deployment__environment__name": "production"}
    with instrumented("chain", **resource) as recording:
        tags = {"service.version": "2.4.0", "environment": "production"}
        with recording.trace(PRICE.query, PRICE.files, PRICE.answer, tags=tags):
            application.chain().invoke({"input": PRICE.query})
        attributes = {"session_id": "conversation-7", "user_id": "user-3", "tags": ["web", "beta"]}
        known = {"conversation": "conversation-7", "user": "user-3"}
        tags |= {"tenant": "norrhamn", "tag.tags": ["web", "beta"]}
        note = "the input is a mapping, the output a bare text"
        with (
            recording.trace(LOST.query, LOST.files, LOST.answer, **known, tags=tags, note=note),
            using_attributes(**attributes, metadata={"tenant": "norrhamn"}),
        ):
            application.function().invoke({"input": LOST.query})
        note = "a recorded list without items: nothing was found"
        with recording.trace(ferry.NOTHING.query, [], ferry.NOTHING.answer, note=note):
            application.function().invoke({"input": ferry.NOTHING.query})


def turns() -> None:
    """A conversation of two turns; the second's messages hold the first."""
    with instrumented("conversation") as recording:
        history: list[tuple[str, str]] = []
        for turn in (STORM, PRICE):
            known = {"conversation": "conversation-9", "user": "user-5", "history": [list(one) for one in history]}
            with (
                recording.trace(turn.query, turn.files, turn.answer, **known),
                using_attributes(session_id="conversation-9", user_id="user-5"),
            ):
                application.function().invoke({"input": turn.query, "chat_history": history})
            history += [("human", turn.query), ("ai", turn.answer)]


def agents() -> None:
    """An agent with two retrievers, which are called as tools, and a calculator."""
    with instrumented("agent") as recording:
        found = [*PRICE.files, *QUAY.files]
        note = "two retrievals inside tools that are called at once, a calculator that is no source; the queries are the agent's own"
        with recording.trace(PRICE.query, found, PRICE.answer, note=note):
            application.agent().invoke({"messages": [("human", PRICE.query)]})


def reranked() -> None:
    """A retriever around a retriever: LangChain's contextual compression, whose last step reranks."""
    from langchain_classic.retrievers import ContextualCompressionRetriever

    with instrumented("reranker") as recording:
        best = [STORM.files[-1]]
        note = "a retrieval inside a retrieval: the outermost counts, which gives what its reranker left"
        with recording.trace(STORM.query, best, STORM.answer, note=note):
            retriever = ContextualCompressionRetriever(
                base_retriever=application.Leaflets(), base_compressor=application.Last()
            )
            application.function(retriever=retriever).invoke({"input": STORM.query})


def streamed() -> None:
    """An answer that is streamed, below a root whose input and output are bare texts; and a model that fails."""
    with instrumented("streamed") as recording:
        with recording.trace(DOGS.query, DOGS.files, DOGS.answer, note="streamed"):
            for _ in application.short(application.Streaming()).stream(DOGS.query):
                pass
    with instrumented("error") as recording:
        note = "status ERROR and no output: tag failure"
        with recording.trace(DOGS.query, DOGS.files, None, note=note), contextlib.suppress(ConnectionError):
            application.function(application.Assistant(broken=True)).invoke({"input": DOGS.query})


def nested() -> None:
    """A question below another service's span and HTTP and database spans; several questions in one trace."""
    with instrumented("service", service__namespace="ferry") as recording:
        tracer = recording.provider.get_tracer("opentelemetry.instrumentation.fastapi", "0.66b2")
        away = SpanContext(
            0x5B8AA5A2D2C872E8321CF37308D69DF2, 0x051581BF3CB55C13, is_remote=True, trace_flags=TraceFlags(1)
        )
        above = otel.set_span_in_context(NonRecordingSpan(away))
        http = {"http.request.method": "POST", "url.path": "/ask", "http.response.status_code": 200}
        note = "the parent is in another service; HTTP and database spans stand above the question and beside it"
        with (
            recording.trace(QUAY.query, QUAY.files, QUAY.answer, note=note),
            tracer.start_as_current_span("POST /ask", context=above, kind=SpanKind.SERVER, attributes=http),
        ):
            statement = {"db.system.name": "postgresql", "db.query.text": "SELECT name FROM customer WHERE id = $1"}
            with tracer.start_as_current_span("SELECT customer", kind=SpanKind.CLIENT, attributes=statement):
                pass
            application.function().invoke({"input": QUAY.query})
        first, *others = (PRICE, DOGS)
        with recording.trace(
            first.query,
            first.files,
            first.answer,
            note="first of two siblings; the gateway's span is of another service, in this file",
        ):
            gateway = recording.gateway.get_tracer("opentelemetry.instrumentation.httpx", "0.66b2")
            with (
                gateway.start_as_current_span("POST", kind=SpanKind.CLIENT, attributes={"http.request.method": "POST"}),
                tracer.start_as_current_span("POST /batch", kind=SpanKind.SERVER, attributes=http),
            ):
                for one in (first, *others):
                    application.function().invoke({"input": one.query})
        for one in others:
            recording.also(one.query, one.files, one.answer, note="sibling")


def hidden() -> None:
    """OpenInference's masks: of everything, of outputs, of retrieved texts."""
    with instrumented("hidden-inputs", TraceConfig(hide_inputs=True)) as recording:
        why = "the question was not recorded: it is __REDACTED__"
        with recording.trace(None, PRICE.files, PRICE.answer, rejected=why):
            application.function().invoke({"input": PRICE.query})
    with instrumented("hidden-outputs", TraceConfig(hide_outputs=True)) as recording:
        why = "sources were not recorded: hide_outputs masks retrieved texts too"
        with recording.trace(PRICE.query, None, None, rejected=why):
            application.function().invoke({"input": PRICE.query})


def pictured() -> None:
    """A question of several parts, one an image."""
    from langchain_core.messages import HumanMessage, SystemMessage

    picture = "data:image/png;base64,iVBORw0KGgo="
    parts = [{"type": "text", "text": PRICE.query}, {"type": "image_url", "image_url": {"url": picture}}]
    with instrumented("image") as recording:
        tracer = recording.provider.get_tracer("ferry")
        note = "the message keeps its text; the image is counted. The model and the retriever were called side by side below a span without kind"
        with recording.trace(PRICE.query, PRICE.files, PRICE.answer, note=note), tracer.start_as_current_span("answer"):
            found = application.Leaflets().invoke(PRICE.query)
            context = "\n".join(one.page_content for one in found)
            application.Assistant().invoke([SystemMessage(context), HumanMessage(content=parts)])


if __name__ == "__main__":
    for record in (chains, turns, agents, reranked, streamed, nested, hidden, pictured):
        record()
