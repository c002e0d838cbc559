"""Record what Opik's client sends, as the folder that its command-line export writes.

    python bench/traces/record_opik.py

The packages stand in README.md beside it. The messages are taken from the client's requests; a trace's file is made of
them through the client's own models, by the function with which the export writes it. What a server adds (feedback
scores, times of creation) is put in by this script.
"""

import contextlib
import json
import os
import shutil
from typing import Any

URL = "http://127.0.0.1:14320"
os.environ |= {"OPIK_URL_OVERRIDE": f"{URL}/api", "OPIK_PROJECT_NAME": "ferry-answers", "OPIK_SENTRY_ENABLE": "false"}
os.environ |= {
    "HAYSTACK_CONTENT_TRACING_ENABLED": "true",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "OPIK_WORKSPACE": "default",
}

import ferry
import opik
from ferry import DOGS, PRICE, QUAY, STORM, Asked
from opik.cli.exports.utils import write_json_data
from opik.rest_api.types.span_public import SpanPublic
from opik.rest_api.types.trace_public import TracePublic
from recording import FOLDER, expected, keep, taking, without_places

TRACES: dict[str, dict[str, Any]] = {}
SPANS: dict[str, dict[str, Any]] = {}


def take(asked: str, body: bytes) -> bytes:
    """Keep what the client sends: traces and spans, created or updated."""
    kind = TRACES if "/traces" in asked else SPANS if "/spans" in asked else None
    if kind is not None and body and not asked.startswith("GET"):
        sent = json.loads(body)
        several = sent.get("traces") or sent.get("spans") or [sent]
        for one in several:
            key = one.get("id") or asked.rpartition("/")[2]
            kind.setdefault(key, {}).update({name: held for name, held in one.items() if held is not None})
    return b'{"version": "2.2.122", "content": []}'


@opik.track(type="tool")
def search(query: str) -> list[dict[str, Any]]:
    """A retrieval: Opik has no type for it."""
    return [{"id": key, "text": text, "score": ferry.score(query, key)} for key, text in ferry.asked(query).sources]


@opik.track(type="llm")
def model(messages: list[dict[str, str]]) -> dict[str, Any]:
    """The model's answer, with its name and cost."""
    if "broken" in messages[0]["content"]:
        raise ConnectionError("the model's server closed the connection")
    opik.opik_context.update_current_span(model="ferry-model-1", provider="ferry", total_cost=0.0005)
    message = {"role": "assistant", "content": ferry.asked(messages[-1]["content"]).answer}
    return {"choices": [{"message": message}]}


@opik.track
def answer(question: str, note: str = "") -> str:
    """A chain: retrieve, then answer."""
    context = "\n".join(one["text"] for one in search(question))
    messages = [{"role": "system", "content": f"{note}{context}"}, {"role": "user", "content": question}]
    return str(model(messages)["choices"][0]["message"]["content"])


@opik.track
def conversation(question: str) -> str:
    """The same in a thread, with tags and metadata."""
    opik.opik_context.update_current_trace(
        thread_id="conversation-7", tags=["web", "beta"], metadata={"tenant": "norrhamn"}
    )
    return answer(question)


def langchain(one: Asked) -> None:
    """LangChain by Opik's tracer."""
    import langchain_ferry as application
    from opik.integrations.langchain import OpikTracer

    tracer = OpikTracer(project_name="ferry-answers")
    application.function().invoke({"input": one.query}, config={"callbacks": [tracer]})
    application.nested().invoke(one.query, config={"callbacks": [tracer]})
    tracer.flush()


def llamaindex(one: Asked) -> None:
    """LlamaIndex by Opik's callback."""
    from llama_index.core import Settings
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llamaindex_ferry import Assistant, Leaflets
    from opik.integrations.llama_index import LlamaIndexCallbackHandler

    manager = CallbackManager([LlamaIndexCallbackHandler(project_name="ferry-answers")])
    Settings.callback_manager = manager
    retriever, assistant = Leaflets(), Assistant()
    retriever.callback_manager = assistant.callback_manager = manager
    Settings.llm = assistant
    RetrieverQueryEngine.from_args(retriever, llm=assistant, callback_manager=manager).query(one.query)


def haystack(one: Asked) -> dict[str, Any]:
    """Haystack by Opik's connector; what its retriever found."""
    import haystack_ferry as application
    from opik.integrations.haystack import OpikConnector

    return application.run(one, built=False, connector=OpikConnector("ferry-answers", project_name="ferry-answers"))


def write(name: str, cases: list[dict[str, Any]], before: int) -> None:
    """A folder of the traces that were recorded since, a file each."""
    opik.flush_tracker()
    traces = sorted(list(TRACES.values())[before:], key=lambda trace: str(trace["start_time"]))
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for trace, case in zip(traces, cases, strict=True):
        case["trace_id"] = trace["id"]
        spans = [span for span in SPANS.values() if span["trace_id"] == trace["id"]]
        if "annotations" in case:
            scores = [{"name": key, "value": held, "source": "ui"} for key, held in case["annotations"].items()]
            trace["feedback_scores"] = scores
        file = folder / f"trace_{trace['id']}.json"
        public = {key: held for key, held in trace.items() if key != "project_name"}
        said = {
            "trace": TracePublic(**public | {"project_id": "019aa000-0000-7000-8000-000000000001"}).model_dump(),
            "spans": [
                SpanPublic(**span).model_dump() for span in sorted(spans, key=lambda one: str(one["id"]), reverse=True)
            ],
            "attachments": [],
            "downloaded_at": "2026-11-29T18:00:00.000000",
            "project_name": "ferry-answers",
        }
        write_json_data(said, file)
        file.write_text(without_places(file.read_text("utf-8")), "utf-8")
        print(file.name, file.stat().st_size, "bytes")
    keep(name, cases)


def main() -> None:
    """Opik's decorators, then its integrations."""
    scored = {"scores": [ferry.score(PRICE.query, found) for found in PRICE.found], "cost_usd": 0.0005}
    with taking(14320, take):
        conversation(PRICE.query)
        with contextlib.suppress(ConnectionError):
            answer(STORM.query, note="broken ")
        known = {"conversation": "conversation-7", "tags": {"tags": ["web", "beta"], "tenant": "norrhamn"}}
        cases = [
            expected("", PRICE.query, PRICE.sources, PRICE.answer, **known, **scored, annotations={"helpful": 1.0}),
            expected("", STORM.query, STORM.sources, None, note="failed: no response, tag failure"),
        ]
        write("opik.folder", cases, 0)
        before = len(TRACES)
        langchain(QUAY)
        llamaindex(PRICE)
        found = haystack(DOGS)
        why = "Opik's LangChain tracer records no retrievers, and nothing else returns the documents here"
        note = "the retriever isn't recorded, but the function around it returns its documents"
        scored.pop("cost_usd")
        cases = [
            expected("", QUAY.query, None, QUAY.answer, rejected=why, note="LangChain by Opik's tracer"),
            expected("", QUAY.query, QUAY.files, QUAY.answer, note=note),
            expected(
                "", PRICE.query, PRICE.sources, PRICE.answer, **scored, note="LlamaIndex by Opik's callback: nodes"
            ),
            expected("", DOGS.query, None, DOGS.answer, note="Haystack by Opik's connector") | found,
        ]
        write("opik-integrations.folder", cases, before)


if __name__ == "__main__":
    main()
