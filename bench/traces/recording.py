"""Spans as OpenTelemetry's collector writes them into a file, and what is known about each recorded trace."""

import base64
import gzip
import json
import random
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.tracebacklimit = 2  # stack traces of one frame or two: every span of a failed chain holds one

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "readers" / "traces" / "recorded"
EXPECTED = FOLDER / "expected.json"
BATCH = 10  # spans a line: few, so that the spans of larger traces stand in several lines as they do in production


def expected(
    trace_id: str,
    query: str | None,
    sources: Sequence[tuple[str | None, str]] | None,
    response: str | None,
    **known: Any,
) -> dict[str, Any]:
    """What is right for a case of a trace, by knowledge of the application.

    `known` holds what else is: `conversation`, `user`, `tags`, `rejected` (why the trace can't be used), `note`,
    `scores` (the retrieval's, one a source), `annotations` (others' scores), `history` (role and text a message),
    `ids` (of sources whose texts weren't recorded), `top_k`, `cost_usd`.
    """
    row = {
        "trace_id": trace_id,
        "query": query,
        "sources": None if sources is None else [list(one) for one in sources],
        "response": response,
        "conversation": None,
        "user": None,
        "tags": {},
    }
    return row | known


def keep(name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Put what is known about one fixture into `expected.json`."""
    known = json.loads(EXPECTED.read_text("utf-8")) if EXPECTED.exists() else {}
    known[name] = list(rows)
    fixtures = []
    for fixture, cases in sorted(known.items()):
        lines = ",\n  ".join(json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in cases)
        fixtures.append(f"{json.dumps(fixture)}: [\n  {lines}\n ]")
    EXPECTED.write_text("{\n " + ",\n ".join(fixtures) + "\n}\n", "utf-8")


def write_lines(name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a fixture of one JSON object a line."""
    write_text(name, "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows))


def write_text(name: str, text: str) -> None:
    """Write a fixture, this machine's folders replaced in it."""
    (FOLDER / name).parent.mkdir(parents=True, exist_ok=True)
    (FOLDER / name).write_text(without_places(text), "utf-8")
    print(name, (FOLDER / name).stat().st_size, "bytes")


def without_places(text: str) -> str:
    """A text without the folders of this machine: stack traces name them."""
    for place, name in ((sys.prefix, "/app/venv"), (sys.base_prefix, "/app/python"), (str(FOLDER.parents[3]), "/app")):
        text = text.replace(place, name)
    return re.sub(re.escape(tempfile.gettempdir()) + r"/tmp\w+", "/app/store", text)


class Recording:
    """A tracer provider whose spans are kept, and the expectations about them.

    Args:
        name: the fixture's name; also what the ids of traces and spans are drawn from, so that they stay the same.
        resource: attributes of the application.
    """

    def __init__(self, name: str, **resource: str) -> None:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        from opentelemetry.sdk.trace.id_generator import IdGenerator

        drawn = random.Random(name)

        class Seeded(IdGenerator):
            def generate_span_id(self) -> int:
                return drawn.getrandbits(64) or 1

            def generate_trace_id(self) -> int:
                return drawn.getrandbits(128) or 1

        self.name = name
        self.exporter = InMemorySpanExporter()
        attributes = {"service.name": "ferry-answers", "service.instance.id": "instance-1"}
        attributes |= {key.replace("__", "."): value for key, value in resource.items()}
        ids, processor = Seeded(), SimpleSpanProcessor(self.exporter)
        self.provider = TracerProvider(resource=Resource.create(attributes), id_generator=ids)
        self.provider.add_span_processor(processor)
        gateway = Resource.create({"service.name": "gateway", "service.instance.id": "instance-2"})
        self.gateway = TracerProvider(resource=gateway, id_generator=ids)  # another service
        self.gateway.add_span_processor(processor)
        self.rows: list[dict[str, Any]] = []

    @contextmanager
    def trace(
        self, query: str | None, sources: Sequence[tuple[str | None, str]] | None, response: str | None, **known: Any
    ) -> Iterator[None]:
        """What is recorded inside is one trace, of which this is known."""
        before = len(self.exporter.get_finished_spans())
        yield
        ids = {f"{span.context.trace_id:032x}" for span in self.exporter.get_finished_spans()[before:]}
        if len(ids) != 1:
            raise RuntimeError(f"{self.name}: {len(ids)} traces were recorded where one was expected")
        self.rows.append(expected(ids.pop(), query, sources, response, **known))

    def also(
        self, query: str | None, sources: Sequence[tuple[str | None, str]] | None, response: str | None, **known: Any
    ) -> None:
        """Another question of the trace that was recorded last."""
        self.rows.append(expected(self.rows[-1]["trace_id"], query, sources, response, **known))

    def write(self) -> None:
        """Write the fixture in the collector's file exporter's form, and what is known about it."""
        spans = self.exporter.get_finished_spans()
        write_lines(self.name, [traces_data(spans[at : at + BATCH]) for at in range(0, len(spans), BATCH)])
        keep(self.name, self.rows)


def traces_data(spans: Sequence[Any]) -> dict[str, Any]:
    """Spans as one `TracesData` in OTLP's JSON."""
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    return in_json(encode_spans(spans))


def in_json(request: Any) -> dict[str, Any]:
    """A message of spans in OTLP's JSON: ids in hex, as the specification wants and the collector writes."""
    from google.protobuf.json_format import MessageToDict

    data = MessageToDict(request, use_integers_for_enums=True)
    for resource in data["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for holder in (span, *span.get("links", ())):
                    for key in ("traceId", "spanId", "parentSpanId"):
                        if key in holder:
                            holder[key] = base64.b64decode(holder[key]).hex()
    return data


class Received:
    """What a receiver on this machine was sent by an application's own OTLP exporter, in the order of arrival."""

    def __init__(self, name: str, address: str) -> None:
        self.name = name
        self.address = address
        self.lines: list[dict[str, Any]] = []

    def roots(self) -> list[str]:
        """The traces whose root has come, in the order of their roots' starts."""
        spans = [
            span
            for line in self.lines
            for resource in line["resourceSpans"]
            for scope in resource["scopeSpans"]
            for span in scope["spans"]
            if not span.get("parentSpanId")
        ]
        return [span["traceId"] for span in sorted(spans, key=lambda span: int(span["startTimeUnixNano"]))]

    def wait(self, count: int, seconds: float = 30) -> list[str]:
        """The ids of so many traces, once their roots have come.

        Raises:
            TimeoutError: they didn't come in time.
        """
        end = time.monotonic() + seconds
        while len(self.roots()) < count:
            if time.monotonic() > end:
                raise TimeoutError(f"{self.name}: {len(self.roots())} of {count} traces came")
            time.sleep(0.05)
        return self.roots()

    def write(self) -> None:
        """Write the fixture, a request a line."""
        for line in self.lines:
            for resource in line["resourceSpans"]:
                kept = [one for one in resource["resource"].get("attributes", ()) if one["key"] not in OF_MACHINES]
                resource["resource"]["attributes"] = kept
        write_lines(self.name, self.lines)


OF_MACHINES = ("host.name", "process.pid", "process.command_args", "process.executable.path", "process.owner")


@contextmanager
def collecting(name: str, path: str = "/v1/traces", port: int = 14318) -> Iterator[Received]:
    """A receiver of OTLP in protobuf, as the collector is one, for applications that bring their own exporter."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    received = Received(name, "")

    def take(asked: str, body: bytes) -> bytes:
        if asked == f"POST {path}":
            received.lines.append(in_json(ExportTraceServiceRequest.FromString(body)))
        return b""

    with taking(port, take, "application/x-protobuf") as address:
        received.address = address + path
        yield received


@contextmanager
def taking(port: int, take: Callable[[str, bytes], bytes], kind: str = "application/json") -> Iterator[str]:
    """The address of a server on this machine that answers every request with what `take` makes of it.

    `take` is given the method with the path, and the unpacked body.
    """

    class Takes(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            said = take(f"{self.command} {self.path}", body)
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_POST = do_PUT = do_PATCH = answer  # noqa: N815 - the server's own names

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Takes)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.shutdown()
        server.server_close()
