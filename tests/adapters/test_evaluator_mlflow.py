"""MLflow's `genai.evaluate` with the scorer, on a store of files."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from judged_rows import BAD, GOOD, QUERY, ROWS, SOURCES, assert_reasons, assert_scores, scripted

mlflow = pytest.importorskip("mlflow", reason="mlflow-skinny isn't installed")
pytest.importorskip("pandas", reason="mlflow.genai.evaluate needs pandas")

import ragtriage.mlflow
from ragtriage import FakeJudge, open_store

pytestmark = pytest.mark.filterwarnings("default")  # those of the framework are its own
METRICS = ["groundedness", "source_precision"]


@pytest.fixture(autouse=True)
def tracked(own_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((own_folder / "mlruns").as_uri())
    mlflow.set_experiment("shop")
    yield
    mlflow.set_tracking_uri(before)


@mlflow.trace(span_type="RETRIEVER")
def rerank(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [documents[1]]


@mlflow.trace(span_type="RETRIEVER")
def retrieve() -> list[dict[str, Any]]:
    found = [{"page_content": text, "metadata": {}, "id": f"d{at}"} for at, text in enumerate(SOURCES)]
    rerank(found)  # a retriever within another: what the generator got is the outer one's
    return found


@mlflow.trace
def answer(question: str, n: int) -> str:
    if ROWS[n]["contexts"] is not None:
        retrieve()
        retrieve()  # the same again
    return str(ROWS[n]["answer"])


DATA = [{"inputs": {"question": QUERY, "n": n}, "expectations": {"expected_response": GOOD}} for n in range(4)]


def feedback(trace: Any, name: str) -> list[Any]:
    return [one for one in trace.info.assessments if one.name == name]


def test_the_contract_of_evaluators() -> None:
    scorers = ragtriage.mlflow.scorers(METRICS, judge=scripted(), claims=True)

    result = mlflow.genai.evaluate(data=DATA, predict_fn=answer, scorers=scorers)

    assert result.metrics["groundedness/mean"] == 0.5
    assert result.metrics["source_precision/mean"] == 0.5
    found = mlflow.search_traces(return_type="list", run_id=result.run_id)
    traces = sorted((trace for trace in found), key=lambda trace: int(_input(trace)["n"]))
    told = [feedback(trace, "groundedness")[0] for trace in traces]
    assert_scores([one.feedback.value for one in told])
    assert_reasons([one.rationale or (one.error and one.error.error_message) for one in told])
    assert [one.error is not None for one in told] == [False, False, False, True]
    assert told[0].source.source_type == "LLM_JUDGE"
    assert feedback(traces[0], "headline")[0].feedback.value == "undetermined: no rule reads these scores"
    assert [one.feedback.value for one in feedback(traces[1], "claim")] == ["no"]
    (span, *_) = (one for one in traces[0].data.spans if one.name.startswith("retrieve"))
    needed = {one.metadata["chunk_index"]: one for one in feedback(traces[0], "source_needed")}
    assert {at: one.feedback.value for at, one in needed.items()} == {"0": True, "1": False}
    assert {one.span_id for one in needed.values()} == {span.span_id}
    assert needed["1"].rationale == f"“{SOURCES[1]}”: it is about the price"
    assert feedback(traces[2], "source_needed") == []
    with_sources = [one.info.trace_id for one in traces if feedback(one, "source_needed")]
    assert len(with_sources) == 3


def _input(trace: Any) -> dict[str, Any]:
    return dict(trace.data.spans[0].inputs)


def test_each_evaluation_is_a_run_that_is_called_by_its_own_name() -> None:
    scorers = ragtriage.mlflow.scorers(METRICS, judge=scripted())
    names = []
    for name in ("before", "after"):
        with mlflow.start_run(run_name=name):
            mlflow.genai.evaluate(data=DATA[:2], predict_fn=answer, scorers=scorers)
        names.append(f"mlflow: {name}")
    del scorers
    harnesses_end()

    with open_store(create=False) as store:
        assert {(info.input, info.rows) for info in store.runs()} == {(name, 2) for name in names}
        assert all(info.aside for info in store.runs())


def harnesses_end() -> None:
    """Wait until idle runs are finished."""
    threading.Event().wait(1.5)


KNOWN = {"inputs": {"question": QUERY, "contexts": list(SOURCES)}, "outputs": GOOD}


def test_known_answers_have_their_sources_in_the_row_or_where_fields_name_them() -> None:
    data = [KNOWN, {**KNOWN, "outputs": BAD}]
    named = {"sources": "outputs.found[*].body"}
    scorers = ragtriage.mlflow.scorers(["groundedness"], judge=scripted(), store=None)
    (scorer,) = ragtriage.mlflow.scorers(["groundedness"], judge=scripted(), store=None, fields=named)

    assert mlflow.genai.evaluate(data=data, scorers=scorers).metrics["groundedness/mean"] == 0.5
    told = scorer(inputs={"question": QUERY}, outputs={"answer": GOOD, "found": [{"body": SOURCES[0]}]})
    assert next(one for one in told if one.name == "groundedness").feedback.value == 1.0
    with pytest.raises(mlflow.exceptions.MlflowException):
        scorer.register()  # which MLflow refuses


def test_a_call_that_takes_too_long_is_given_up_and_the_rest_goes_on() -> None:
    (scorer,) = ragtriage.mlflow.scorers(["groundedness"], judge=FakeJudge(lambda _: None, delay=30), store=None)  # type: ignore[arg-type, return-value]
    scorer.timeout = 0.2

    assert "groundedness/mean" not in mlflow.genai.evaluate(data=[KNOWN], scorers=[scorer]).metrics
