"""The files that other tools write, made by the tools themselves with fake models: what `tests/readers` reads.

    python bench/other_tools_files.py TOOL [--promptfoo COMMAND]

TOOL is deepeval, langchain, llamaindex, phoenix, promptfoo or trulens. Run it with the Python of an environment that
holds the tool: `pip install deepeval`, `langchain-classic`, `llama-index-core`, `arize-phoenix pandas pyarrow`,
`trulens pandas`; `npm install promptfoo` for the last, whose command is named by `--promptfoo`. Nothing but the server
that Phoenix starts on this machine is asked.

Each tool is given the cases of `tests/readers/other_tools/cases.json`, the answers among them, by a retriever and a
model that look them up there. The files go beside it, and the versions of the packages into `versions.json`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "readers" / "other_tools"
CASES: list[dict[str, Any]] = json.loads((FOLDER / "cases.json").read_text("utf-8"))
BY_QUERY = {case["query"]: case for case in CASES}
PHOENIX = "http://127.0.0.1:16006"


def texts(case: Mapping[str, Any]) -> list[str]:
    """The texts of a case's sources."""
    return [source["text"] for source in case["sources"]]


def asked(text: str) -> dict[str, Any]:
    """The case whose query stands in a prompt."""
    return next(case for query, case in BY_QUERY.items() if query in text)


def write(name: str, content: str) -> None:
    """Write one of the files."""
    (FOLDER / name).write_text(content, "utf-8")


def lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as JSON Lines."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def deepeval(_: argparse.Namespace) -> dict[str, str]:
    """A test run as `evaluate` leaves it in a folder of results, and what `evaluate` returns."""
    os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
    from deepeval import evaluate
    from deepeval.evaluate.configs import AsyncConfig, DisplayConfig
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase

    class Answered(BaseMetric):
        threshold = 0.5
        async_mode = include_reason = strict_mode = verbose_mode = False
        evaluation_model = "fake"
        evaluation_cost = 0
        error = verbose_logs = None
        __name__ = "Answered"

        def measure(self, case: Any, *_: Any, **__: Any) -> float:
            self.score, self.reason, self.success = float(bool(case.actual_output)), "there is one", True
            return self.score

        def is_successful(self) -> bool:
            return True

    cases = [
        LLMTestCase(
            input=case["query"],
            actual_output=case["response"],
            expected_output=case["reference"],
            retrieval_context=texts(case),
            context=["What people wrote."],
        )
        for case in CASES
    ]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        display = DisplayConfig(show_indicator=False, print_results=False, results_folder=folder)
        result = evaluate(cases, [Answered()], async_config=AsyncConfig(run_async=False), display_config=display)
        [run] = Path(folder).glob("test_run_*.json")
        write("deepeval-test-run.json", run.read_text("utf-8"))
        os.chdir(FOLDER)
    write("deepeval-test-results.json", result.model_dump_json())
    return dict.fromkeys(("deepeval-test-run.json", "deepeval-test-results.json"), f"deepeval {version('deepeval')}")


def langchain(_: argparse.Namespace) -> dict[str, str]:
    """What a retrieval chain and RetrievalQA return, their documents dumped; and the former as `dumps` writes it."""
    from langchain_classic.chains import RetrievalQA, create_retrieval_chain
    from langchain_classic.chains.combine_documents import create_stuff_documents_chain
    from langchain_core.documents import Document
    from langchain_core.language_models import FakeListChatModel
    from langchain_core.load import dumps
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.retrievers import BaseRetriever

    class Known(BaseRetriever):
        def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
            return [
                Document(page_content=source["text"], metadata={"source": source["id"]})
                for source in BY_QUERY[query]["sources"]
            ]

    def model() -> FakeListChatModel:
        return FakeListChatModel(responses=[case["response"] for case in CASES])

    prompt = ChatPromptTemplate.from_messages([("system", "{context}"), ("human", "{input}")])
    chain = create_retrieval_chain(Known(), create_stuff_documents_chain(model(), prompt))
    results = [chain.invoke({"input": case["query"]}) for case in CASES]
    dumped = [result | {"context": [one.model_dump() for one in result["context"]]} for result in results]
    write("langchain-retrieval-chain.jsonl", lines(dumped))
    write("langchain-dumps.json", dumps(results))
    answering = RetrievalQA.from_chain_type(model(), retriever=Known(), return_source_documents=True)
    results = [answering.invoke({"query": case["query"]}) for case in CASES]
    key = "source_documents"
    write("langchain-retrieval-qa.jsonl", lines(one | {key: [d.model_dump() for d in one[key]]} for one in results))
    names = ("langchain-retrieval-chain.jsonl", "langchain-dumps.json", "langchain-retrieval-qa.jsonl")
    packages = ", ".join(f"{name} {version(name)}" for name in ("langchain-core", "langchain-classic"))
    return dict.fromkeys(names, packages)


