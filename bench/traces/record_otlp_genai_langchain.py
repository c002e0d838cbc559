"""Record LangChain through OpenTelemetry's own GenAI instrumentation, with content captured on spans.

    python bench/traces/record_otlp_genai_langchain.py

The packages stand in README.md beside it.
"""

import os

os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"

import langchain_ferry as application
from ferry import PRICE
from opentelemetry.instrumentation.genai.langchain import LangChainInstrumentor
from recording import Recording

if __name__ == "__main__":
    recording = Recording("otlp-genai-langchain.jsonl")
    LangChainInstrumentor().instrument(tracer_provider=recording.provider)
    WHY = "texts of retrievals are not recorded by this instrumentation"
    with recording.trace(PRICE.query, None, PRICE.answer, rejected=WHY):
        application.chain().invoke({"input": PRICE.query})
    with recording.trace(PRICE.query, None, PRICE.answer, rejected=WHY, note="an agent: a retrieval inside a tool"):
        application.agent(whole=False).invoke({"messages": [("human", PRICE.query)]})
    recording.write()
