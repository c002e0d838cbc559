"""Send recorded OpenInference traces to a Phoenix server on this machine, and read its frame of spans back.

    python bench/traces/record_phoenix.py

The packages stand in README.md beside it. The traces are those of the fixtures of `record_otlp_langchain.py`,
`record_otlp_llamaindex.py` and `record_otlp_openai.py`, so their ids and what is right for them stay the same.
"""

import base64
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

from recording import EXPECTED, FOLDER, keep, write_text

ADDRESS = "http://127.0.0.1:16007"
SENT = (
    "otlp-openinference-openai-chain.jsonl",
    "otlp-openinference-llamaindex-reranker.jsonl",
)
# The failed trace goes into Parquet, since pandas writes no column of events without attributes.
HIDDEN = "otlp-openinference-langchain-hidden-outputs.jsonl"  # apart: pandas writes no Parquet of masks beside mappings


@contextlib.contextmanager
def phoenix(folder: str) -> Iterator[None]:
    """A Phoenix server, with its data in a folder."""
    settings = {
        "PHOENIX_WORKING_DIR": folder,
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": ADDRESS.rpartition(":")[2],
        "PHOENIX_GRPC_PORT": "14327",
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    command = [sys.executable, "-m", "phoenix.server.main", "serve"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(command, env=os.environ | settings, **quiet)
    try:
        for _ in range(180):
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{ADDRESS}/healthz", timeout=1)
                break
            time.sleep(1)
        yield
    finally:
        server.terminate()
        server.wait()


def send(name: str, project: str) -> None:
    """Send a fixture's spans, in protobuf as an exporter does."""
    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    for line in (FOLDER / name).read_text("utf-8").splitlines():
        data = json.loads(line)
        for resource in data["resourceSpans"]:
            named = {"key": "openinference.project.name", "value": {"stringValue": project}}
            resource["resource"]["attributes"].append(named)
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    for key in ("traceId", "spanId", "parentSpanId"):
                        if key in span:
                            span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
        body = ParseDict(data, ExportTraceServiceRequest()).SerializeToString()
        headers = {"Content-Type": "application/x-protobuf"}
        urllib.request.urlopen(urllib.request.Request(f"{ADDRESS}/v1/traces", body, headers))


def main() -> None:
    """Send, read the frame, write it in three formats."""
    known = json.loads(EXPECTED.read_text("utf-8"))
    cases: list[dict[str, Any]] = [dict(case) for name in SENT for case in known[name]]
    for case in cases:  # the frame has no attributes of resources
        case["tags"] = {key: held for key, held in case["tags"].items() if key != "service.version"}
    with tempfile.TemporaryDirectory() as folder, phoenix(folder):
        from phoenix.client import Client

        client = Client(base_url=ADDRESS)
        for name in SENT:
            send(name, "ferry")
        send(HIDDEN, "hidden")
        for _ in range(60):
            frame = client.spans.get_spans_dataframe(project_identifier="ferry", limit=1000)
            if len(set(frame.get("context.trace_id", ()))) == len({case["trace_id"] for case in cases}):
                break
            time.sleep(0.5)
        time.sleep(2)  # the last spans of a trace may come after its first
        frame = client.spans.get_spans_dataframe(project_identifier="ferry", limit=1000)
        frame = frame.sort_values("start_time")
        known_ids = [case["trace_id"] for case in cases]
        whole = frame[frame["context.trace_id"].isin([known_ids[0], known_ids[2]])].dropna(axis="columns", how="all")
        small = {"use_dictionary": False, "write_statistics": False}
        whole.to_parquet(FOLDER / "phoenix-spans.parquet", compression="zstd", index=False, **small)
        few = frame[frame["context.trace_id"] == known_ids[3]].dropna(axis="columns", how="all")
        write_text(
            "phoenix-spans.jsonl", few.to_json(orient="records", lines=True, force_ascii=False, date_format="iso")
        )
        one = frame[frame["context.trace_id"] == known_ids[0]].dropna(axis="columns", how="all")
        write_text("phoenix-spans.json", one.to_json(orient="records", force_ascii=False))
        masked = client.spans.get_spans_dataframe(project_identifier="hidden", limit=1000)
        write_text("phoenix-hidden.jsonl", masked.to_json(orient="records", lines=True, force_ascii=False))
    keep("phoenix-hidden.jsonl", known[HIDDEN])
    keep("phoenix-spans.parquet", [cases[0], cases[2]])
    keep("phoenix-spans.jsonl", cases[3:])
    keep("phoenix-spans.json", cases[:1])


if __name__ == "__main__":
    main()
