"""Record the runs that LangSmith's client sends, as files of runs and by OTLP.

    python bench/traces/record_langsmith.py
    python bench/traces/record_langsmith.py otlp

The packages stand in README.md beside it. The client creates a run, then updates it: a row of a file is both together,
with the columns that LangSmith documents for a run and that its server fills (the project's id, the status, feedback).
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

os.environ |= {"LANGCHAIN_REVISION_ID": "2.4.0", "LANGSMITH_TRACING": "true", "LANGSMITH_PROJECT": "ferry-answers"}

import ferry
import langchain_ferry as application
from ferry import DOGS, PRICE, QUAY, STORM, Asked
from langchain_core.tracers import LangChainTracer
from langsmith import Client, traceable
from recording import FOLDER, Recording, expected, keep, taking, without_places, write_lines

PROJECT = "7d1b2c5e-0c52-4f8e-9a53-3a9d6f1e2b40"
KNOWN = {
    "conversation": "conversation-7",
    "user": "user-3",
    "tags": {"tenant": "norrhamn", "tags": ["beta", "web"], "version": "2.4.0"},
}


def chained(tracer: LangChainTracer) -> None:
    """A function as a LangChain chain, with a conversation, a user and tags."""
    metadata = {"session_id": "conversation-7", "user_id": "user-3", "tenant": "norrhamn"}
    config = {"callbacks": [tracer], "metadata": metadata, "tags": ["web", "beta"]}
    application.function().invoke({"input": PRICE.query}, config=config)


def traced(client: Client, one: Asked, *, broken: bool = False) -> None:
    """Functions with LangSmith's decorator: a chain, a retriever, a model."""

    @traceable(run_type="retriever", client=client)
    def search(query: str) -> list[dict[str, Any]]:
        return [
            {"page_content": text, "type": "Document", "metadata": {"id": key, "score": ferry.score(query, key)}}
            for key, text in one.sources
        ]

    @traceable(run_type="llm", client=client, metadata={"ls_provider": "ferry", "ls_model_name": "ferry-model-1"})
    def model(messages: list[dict[str, str]]) -> dict[str, Any]:
        if broken:
            raise ConnectionError("the model's server closed the connection")
        message = {"role": "assistant", "content": ferry.asked(messages[-1]["content"]).answer}
        return {
            "choices": [{"message": message}],
            "usage_metadata": {"input_tokens": 40, "output_tokens": 12, "total_tokens": 52},
        }

    @traceable(run_type="chain", client=client, metadata={"thread_id": "conversation-9"})
    def answer(question: str) -> str:
        context = "\n".join(found["page_content"] for found in search(question))
        said = model([{"role": "system", "content": context}, {"role": "user", "content": question}])
        return str(said["choices"][0]["message"]["content"])

    with contextlib.suppress(ConnectionError):
        answer(one.query)


def applications(client: Client, *, whole: bool = True) -> list[dict[str, Any]]:
    """Run them, or two of them; what is right, in their order."""
    tracer = LangChainTracer(client=client, project_name="ferry-answers")
    chained(tracer)
    rows = [expected("", PRICE.query, PRICE.files, PRICE.answer, **KNOWN)]
    if whole:
        traced(client, DOGS)
        note = "the conversation is the thread's id"
        rows.append(expected("", DOGS.query, DOGS.sources, DOGS.answer, conversation="conversation-9", note=note))
    traced(client, STORM, broken=True)
    note = "failed: no response, tag failure"
    rows.append(expected("", STORM.query, STORM.sources, None, conversation="conversation-9", note=note))
    if whole:
        streamed = application.function(application.Streaming()).stream(
            {"input": QUAY.query}, config={"callbacks": [tracer]}
        )
        list(streamed)
        rows.append(expected("", QUAY.query, QUAY.files, QUAY.answer, note="streamed"))
    client.flush()
    return rows


@contextlib.contextmanager
def kept() -> Iterator[tuple[str, dict[str, dict[str, Any]]]]:
    """A server's address, and the runs that it is sent (created, then updated) by their ids."""
    runs: dict[str, dict[str, Any]] = {}

    def take(asked: str, body: bytes) -> bytes:
        if "/runs" in asked:
            sent = json.loads(body)
            key = sent.get("id") or asked.rpartition("/")[2]
            runs.setdefault(key, {}).update({name: held for name, held in sent.items() if held is not None})
        return b"{}"

    with taking(14319, take) as address:
        yield address, runs


