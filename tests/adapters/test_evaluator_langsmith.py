"""LangSmith's `evaluate`, without its service."""

import uuid
from pathlib import Path
from typing import Any

import pytest
from judged_rows import GOOD, QUERY, ROWS, assert_reasons, assert_scores, scripted

langsmith = pytest.importorskip("langsmith", reason="langsmith isn't installed")

import ragtriage.langsmith
from ragtriage import open_store

pytestmark = pytest.mark.filterwarnings("default")  # those of the framework are its own


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LANGSMITH_ENDPOINT", "http://127.0.0.1:9")  # nothing is there, and nothing leaves this machine


def answered(inputs: dict[str, Any]) -> dict[str, Any]:
    row = ROWS[inputs["n"]]
    return {key: row[key] for key in ("answer", "contexts") if row[key] is not None}


def test_the_contract_of_evaluators() -> None:
    examples = [
        langsmith.schemas.Example(
            id=uuid.uuid4(), inputs={"question": QUERY, "n": n}, outputs={"answer": GOOD}, dataset_id=uuid.uuid4()
        )
        for n in range(4)
    ]
    judge = scripted()
    results = langsmith.evaluate(
        answered,
        data=examples,
        evaluators=[ragtriage.langsmith.evaluator(["groundedness"], judge=judge)],
        max_concurrency=4,
        num_repetitions=2,
        upload_runs=False,
        experiment_prefix="mine",
    )
    found = {row["example"].inputs["n"]: row["evaluation_results"]["results"] for row in results}

    assert len(results) == 8
    assert len(judge.asked) == len(set(judge.asked))  # what was answered alike twice is judged once
    scores = [next(one for one in found[n] if one.key == "groundedness") for n in range(4)]
    assert_scores([one.score for one in scores])
    assert_reasons([one.comment for one in scores])
    assert {one.key for one in found[0]} == {"groundedness", "headline"}


def test_a_score_has_the_places_that_langsmith_keeps_and_the_run_its_experiment() -> None:
    evaluate: Any = ragtriage.langsmith.evaluator(["query_similarity"], judge="embedded")
    run = type("Run", (), {"inputs": {}, "outputs": {"answer": GOOD, "contexts": []}, "session_name": "mine-1"})
    example = type("Example", (), {"inputs": {"question": QUERY}, "outputs": {"answer": GOOD}})

    (score, _) = evaluate(run, example)["results"]
    evaluate.__closure__[0].cell_contents.close()

    assert score["score"] is None or score["score"] == round(score["score"], 4)
    with open_store(create=False) as store:
        assert [info.input for info in store.runs()] == ["langsmith: mine-1"]
