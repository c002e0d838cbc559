"""LlamaIndex's own runner with an evaluator a metric."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from judged_rows import BAD, GOOD, QUERY, ROWS, SOURCES, assert_reasons, assert_scores, scripted

evaluation = pytest.importorskip("llama_index.core.evaluation", reason="llama-index-core isn't installed")

import ragtriage.llama_index
from ragtriage import open_store

pytestmark = pytest.mark.filterwarnings("default")  # those of the framework are its own


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_contract_of_evaluators() -> None:
    judge = scripted()
    evaluators = ragtriage.llama_index.evaluators(["groundedness", "source_precision"], judge=judge)
    runner = evaluation.BatchEvalRunner(evaluators, workers=32)

    found = asyncio.run(
        runner.aevaluate_response_strs(
            queries=[QUERY] * 4,
            response_strs=[row["answer"] for row in ROWS],
            contexts_list=[row["contexts"] for row in ROWS],
        )
    )["groundedness"]

    assert_scores([one.score for one in found])
    assert_reasons([one.feedback for one in found])
    assert [one.passing for one in found] == [True, False, None, None]
    assert [one.invalid_result for one in found] == [False, False, True, True]
    assert found[3].invalid_reason.startswith("failed: ")
    assert len(judge.asked) == len(set(judge.asked))  # both evaluators share what is judged


def test_sources_are_the_nodes_as_the_model_read_them() -> None:
    from llama_index.core import Response
    from llama_index.core.schema import NodeWithScore, TextNode

    nodes = [NodeWithScore(node=TextNode(text=text, id_=f"n{at}"), score=0.5) for at, text in enumerate(SOURCES)]
    evaluators = ragtriage.llama_index.evaluators(["groundedness"], judge=scripted())
    runner = evaluation.BatchEvalRunner(evaluators, workers=2)
    found = runner.evaluate_responses(
        queries=[QUERY] * 2, responses=[Response(text, source_nodes=nodes) for text in (GOOD, BAD)]
    )
    evaluators["groundedness"]._harness.close()

    assert [one.score for one in found["groundedness"]] == [1.0, 0.0]
    with open_store(create=False) as store:
        sources = [record.case.known_sources for record in store.run(1).records()]
    assert {tuple((one.id, one.text) for one in some) for some in sources} == {(("n0", SOURCES[0]), ("n1", SOURCES[1]))}


def test_one_response_at_a_time() -> None:
    evaluator: Any = ragtriage.llama_index.evaluators(["groundedness"], judge=scripted(), store=None)["groundedness"]

    assert evaluator.evaluate(query=QUERY, response=GOOD, contexts=SOURCES).score == 1.0
