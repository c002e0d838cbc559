"""Sends a run's scores to a real server, twice, and reads them back by the tool's own client.

python bench/traces/send_to_servers.py mlflow|phoenix ENV

ENV is an environment with the tool (`pip install mlflow`, `pip install arize-phoenix`), whose Python starts the server,
makes the traces and reads what is there: this file is run by it too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PORT = 6931
URL = f"http://127.0.0.1:{PORT}"
TRACES = 6
"""Traces that are made; the run has one more, which the server doesn't know."""


def make_mlflow() -> list[dict[str, Any]]:
    """Traces of an application, by MLflow's client."""
    import mlflow  # only where the tool is installed

    mlflow.set_tracking_uri(URL)
    mlflow.set_experiment("shop")
    made = []
    for i in range(TRACES):
        with mlflow.start_span("answer", span_type="CHAIN") as span:
            span.set_inputs({"question": f"What does number {i} cost?"})
            with mlflow.start_span("search", span_type="RETRIEVER") as search:
                search.set_outputs([{"page_content": "a"}, {"page_content": "b"}])
            span.set_outputs("Six euros.")
        made.append({"trace": span.trace_id, "span": span.span_id, "retrieval": search.span_id})
    mlflow.flush_trace_async_logging()
    return made


def read_mlflow(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The assessments of the traces, by MLflow's client."""
    import mlflow  # as above

    mlflow.set_tracking_uri(URL)
    found = []
    for one in made:
        for a in mlflow.get_trace(one["trace"]).info.assessments:
            error = a.feedback.error and a.feedback.error.error_message
            kind = {"kind": "score", "of": a.trace_id, "span": a.span_id, "name": a.name, "value": a.feedback.value}
            found.append(kind | {"error": error, "source": a.source.source_type, "metadata": a.metadata})
    return found


def make_phoenix() -> list[dict[str, Any]]:
    """Traces of an application with sessions and documents, by Phoenix's client."""
    from datetime import UTC, datetime, timedelta  # as above

    from phoenix.client import Client  # as above

    made, spans, now = [], [], datetime.now(UTC)
    for i in range(TRACES):
        one = {"trace": f"{i + 1:032x}", "span": f"{2 * i + 1:016x}", "retrieval": f"{2 * i + 2:016x}"}
        times = {"start_time": now.isoformat(), "end_time": (now + timedelta(seconds=1)).isoformat()}
        root = {
            "name": "answer", "context": {"trace_id": one["trace"], "span_id": one["span"]}, "span_kind": "CHAIN",
            "status_code": "OK", **times, "attributes": {"session.id": f"talk {i // 2}", "input.value": "What?"},
        }  # fmt: skip
        documents = {f"retrieval.documents.{at}.document.content": text for at, text in enumerate("ab")}
        search = {
            "name": "search", "context": {"trace_id": one["trace"], "span_id": one["retrieval"]},
            "parent_id": one["span"], "span_kind": "RETRIEVER", "status_code": "OK", **times, "attributes": documents,
        }  # fmt: skip
        made.append(one)
        spans += [root, search]
    Client(base_url=URL).spans.log_spans(project_identifier="shop", spans=spans)
    time.sleep(5)  # they are taken in behind the reply
    return made


def read_phoenix(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The annotations of spans by Phoenix's client; its API is asked for those of sessions and documents."""
    from phoenix.client import Client  # as above

    client = Client(base_url=URL)
    found = []
    ids = [one[name] for one in made for name in ("span", "retrieval")]
    for a in client.spans.get_span_annotations(span_ids=ids, project_identifier="shop", limit=1000):
        result = a.get("result") or {}
        kind = {"kind": "score", "of": a["span_id"], "name": a["name"], "value": result.get("score")}
        found.append(kind | {"label": result.get("label"), "identifier": a["identifier"], "metadata": a["metadata"]})
    sessions = "&".join(f"session_ids=talk%20{i}" for i in range(TRACES // 2))
    there = f"{URL}/v1/projects/shop/session_annotations?{sessions}&limit=1000"
    reply = json.loads(urllib.request.urlopen(there).read())
    for a in reply["data"]:
        kind = {"kind": "conversation", "of": a["session_id"], "name": a["name"], "value": a["result"]["score"]}
        found.append(kind)
    query = (
        "{projects{edges{node{name spans(first:100){edges{node{spanId documentEvaluations"
        "{name documentPosition score label}}}}}}}}"
    )
    request = urllib.request.Request(
        f"{URL}/graphql", json.dumps({"query": query}).encode(), {"Content-Type": "application/json"}
    )
    reply = json.loads(urllib.request.urlopen(request).read())
    for project in reply["data"]["projects"]["edges"]:
        for edge in project["node"]["spans"]["edges"]:
            for a in edge["node"]["documentEvaluations"]:
                kind = {"kind": "source", "of": edge["node"]["spanId"], "name": a["name"], "value": a["score"]}
                found.append(kind | {"place": a["documentPosition"], "label": a["label"]})
    return found


@contextmanager
def server(tool: str, env: Path, folder: Path) -> Iterator[None]:
    """The tool's server on this machine, with an empty database in a file."""
    command = {
        "mlflow": ["mlflow", "server", "--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--port", str(PORT)],
        "phoenix": ["phoenix", "serve"],
    }[tool]
    own = {"PHOENIX_WORKING_DIR": str(folder), "PHOENIX_PORT": str(PORT), "PHOENIX_GRPC_PORT": str(PORT + 1)}
    with (folder / "server.log").open("w") as log:
        running = subprocess.Popen(
            [str(env / "bin" / command[0]), *command[1:]], env=os.environ | own, stdout=log, stderr=log, cwd=folder,
            start_new_session=True,
        )  # fmt: skip
        try:
            for _ in range(120):
                try:
                    urllib.request.urlopen(URL, timeout=2).close()
                    break
                except OSError:
                    time.sleep(1)
            yield
        finally:
            os.killpg(running.pid, 15)
            running.wait()


def by_tool(env: Path, *args: str) -> Any:
    """What a function of this file gives in the tool's environment."""
    done = subprocess.run(
        [str(env / "bin" / "python"), __file__, "--inside", *args], check=True, stdout=subprocess.PIPE, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Make traces, send twice, read twice."""
    tool, env = sys.argv[1], Path(sys.argv[2])
    sys.path += [str(ROOT / "tests" / "monitor")]
    from traced_runs import keep_run, records, traced_case  # not in the tool's environment

    from ragtriage.monitor.outputs.send_run import SendOptions, send_run  # as above
    from ragtriage.runs.evaluation_config import config_of  # as above
    from ragtriage.store import open_store  # as above

    with tempfile.TemporaryDirectory() as name, server(tool, env, Path(name)):
        made = by_tool(env, f"make_{tool}")
        cases = []
        for i, one in enumerate([*made, {"trace": "f" * 32, "span": "f" * 16, "retrieval": "f" * 16}]):
            tags = {"span_id": one["span"], "source_spans": [f"{one['retrieval']}:0", f"{one['retrieval']}:1"]}
            response = None if i == 0 else traced_case(i).response
            tags["conversation"] = f"talk {i // 2}"
            cases.append(traced_case(i, trace_id=one["trace"], response=response, tags=tags))
        with open_store(Path(name) / "store") as store:
            run = store.run(keep_run(store, list(records(cases))))
            config = config_of(run.info)
            for quote in (False, False, True):
                (done,) = send_run(store.database, run, config, {tool: URL}, {}, SendOptions(quote=quote))
                found = by_tool(env, f"read_{tool}", json.dumps(made))
                print(f"sent {dict(done.sent)}, before {done.before}, left {done.left} {done.why}")
                print(f"  refused {dict(done.refused)}: {done.said}")
                counted = Counter((a["kind"], a["of"], a["name"], a.get("place")) for a in found)
                twice = [key for key, count in counted.items() if count > 1]
                print(f"  there: {dict(Counter(a['kind'] for a in found))}; twice: {twice}")
                assert not twice
        for kind in ("score", "source", "conversation"):
            own = [a for a in found if a["kind"] == kind]
            for a in sorted(own, key=lambda a: "claims" not in a.get("metadata", ()))[:4]:
                print(f"  {a}")


if __name__ == "__main__":
    if sys.argv[1] == "--inside":
        arguments = [json.loads(one) for one in sys.argv[3:]]
        print(json.dumps(globals()[sys.argv[2]](*arguments)))
    else:
        main()
