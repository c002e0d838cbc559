"""A Haystack pipeline with the evaluator as its component."""

import math
from pathlib import Path

import pytest
from judged_rows import QUERY, ROWS, assert_reasons, assert_scores, scripted

haystack = pytest.importorskip("haystack", reason="haystack-ai isn't installed")

import ragtriage.haystack

pytestmark = pytest.mark.filterwarnings("default")  # those of the framework are its own


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_contract_of_evaluators() -> None:
    from haystack.evaluation import EvaluationRunResult

    pipeline = haystack.Pipeline()
    pipeline.add_component("triage", ragtriage.haystack.RagtriageEvaluator(["groundedness"], judge=scripted()))
    given = {
        "questions": [QUERY] * 4,
        "contexts": [row["contexts"] for row in ROWS],
        "predicted_answers": [row["answer"] for row in ROWS],
    }
    found = pipeline.run({"triage": given})["triage"]

    assert_scores(found["groundedness"]["individual_scores"])
    assert found["groundedness"]["score"] == 0.5
    assert [row["status"] for row in found["results"]] == ["ok", "ok", "undefined", "error"]
    assert_reasons(["", found["results"][1]["why"]["groundedness"], *(row["reason"] for row in found["results"][2:])])
    results = {"groundedness": found["groundedness"]}
    table = EvaluationRunResult("mine", inputs={"questions": given["questions"]}, results=results)
    rows = table.detailed_report(output_format="json")["groundedness"]
    assert rows[:2] == [1.0, 0.0]
    assert math.isnan(rows[2])


def test_all_undefined_has_no_mean() -> None:
    evaluator = ragtriage.haystack.RagtriageEvaluator(["groundedness"], judge=scripted(), store=None)

    found = evaluator.run(questions=[QUERY], contexts=[None], predicted_answers=["Yes."])

    assert math.isnan(found["groundedness"]["score"])


def test_a_pipeline_that_was_written_to_a_file_has_it_again() -> None:
    pipeline = haystack.Pipeline()
    pipeline.add_component("triage", ragtriage.haystack.RagtriageEvaluator(["groundedness"], store=None))
    trusted = {} if int(haystack.__version__.split(".")[0]) < 3 else {"allowed_modules": ["ragtriage.haystack"]}

    again = haystack.Pipeline.loads(pipeline.dumps(), **trusted).get_component("triage")

    assert type(again).__name__ == "RagtriageEvaluator"
