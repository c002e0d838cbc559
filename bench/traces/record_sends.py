"""What the tools' own clients send for the scores of one trace: recorded for tests/monitor/recorded/.

Each client is installed in an environment of its own, and sends to a server in this process that answers as little as
the client is content with; nothing leaves the machine.

ENV/bin/python bench/traces/record_sends.py langfuse|opik|langsmith|mlflow|phoenix OUT.json
"""

import json
import os
import sys
import threading
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

TRACE, SPAN = "5b8aa5a2d2c872e8321cf37308d69df2", "051581bf3cb55c13"
TRACE_ID, SPAN_ID, PROJECT = (str(uuid.uuid5(uuid.NAMESPACE_URL, name)) for name in ("trace", "span", "project"))
NAME, VALUE, WHY = "groundedness", 0.87654321, "one claim isn't supported"
REPLIES: dict[str, Any] = {
    "/info": {"version": "0.9.0"},
    "/arize_phoenix_version": "20.26.1",
    "/api/public/scores": {"accepted": 1},
    f"/api/3.0/mlflow/traces/tr-{TRACE}/assessments": {
        "assessment": {
            "assessment_id": "a-1",
            "assessment_name": NAME,
            "trace_id": f"tr-{TRACE}",
            "feedback": {"value": 1},
            "source": {"source_type": "CODE", "source_id": "x"},
            "create_time": "2026-01-01T00:00:00Z",
            "last_update_time": "2026-01-01T00:00:00Z",
        }
    },
}
"""Path → what a client wants to hear, a text as it is; elsewhere `{}`."""
REPLIES[f"/api/3.0/mlflow/traces/tr-{TRACE}/assessments/a-1"] = REPLIES[
    f"/api/3.0/mlflow/traces/tr-{TRACE}/assessments"
]
HIDDEN_HEADERS = {"host", "user-agent", "content-length", "accept-encoding", "connection", "accept", "content-encoding"}


class Listening(BaseHTTPRequestHandler):
    """Keeps what is sent."""

    heard: ClassVar[list[dict[str, Any]]] = []

    def _hear(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(raw) if raw[:1] in (b"{", b"[") else None
        headers = sorted({name.lower() for name in self.headers} - HIDDEN_HEADERS)
        self.heard.append({"method": self.command, "path": self.path, "headers": headers, "body": body})
        said = REPLIES.get(self.path.split("?")[0], {})
        reply = (said if isinstance(said, str) else json.dumps(said)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    do_GET = do_POST = do_PUT = do_PATCH = _hear  # noqa: N815  # the server's names

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def langfuse(url: str) -> None:
    """Langfuse's."""
    from langfuse import Langfuse  # each tool is installed in an environment of its own

    client = Langfuse(public_key="pk-lf-1", secret_key="sk-lf-1", base_url=url)
    client.create_score(
        name=NAME, value=VALUE, trace_id=TRACE, observation_id=SPAN, score_id="s-1", data_type="NUMERIC", comment=WHY,
        metadata={"label": "low"},
    )  # fmt: skip
    client.flush()


def opik(url: str) -> None:
    """Opik's."""
    os.environ |= {"OPIK_URL_OVERRIDE": f"{url}/api/", "OPIK_API_KEY": "k", "OPIK_WORKSPACE": "w"}
    os.environ |= {"OPIK_PROJECT_NAME": "p", "OPIK_ANALYTICS_ENABLED": "false", "OPIK_SENTRY_ENABLE": "false"}
    import opik as tool  # as above

    client = tool.Opik(_show_misconfiguration_message=False)
    score = {"name": NAME, "value": VALUE, "reason": WHY}
    client.log_spans_feedback_scores([{"id": SPAN_ID, **score}])
    client.log_traces_feedback_scores([{"id": TRACE_ID, **score}])
    client.get_threads_client().log_threads_feedback_scores([{"id": "talk", **score}])
    client.end()


def langsmith(url: str) -> None:
    """LangSmith's."""
    from langsmith import Client  # as above

    client = Client(api_url=url, api_key="k")
    feedback = uuid.uuid5(uuid.NAMESPACE_URL, "feedback")
    shared = {"run_id": SPAN_ID, "trace_id": TRACE_ID, "feedback_id": feedback, "session_id": PROJECT}
    shared["extend_trace_retention"] = False
    client.create_feedback(key=NAME, score=VALUE, comment=WHY, feedback_source_type="model", **shared)
    client.create_feedback(key=NAME, score=None, comment="no claim", **shared)
    client.update_feedback(feedback, score=VALUE, comment=WHY)
    list(client.list_projects(name="p", limit=1))


def mlflow(url: str) -> None:
    """MLflow's."""
    import mlflow as tool  # as above
    from mlflow.entities import AssessmentError, AssessmentSource, Feedback  # as above

    tool.set_tracking_uri(url)
    source = AssessmentSource("CODE", "ragtriage")
    shared = {"name": NAME, "source": source, "rationale": WHY, "metadata": {"label": "low"}, "span_id": SPAN}
    trace = f"tr-{TRACE}"
    tool.log_assessment(trace, Feedback(value=VALUE, trace_id=trace, **shared))
    error = AssessmentError(error_code="UNDEFINED", error_message="no claim")
    tool.log_assessment(trace, Feedback(error=error, trace_id=trace, **shared))
    tool.update_assessment(trace, "a-1", Feedback(value=VALUE, trace_id=trace, **shared))


def phoenix(url: str) -> None:
    """Phoenix's."""
    from phoenix.client import Client  # as above

    os.environ["PHOENIX_API_KEY"] = "k"
    client = Client(base_url=url)
    result = {"score": VALUE, "label": "low", "explanation": WHY}
    more = {"name": NAME, "annotator_kind": "CODE", "metadata": {"judge": "embedded"}}
    marked = {**more, "result": result, "identifier": "run"}
    client.spans.log_span_annotations(span_annotations=[{"span_id": SPAN, **marked}], sync=False)
    client.traces.log_trace_annotations(trace_annotations=[{"trace_id": TRACE, **marked}], sync=False)
    client.sessions.log_session_annotations(session_annotations=[{"session_id": "talk", **marked}], sync=False)
    document = {"span_id": SPAN, "document_position": 0, **more, "result": result}
    client.spans.log_document_annotations(document_annotations=[document], sync=False)


CLIENTS: dict[str, Callable[[str], None]] = {one.__name__: one for one in (langfuse, opik, langsmith, mlflow, phoenix)}


def main() -> None:
    """Record one client."""
    name, out = sys.argv[1:]
    server = ThreadingHTTPServer(("127.0.0.1", 0), Listening)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        CLIENTS[name](f"http://127.0.0.1:{server.server_address[1]}")
    finally:
        about_scores = [
            one
            for one in Listening.heard
            if any(word in one["path"] for word in ("score", "feedback", "assessment", "annotation", "sessions"))
        ]
        Path(out).write_text(json.dumps(about_scores, indent=1) + "\n", encoding="utf-8")
        print(sorted({(one["method"], one["path"]) for one in Listening.heard}))


if __name__ == "__main__":
    main()