def llamaindex(_: argparse.Namespace) -> dict[str, str]:
    """Responses of a query engine, each with its query: their fields in the row, and under `response`."""
    from llama_index.core.base.response.schema import Response
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
    from pydantic import TypeAdapter

    class Known(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [
                NodeWithScore(node=TextNode(id_=source["id"], text=source["text"]), score=0.5)
                for source in BY_QUERY[query_bundle.query_str]["sources"]
            ]

    class Fake(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata()

        def complete(self, prompt: str, *_: Any, **__: Any) -> CompletionResponse:
            return CompletionResponse(text=asked(prompt)["response"])

        def stream_complete(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    engine = RetrieverQueryEngine.from_args(Known(), llm=Fake())
    responses = [TypeAdapter(Response).dump_python(engine.query(case["query"]), mode="json") for case in CASES]
    pairs = list(zip(CASES, responses, strict=True))
    write("llamaindex-responses.jsonl", lines({"query": case["query"]} | response for case, response in pairs))
    write("llamaindex-nested.jsonl", lines({"query": case["query"], "response": response} for case, response in pairs))
    names = ("llamaindex-responses.jsonl", "llamaindex-nested.jsonl")
    return dict.fromkeys(names, f"llama-index-core {version('llama-index-core')}")


@contextmanager
def phoenix_server(folder: str) -> Any:
    """A Phoenix server on this machine, with its data in a folder."""
    settings = {
        "PHOENIX_WORKING_DIR": folder,
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": PHOENIX.rpartition(":")[2],
        "PHOENIX_GRPC_PORT": "14317",
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    command = [sys.executable, "-m", "phoenix.server.main", "serve"]
    server = subprocess.Popen(command, env=os.environ | settings, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(120):
            try:
                urllib.request.urlopen(f"{PHOENIX}/healthz", timeout=1)
                break
            except OSError:
                time.sleep(1)
        yield
    finally:
        server.terminate()
        server.wait()


def phoenix(_: argparse.Namespace) -> dict[str, str]:
    """The frames of questions, of documents and of spans that the client returns for traces of a chain."""
    with tempfile.TemporaryDirectory() as folder, phoenix_server(folder):
        from phoenix.client import Client
        from phoenix.client.helpers.spans import get_input_output_context, get_retrieved_documents
        from phoenix.otel import register

        provider = register(
            endpoint=f"{PHOENIX}/v1/traces",
            project_name="ferry",
            batch=False,
            verbose=False,
            set_global_tracer_provider=False,
        )
        tracer = provider.get_tracer("ferry")
        for case in CASES:
            with tracer.start_as_current_span("query", openinference_span_kind="chain") as root:
                root.set_input(case["query"])
                with tracer.start_as_current_span("retrieve", openinference_span_kind="retriever") as retrieval:
                    retrieval.set_input(case["query"])
                    for number, source in enumerate(case["sources"]):
                        place = f"retrieval.documents.{number}.document"
                        retrieval.set_attribute(f"{place}.id", source["id"])
                        retrieval.set_attribute(f"{place}.content", source["text"])
                root.set_output(case["response"])
        provider.shutdown()
        client = Client(base_url=PHOENIX)
        for _ in range(60):  # spans are written a moment after they were taken
            spans = client.spans.get_spans_dataframe(project_identifier="ferry")
            if len(spans) == 2 * len(CASES):
                break
            time.sleep(0.5)
        frame = get_input_output_context(client, project_name="ferry").sort_values("input", ascending=False)
        frame.to_csv(FOLDER / "phoenix.csv")
        frame.reset_index().to_parquet(FOLDER / "phoenix.parquet")
        get_retrieved_documents(client, project_name="ferry").to_csv(FOLDER / "phoenix-documents.csv")
        spans.to_csv(FOLDER / "phoenix-spans.csv", index=False)
    names = ("phoenix.csv", "phoenix.parquet", "phoenix-documents.csv", "phoenix-spans.csv")
    packages = ", ".join(f"{name} {version(name)}" for name in ("arize-phoenix", "arize-phoenix-client"))
    return dict.fromkeys(names, packages)


def promptfoo(given: argparse.Namespace) -> dict[str, str]:
    """What `promptfoo eval` writes as JSON and as JSON Lines."""
    settings = {
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "true",
    }
    answers = {case["query"]: case["response"] for case in CASES}
    fake = f"""const answers = {json.dumps(answers)};
module.exports = class {{
  id() {{ return "fake-model"; }}
  async callApi(prompt, context) {{ return {{ output: answers[context.vars.question] }}; }}
}};"""
    tests = [
        {
            "vars": {"question": case["query"], "context": texts(case), "ground_truth": case["reference"]},
            "options": {"disableVarExpansion": True},
            "assert": [{"type": "contains", "value": case["response"][:4]}],
        }
        for case in CASES
    ]
    config = {"prompts": ["{{context}} {{question}}"], "providers": ["file://fake.js"], "tests": tests}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "fake.js").write_text(fake, "utf-8")
        (Path(folder) / "promptfooconfig.json").write_text(json.dumps(config), "utf-8")
        settings["PROMPTFOO_CONFIG_DIR"] = str(Path(folder) / "settings")
        outputs = ["-o", "promptfoo.json", "-o", "promptfoo.jsonl"]
        command = [given.promptfoo, "eval", "-c", "promptfooconfig.json", "--no-cache", "--no-table", *outputs]
        subprocess.run(command, cwd=folder, env=os.environ | settings, check=True, stdout=subprocess.DEVNULL)
        for name in outputs[1::2]:
            write(name, (Path(folder) / name).read_text("utf-8"))
    written = json.loads((FOLDER / "promptfoo.json").read_text("utf-8"))
    return dict.fromkeys(outputs[1::2], f"promptfoo {written['metadata']['promptfooVersion']}")


def trulens(_: argparse.Namespace) -> dict[str, str]:
    """The frame of records and feedback of a session, as JSON Lines and as CSV."""
    os.environ["TRULENS_OTEL_TRACING"] = "1"
    import numpy as np
    from trulens.apps.app import TruApp
    from trulens.core import Metric, Selector, TruSession
    from trulens.core.otel.instrument import instrument
    from trulens.otel.semconv.trace import SpanAttributes

    retrieval, root = SpanAttributes.RETRIEVAL, SpanAttributes.RECORD_ROOT
    kinds = SpanAttributes.SpanType

    class Rag:
        @instrument(
            span_type=kinds.RETRIEVAL,
            attributes={retrieval.QUERY_TEXT: "query", retrieval.RETRIEVED_CONTEXTS: "return"},
        )
        def retrieve(self, query: str) -> list[str]:
            return texts(BY_QUERY[query])

        @instrument(span_type=kinds.RECORD_ROOT, attributes={root.INPUT: "query", root.OUTPUT: "return"})
        def query(self, query: str) -> str:
            self.retrieve(query)
            return str(BY_QUERY[query]["response"])

    def relevant(question: str, context: str) -> float:
        return float(bool(question and context))

    def grounded(source: str, statement: str) -> float:
        return float(bool(source and statement))

    question, contexts = Selector.select_record_input(), Selector.select_context
    metrics = [
        Metric(
            implementation=relevant,
            name="Context Relevance",
            selectors={"question": question, "context": contexts(collect_list=False)},
            agg=np.mean,
        ),
        Metric(
            implementation=grounded,
            name="Groundedness",
            selectors={"source": contexts(collect_list=True), "statement": Selector.select_record_output()},
        ),
    ]
    with tempfile.TemporaryDirectory() as folder:
        session = TruSession(database_url=f"sqlite:///{folder}/trulens.db")
        session.reset_database()
        rag = Rag()
        app = TruApp(rag, app_name="ferry", app_version="v1", feedbacks=metrics)
        for case in CASES:
            with app:
                rag.query(case["query"])
        session.force_flush()
        app.stop_evaluator()
        app.compute_feedbacks()
        session.force_flush()
        frame, _ = session.get_records_and_feedback()
        frame = frame.sort_values("input", ascending=False)
    frame.to_json(FOLDER / "trulens.jsonl", orient="records", lines=True, default_handler=str)
    frame.to_csv(FOLDER / "trulens.csv", index=False)
    return dict.fromkeys(("trulens.jsonl", "trulens.csv"), f"trulens-core {version('trulens-core')}")


TOOLS: Mapping[str, Callable[[argparse.Namespace], dict[str, str]]] = {
    tool.__name__: tool for tool in (deepeval, langchain, llamaindex, phoenix, promptfoo, trulens)
}


def main() -> None:
    """Make the files of one tool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool", choices=TOOLS)
    parser.add_argument("--promptfoo", default="promptfoo", help="the command of promptfoo")
    given = parser.parse_args()
    noted = FOLDER / "versions.json"
    known = json.loads(noted.read_text("utf-8")) if noted.exists() else {}
    found = dict(sorted((known | TOOLS[given.tool](given)).items()))
    noted.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
