"""Record OpenTelemetry's own GenAI instrumentation of OpenAI's client, retrieval and workflow by its handler.

    python bench/traces/record_otlp_genai.py
    python bench/traces/record_otlp_genai.py legacy     # with the packages of the older instrumentation

The packages stand in README.md beside it. What is captured is read from the environment when the package is loaded,
so every fixture is recorded by a process of its own.
"""

import contextlib
import os
import subprocess
import sys
from typing import Any

import ferry
from fake_openai import MODEL, prompt, serving
from ferry import DOGS, PRICE, QUAY, STORM, Asked
from recording import Recording

NAME = "otlp-genai-{}.jsonl"
CAPTURED = {
    "captured": "SPAN_ONLY",
    "texts": "SPAN_ONLY",
    "off": "NO_CONTENT",
}
SWITCH = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


class Application:
    """A workflow around a retrieval and OpenAI's client."""

    def __init__(self, name: str, address: str) -> None:
        import openai

        self.recording = Recording(NAME.format(name), deployment__environment__name="production")
        self.client = openai.OpenAI(api_key="none", base_url=address, max_retries=0)
        self.texts = name == "texts"
        if name == "legacy":
            from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor

            OpenAIInstrumentor().instrument(tracer_provider=self.recording.provider)
        else:
            from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor
            from opentelemetry.util.genai.handler import TelemetryHandler

            self.handler = TelemetryHandler(tracer_provider=self.recording.provider)
            OpenAIInstrumentor().instrument(tracer_provider=self.recording.provider)

    def search(self, one: Asked) -> None:
        """A retrieval: ids and scores as the convention names them, or mappings that hold the texts too."""
        from opentelemetry.util.genai.types import RetrievalDocument

        scores = [ferry.score(one.query, found) for found in one.found]
        with self.handler.retrieval(data_source_id="leaflets", provider="ferry") as found:
            found.query_text, found.top_k = one.query, 2
            if self.texts:
                rows = zip(one.sources, scores, strict=True)
                found.documents = [{"id": key, "score": score, "content": text} for (key, text), score in rows]
            else:
                pairs = zip(one.found, scores, strict=True)
                found.documents = [RetrievalDocument(id=key, score=score) for key, score in pairs]

    def answer(self, one: Asked, **parameters: Any) -> None:
        """A question below a workflow's span."""
        from opentelemetry.util.genai.types import InputMessage, OutputMessage, Text

        with self.handler.workflow("answer", conversation_id="conversation-7") as flow:
            flow.input_messages = [InputMessage(role="user", parts=[Text(content=one.query)])]
            self.search(one)
            said = self.client.chat.completions.create(**({"model": MODEL, "messages": prompt(one)} | parameters))
            if parameters.get("stream"):
                answer = "".join(chunk.choices[0].delta.content or "" for chunk in said if chunk.choices)
            else:
                answer = said.choices[0].message.content
            flow.output_messages = [OutputMessage(role="assistant", parts=[Text(content=answer)], finish_reason="stop")]


def record(name: str) -> None:
    """One fixture."""
    import openai

    known = {"conversation": "conversation-7", "tags": {"environment": "production"}}
    scored = {"scores": [ferry.score(PRICE.query, found) for found in PRICE.found], "top_k": 2}
    with serving() as address:
        made = Application(name, address)
        trace = made.recording.trace
        if name == "captured":
            why = "ids without texts: to be read with --source-texts, or without sources"
            ids = {"ids": list(PRICE.found)}
            with trace(PRICE.query, None, PRICE.answer, rejected=why, **ids, **known, **scored):
                made.answer(PRICE)
            with trace(DOGS.query, None, DOGS.answer, rejected=why, ids=["dogs-1"], note="streamed", **known):
                made.answer(DOGS, stream=True)
            with trace(STORM.query, None, None, rejected=why, ids=["storm-1", "quay-1"], note="failed", **known):
                with contextlib.suppress(openai.InternalServerError):
                    made.answer(STORM, model="broken")
        elif name == "texts":
            note = "the application adds the texts to gen_ai.retrieval.documents"
            with trace(PRICE.query, PRICE.sources, PRICE.answer, note=note, **known, **scored):
                made.answer(PRICE)
        elif name == "off":
            with trace(None, None, None, rejected="content capture is off: the question was not recorded", **known):
                made.answer(PRICE)
        else:
            why = "the instrumentation's older conventions keep texts in log records, not in spans"
            with trace(None, None, None, rejected=why):
                made.client.chat.completions.create(model=MODEL, messages=prompt(QUAY))
    made.recording.write()


def main() -> None:
    """Each fixture in a process of its own."""
    if len(sys.argv) > 1:
        record(sys.argv[1])
        return
    for name, captured in CAPTURED.items():
        environment = os.environ | {SWITCH: captured}
        subprocess.run([sys.executable, "-W", "ignore", __file__, name], env=environment, check=True)


if __name__ == "__main__":
    main()
