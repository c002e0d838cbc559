"""The evaluators as the frameworks' own runners call them: Haystack, inspect, LangSmith and LlamaIndex."""

import asyncio
import gc
import math
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from judged_rows import BAD, GOOD, QUERY, ROWS, SOURCES, assert_reasons, assert_scores, scripted

from ragtriage import open_store

pytestmark = [
    pytest.mark.usefixtures("own_folder"),
    pytest.mark.filterwarnings("default"),  # those of the frameworks are their own
]


def framework(name: str) -> Any:
    """A framework, where it is installed."""
    return pytest.importorskip(name, reason=f"{name} isn't installed: make test-frameworks")


def test_a_haystack_pipeline_keeps_the_contract_of_evaluators() -> None:
    haystack = framework("haystack")
    from haystack.evaluation import EvaluationRunResult

    import ragtriage.haystack

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
    evaluator = ragtriage.haystack.RagtriageEvaluator(["groundedness"], judge=scripted(), store=None)
    alone = evaluator.run(questions=[QUERY], contexts=[None], predicted_answers=["Yes."])
    assert math.isnan(alone["groundedness"]["score"])  # all undefined has no mean


def test_a_haystack_pipeline_that_was_written_to_a_file_has_it_again() -> None:
    haystack = framework("haystack")
    import ragtriage.haystack

    pipeline = haystack.Pipeline()
    pipeline.add_component("triage", ragtriage.haystack.RagtriageEvaluator(["groundedness"], store=None))
    trusted = {} if int(haystack.__version__.split(".")[0]) < 3 else {"allowed_modules": ["ragtriage.haystack"]}

    again = haystack.Pipeline.loads(pipeline.dumps(), **trusted).get_component("triage")

    assert type(again).__name__ == "RagtriageEvaluator"


@pytest.fixture
def inspect() -> Iterator[Any]:
    framework("inspect_ai")
    import ragtriage.inspect_ai

    yield ragtriage.inspect_ai
    gc.collect()  # inspect leaves streams open; here what is told of it counts as a warning


def test_inspects_task_keeps_the_contract_of_evaluators(inspect: Any) -> None:
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import solver

    @solver
    def rag() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            state.output = ModelOutput.from_content("none", ROWS[state.metadata["n"]]["answer"])
            return state

        return solve

    given = [{"n": n, "contexts": row["contexts"]} for n, row in enumerate(ROWS)]
    samples = [Sample(input=QUERY, target=GOOD, metadata=metadata) for metadata in given]
    scorer = inspect.scorer(["groundedness"], judge=scripted())
    (log,) = evaluate(
        Task(dataset=samples, solver=rag(), scorer=scorer), model="mockllm/model", display="none", log_dir="logs"
    )

    assert log.status == "success", log.error
    found = [sample.scores["ragtriage"] for sample in sorted(log.samples, key=lambda one: one.metadata["n"])]
    assert_scores([one.value["groundedness"] for one in found])
    assert_reasons([one.explanation.partition("groundedness: ")[2] for one in found])
    assert str(found[3].reason).startswith("failed: ")
    (numbers,) = log.results.scores
    assert (numbers.scored_samples, numbers.unscored_samples, numbers.metrics["mean"].value) == (2, 2, 0.5)


def test_a_state_of_inspect_alone(inspect: Any) -> None:
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Target
    from inspect_ai.solver import TaskState

    scorer = inspect.scorer(["groundedness"], judge=scripted(), store=None)
    state: Any = TaskState(
        model="mockllm/model",  # type: ignore[arg-type]
        sample_id=1,
        epoch=1,
        input=QUERY,
        messages=[],
        output=ModelOutput.from_content("none", GOOD),
        metadata={"contexts": ROWS[0]["contexts"]},
    )

    assert asyncio.run(scorer(state, Target(""))).value == {"groundedness": 1.0}


@pytest.fixture
def langsmith(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("LANGSMITH_ENDPOINT", "http://127.0.0.1:9")  # nothing is there, and nothing leaves this machine
    return framework("langsmith")


def answered(inputs: dict[str, Any]) -> dict[str, Any]:
    row = ROWS[inputs["n"]]
    return {key: row[key] for key in ("answer", "contexts") if row[key] is not None}


def test_langsmiths_evaluate_keeps_the_contract_of_evaluators(langsmith: Any) -> None:
    import ragtriage.langsmith

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


def test_a_score_has_the_places_that_langsmith_keeps_and_the_run_its_experiment(langsmith: Any) -> None:
    import ragtriage.langsmith

    evaluate: Any = ragtriage.langsmith.evaluator(["query_similarity"], judge="embedded")
    run = type("Run", (), {"inputs": {}, "outputs": {"answer": GOOD, "contexts": []}, "session_name": "mine-1"})
    example = type("Example", (), {"inputs": {"question": QUERY}, "outputs": {"answer": GOOD}})

    (score, _) = evaluate(run, example)["results"]
    evaluate.__closure__[0].cell_contents.close()

    assert score["score"] is None or score["score"] == round(score["score"], 4)
    with open_store(create=False) as store:
        assert [info.input for info in store.runs()] == ["langsmith: mine-1"]


@pytest.fixture
def llama_index() -> Any:
    framework("llama_index.core.evaluation")
    import ragtriage.llama_index

    return ragtriage.llama_index


def test_llama_indexs_runner_keeps_the_contract_of_evaluators(llama_index: Any) -> None:
    from llama_index.core.evaluation import BatchEvalRunner

    judge = scripted()
    evaluators = llama_index.evaluators(["groundedness", "source_precision"], judge=judge)
    runner = BatchEvalRunner(evaluators, workers=32)

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


def test_sources_are_the_nodes_as_the_model_read_them(llama_index: Any) -> None:
    from llama_index.core import Response
    from llama_index.core.evaluation import BatchEvalRunner
    from llama_index.core.schema import NodeWithScore, TextNode

    nodes = [NodeWithScore(node=TextNode(text=text, id_=f"n{at}"), score=0.5) for at, text in enumerate(SOURCES)]
    evaluators = llama_index.evaluators(["groundedness"], judge=scripted())
    runner = BatchEvalRunner(evaluators, workers=2)
    found = runner.evaluate_responses(
        queries=[QUERY] * 2, responses=[Response(text, source_nodes=nodes) for text in (GOOD, BAD)]
    )
    evaluators["groundedness"]._harness.close()

    assert [one.score for one in found["groundedness"]] == [1.0, 0.0]
    with open_store(create=False) as store:
        sources = [record.case.known_sources for record in store.run(1).records()]
    assert {tuple((one.id, one.text) for one in some) for some in sources} == {(("n0", SOURCES[0]), ("n1", SOURCES[1]))}
    one = llama_index.evaluators(["groundedness"], judge=scripted(), store=None)["groundedness"]
    assert one.evaluate(query=QUERY, response=GOOD, contexts=SOURCES).score == 1.0