def row(run: dict[str, Any]) -> dict[str, Any]:
    """A run with the columns that the server fills, without what is this machine's."""
    extra = dict(run.get("extra") or {})
    extra["runtime"] = {"sdk": "langsmith-py", "library": "langsmith", "platform": "Linux", "runtime": "python"}
    shared = {
        key: held for key, held in run.items() if key not in {"session_name", "extra", "child_runs", "attachments"}
    }
    usage = (run.get("outputs") or {}).get("usage_metadata", {})
    return shared | {
        "extra": extra,
        "session_id": PROJECT,
        "status": "error" if run.get("error") else "success",
        "total_tokens": usage.get("total_tokens", 0),
        "feedback_stats": None,
        "app_path": f"/o/1/projects/p/{PROJECT}/r/{run['id']}",
    }


def files() -> None:
    """Runs as lines, as Parquet, and lines without parents and with inputs that lie elsewhere."""
    with kept() as (address, runs):
        client = Client(api_url=address, api_key="none", auto_batch_tracing=False)
        known = applications(client)
    cleaned = json.loads(without_places(json.dumps(list(runs.values()), ensure_ascii=False)))
    rows = sorted((row(run) for run in cleaned), key=lambda run: str(run["dotted_order"]))
    roots = [run for run in rows if not run.get("parent_run_id")]
    for case, root in zip(known, roots, strict=True):
        case["trace_id"] = root["trace_id"]
    roots[0]["feedback_stats"] = {"helpful": {"n": 1, "avg": 1.0, "show_feedback_arrow": True}}
    known[0]["annotations"] = {"helpful": 1.0}
    write_lines("langsmith-runs.jsonl", rows)
    keep("langsmith-runs.jsonl", known)
    parquet("langsmith-bulk.parquet", rows)
    keep("langsmith-bulk.parquet", known)
    two = {case["trace_id"] for case in known[1:2]}
    bare = [
        {key: held for key, held in run.items() if key != "parent_run_id"} for run in rows if run["trace_id"] in two
    ]
    write_lines("langsmith-dotted.jsonl", bare)
    keep("langsmith-dotted.jsonl", known[1:2])
    away = [
        run | {"inputs": {}, "inputs_s3_urls": {"ROOT": {"s3_url": "ttl_s/1"}}}
        for run in rows
        if run["trace_id"] in two
    ]
    write_lines("langsmith-elsewhere.jsonl", away)
    why = "the inputs lie in object storage (inputs_s3_urls)"
    keep("langsmith-elsewhere.jsonl", [known[1] | {"query": None, "rejected": why}])


def parquet(name: str, rows: list[dict[str, Any]]) -> None:
    """Runs as Parquet, mappings as JSON texts, with the columns of the documented format."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    columns: dict[str, Any] = {}
    for key in sorted({key for run in rows for key in run}):
        held = [run.get(key) for run in rows]
        if key.endswith("_time"):
            times = [datetime.fromisoformat(one).replace(tzinfo=UTC) if one else None for one in held]
            columns[key] = pa.array(times, pa.timestamp("us", "UTC"))
        elif any(isinstance(one, dict) for one in held) or key == "events":
            columns[key] = pa.array([None if one is None else json.dumps(one, ensure_ascii=False) for one in held])
        else:
            columns[key] = pa.array(held)
    pq.write_table(pa.table(columns), FOLDER / name, compression="zstd", use_dictionary=False, write_statistics=False)
    print(name, (FOLDER / name).stat().st_size, "bytes")


def exported() -> None:
    """The same by LangSmith's OTLP exporter."""
    recording = Recording("otlp-langsmith.jsonl")
    client = Client(api_key="none", otel_tracer_provider=recording.provider, tracing_mode="otel")
    known = applications(client, whole=False)
    client.flush()
    spans = sorted(recording.exporter.get_finished_spans(), key=lambda span: span.start_time)
    roots = [span for span in spans if span.parent is None]
    for case, root in zip(known, roots, strict=True):
        case["trace_id"] = f"{root.context.trace_id:032x}"
    recording.rows = known
    recording.write()


if __name__ == "__main__":
    if sys.argv[1:] == ["otlp"]:
        exported()
    else:
        files()
