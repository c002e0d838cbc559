"""Record TruLens's instrumentation by its OpenTelemetry spans, in the collector's file exporter's form.

    python bench/traces/record_otlp_trulens.py

The packages stand in README.md beside it.
"""

import os
import tempfile

os.environ |= {"TRULENS_OTEL_TRACING": "1", "OTEL_RESOURCE_ATTRIBUTES": "service.instance.id=instance-1"}

import ferry
from ferry import DOGS, PRICE
from opentelemetry import trace as otel
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from recording import expected, keep, traces_data, write_lines
from trulens.apps.app import TruApp
from trulens.core import TruSession
from trulens.core.otel.instrument import instrument
from trulens.otel.semconv.trace import SpanAttributes

NAME = "otlp-trulens.jsonl"


class Assistant:
    """The ferry company's assistant."""

    @instrument(
        span_type=SpanAttributes.SpanType.RETRIEVAL,
        attributes={
            SpanAttributes.RETRIEVAL.QUERY_TEXT: "query",
            SpanAttributes.RETRIEVAL.RETRIEVED_CONTEXTS: "return",
        },
    )
    def search(self, query: str) -> list[str]:
        """The texts that are found."""
        return [text for _, text in ferry.asked(query).sources]

    @instrument(span_type=SpanAttributes.SpanType.GENERATION)
    def model(self, query: str, context: list[str]) -> str:
        """The answer; the texts stand in the prompt."""
        return ferry.asked("\n".join([*context, query])).answer

    @instrument()
    def answer(self, query: str) -> str:
        """Retrieve, then answer."""
        return self.model(query, self.search(query))


def main() -> None:
    """Two questions in a session of TruLens's, whose store is thrown away."""
    exporter = InMemorySpanExporter()
    with tempfile.TemporaryDirectory() as folder:
        session = TruSession(database_url=f"sqlite:///{folder}/trulens.sqlite")
        otel.get_tracer_provider().add_span_processor(SimpleSpanProcessor(exporter))
        made = Assistant()
        app = TruApp(made, app_name="ferry-answers", app_version="2.4.0", main_method=made.answer)
        for one in (PRICE, DOGS):
            with app:
                made.answer(one.query)
        session.force_flush()
    spans = exporter.get_finished_spans()
    roots = sorted((span for span in spans if span.parent is None), key=lambda span: span.start_time)
    rows = []
    for one, root in zip((PRICE, DOGS), roots, strict=True):
        rows.append(expected(f"{root.context.trace_id:032x}", one.query, one.texts, one.answer))
    write_lines(NAME, [traces_data(spans)])
    keep(NAME, rows)


if __name__ == "__main__":
    main()
