"""Record MLflow's traces as `Trace.to_json()` writes them, and as MLflow exports them by OTLP.

    python bench/traces/record_mlflow.py            # MLflow 3: mlflow-3.jsonl, mlflow-3-langchain.jsonl
    python bench/traces/record_mlflow.py otlp       # MLflow 3: otlp-mlflow.jsonl, otlp-mlflow-genai.jsonl
    python bench/traces/record_mlflow.py two        # MLflow 2: mlflow-2.jsonl

The packages stand in README.md beside it. What is exported is read from the environment when the package is loaded, so
the script starts itself again for each.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import ferry
from ferry import DOGS, LOST, PRICE, QUAY, STORM, Asked
from recording import collecting, expected, keep, write_lines


def setup(folder: str) -> Any:
    """MLflow with a store in a folder of its own."""
    import mlflow

    two = mlflow.__version__.startswith("2")
    mlflow.set_tracking_uri(f"file://{folder}/runs" if two else f"sqlite:///{folder}/mlflow.db")
    mlflow.set_experiment("ferry-answers")
    return mlflow


def documents(one: Asked) -> list[dict[str, Any]]:
    """What is found, as MLflow wants a retriever's output."""
    return [
        {
            "page_content": text,
            "metadata": {"doc_uri": f"{found}.md", "chunk_id": found, "score": ferry.score(one.query, found)},
        }
        for found, text in one.sources
    ]


