"""Record Haystack through OpenInference's instrumentation and through its own tracer.

    python bench/traces/record_otlp_haystack.py

The packages stand in README.md beside it.
"""

import os

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ["HAYSTACK_CONTENT_TRACING_ENABLED"] = "true"

from ferry import DOGS, PRICE, STORM, Asked
from haystack import tracing
from haystack_ferry import run
from haystack_integrations.tracing.opentelemetry import OpenTelemetryTracer
from openinference.instrumentation import using_attributes
from openinference.instrumentation.haystack import HaystackInstrumentor
from recording import Recording

Shapes = tuple[tuple[Asked, dict[str, bool], str], ...]
BUILT: Shapes = (
    (DOGS, {}, "ends with Haystack's AnswerBuilder: the root's output holds answers with their documents"),
    (STORM, {"ranked": True, "built": False}, "the ranker's output replaces what was retrieved"),
)


def record(recording: Recording, shapes: Shapes, **known: str) -> None:
    """Pipelines of these shapes."""
    for one, shape, note in shapes:
        with recording.trace(one.query, None, one.answer, note=note, **known):
            found = run(one, **shape)
        recording.rows[-1] |= found


def main() -> None:
    """Both ways, and Haystack's own without texts."""
    recording = Recording("otlp-openinference-haystack.jsonl")
    instrumentor = HaystackInstrumentor()
    instrumentor.instrument(tracer_provider=recording.provider)
    with using_attributes(session_id="conversation-7"):
        record(recording, BUILT, conversation="conversation-7")
    instrumentor.uninstrument()
    recording.write()
    recording = Recording("otlp-haystack.jsonl")
    tracing.enable_tracing(OpenTelemetryTracer(recording.provider.get_tracer("haystack")))
    record(recording, BUILT[1:])
    recording.write()
    recording = Recording("otlp-haystack-off.jsonl")
    tracing.enable_tracing(OpenTelemetryTracer(recording.provider.get_tracer("haystack")))
    tracing.tracer.is_content_tracing_enabled = False
    why = "the question was not recorded: HAYSTACK_CONTENT_TRACING_ENABLED is off"
    with recording.trace(None, None, None, rejected=why):
        run(PRICE, built=False)
    recording.write()


if __name__ == "__main__":
    main()