class Application:
    """The ferry company's assistant, traced by decorators."""

    def __init__(self, mlflow: Any) -> None:
        self.search = mlflow.trace(lambda query: documents(ferry.asked(query)), name="search", span_type="RETRIEVER")
        self.rerank = mlflow.trace(lambda query, found: found[-1:], name="rerank", span_type="RERANKER")
        self.model = mlflow.trace(self._model, name="model", span_type="CHAT_MODEL")
        self.answer = mlflow.trace(self._answer, name="answer", span_type="CHAIN")
        self.streamed = mlflow.trace(self._streamed, name="answer", span_type="CHAIN", output_reducer="".join)

    def _model(self, messages: list[dict[str, str]]) -> dict[str, Any]:
        said = {"role": "assistant", "content": ferry.asked(messages[-1]["content"]).answer}
        return {"model": "ferry-model-1", "choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}

    def _answer(self, question: str, reranked: bool = False, broken: bool = False) -> str:
        found = self.search(question)
        if reranked:
            found = self.rerank(question, found)
        if broken:
            raise ConnectionError("the model's server closed the connection")
        context = "\n".join(one["page_content"] for one in found)
        messages = [{"role": "system", "content": context}, {"role": "user", "content": question}]
        return str(self.model(messages)["choices"][0]["message"]["content"])

    def _streamed(self, question: str) -> Any:
        self.search(question)
        for word in ferry.asked(question).answer.split(" "):
            yield word if word[0].isupper() and ferry.asked(question).answer.startswith(word) else f" {word}"


def files(mlflow: Any, name: str) -> None:
    """A plain chain with session, user, tags, assessments; a reranked one; a streamed one; one that fails."""
    from mlflow.entities import AssessmentSource

    made = Application(mlflow)
    rows, lines = [], []
    two = mlflow.__version__.startswith("2")

    def take(one: Asked, sources: Any, response: str | None, **known: Any) -> None:
        trace_id = mlflow.get_last_active_trace_id()
        trace = mlflow.get_trace(trace_id)
        lines.append(json.loads(trace.to_json()))
        rows.append(expected(trace_id, one.query, sources, response, **known))

    made.answer(PRICE.query)
    trace_id = mlflow.get_last_active_trace_id()
    known: dict[str, Any] = {"tags": {"tenant": "norrhamn"}}
    if two:
        mlflow.MlflowClient().set_trace_tag(trace_id, "tenant", "norrhamn")
    else:
        mlflow.set_trace_tag(trace_id, "tenant", "norrhamn")
        person = AssessmentSource(source_type="HUMAN", source_id="visitor-1")
        mlflow.log_feedback(trace_id=trace_id, name="helpful", value=True, source=person, rationale="It was right.")
        judge = AssessmentSource(source_type="LLM_JUDGE", source_id="judge-1")
        mlflow.log_feedback(trace_id=trace_id, name="relevance", value=0.75, source=judge)
        mlflow.log_expectation(trace_id=trace_id, name="expected_response", value="18 euros", source=person)
        known["annotations"] = {"helpful": True, "relevance": 0.75}
    scored = {"scores": [ferry.score(PRICE.query, found) for found in PRICE.found]}
    take(PRICE, PRICE.files, PRICE.answer, **known, **scored)
    if not two:

        @mlflow.trace(name="conversation", span_type="AGENT")
        def turn(question: str) -> str:
            names = {"mlflow.trace.session": "conversation-7", "mlflow.trace.user": "user-3"}
            mlflow.update_current_trace(metadata=names)
            return str(made.answer(question))

        turn(LOST.query)
        take(LOST, LOST.files, LOST.answer, conversation="conversation-7", user="user-3")
    made.answer(STORM.query, reranked=True)
    note = "the reranker's output replaces what was retrieved; the input is a mapping with several keys"
    take(STORM, STORM.files[1:], STORM.answer, note=note)
    if not two:
        list(made.streamed(DOGS.query))
        take(DOGS, DOGS.files, DOGS.answer, note="streamed: put together by the reducer that the application names")
        with contextlib.suppress(ConnectionError):
            made.answer(QUAY.query, broken=True)
        take(QUAY, QUAY.files, None, note="failed: no response, tag failure")
    write_lines(name, lines)
    keep(name, rows)


def langchain(mlflow: Any, name: str) -> None:
    """LangChain by MLflow's autologging."""
    import langchain_ferry as application

    mlflow.langchain.autolog()
    rows, lines = [], []

    def take(sources: Any, note: str) -> None:
        trace_id = mlflow.get_last_active_trace_id()
        lines.append(json.loads(mlflow.get_trace(trace_id).to_json()))
        rows.append(expected(trace_id, PRICE.query, sources, PRICE.answer, note=note))

    application.function().invoke({"input": PRICE.query})
    take(PRICE.files, "autologging of LangChain; the id stands under `source` of the metadata")
    write_lines(name, lines)
    keep(name, rows)


def exported(name: str) -> None:
    """The same application, exported by OTLP to a receiver on this machine."""
    with collecting(name) as received:
        os.environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = received.address
        os.environ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] = "http/protobuf"
        os.environ["OTEL_SERVICE_NAME"] = "ferry-answers"
        os.environ["OTEL_RESOURCE_ATTRIBUTES"] = "service.instance.id=instance-1"
        import mlflow

        made = Application(mlflow)
        made.answer(PRICE.query)
        made.answer(STORM.query, reranked=True)
        mlflow.flush_trace_async_logging()
        first, second = received.wait(2)
    scored = {"scores": [ferry.score(PRICE.query, found) for found in PRICE.found]}
    why = "MLflow's GenAI export leaves the texts of chains and retrievals out: no sources were recorded"
    rows = [
        expected(first, PRICE.query, PRICE.files, PRICE.answer, **({} if "genai" in name else scored)),
        expected(second, STORM.query, STORM.files[1:], STORM.answer, note="reranked"),
    ]
    if "genai" in name:
        rows = [row | {"sources": None, "rejected": why} for row in rows]
    received.write()
    keep(name, rows)


def main() -> None:
    """Each recording in a process of its own."""
    jobs = {"otlp": ("otlp-mlflow", "otlp-mlflow-genai"), "two": ("mlflow-2",)}
    job = sys.argv[1] if len(sys.argv) > 1 else ""
    if not job.startswith("record:"):
        for one in jobs.get(job, ("mlflow-3", "mlflow-3-langchain")):
            environment = os.environ | {
                "MLFLOW_ENABLE_OTEL_GENAI_SEMCONV": str(one.endswith("genai")).lower(),
                "USER": "ferry",
            }
            environment |= {"LOGNAME": "ferry", "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false"}
            subprocess.run([sys.executable, "-W", "ignore", __file__, f"record:{one}"], env=environment, check=True)
        return
    name = job.removeprefix("record:")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(Path(folder))
        if name.startswith("otlp"):
            exported(f"{name}.jsonl")
        elif name.endswith("langchain"):
            langchain(setup(folder), f"{name}.jsonl")
        else:
            files(setup(folder), f"{name}.jsonl")


if __name__ == "__main__":
    main()
