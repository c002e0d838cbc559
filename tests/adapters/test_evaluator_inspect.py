"""inspect's task with the scorer, and the scorer by itself."""

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from judged_rows import GOOD, QUERY, ROWS, assert_reasons, assert_scores, scripted

pytest.importorskip("inspect_ai", reason="inspect-ai isn't installed")

import ragtriage.inspect_ai

pytestmark = pytest.mark.filterwarnings("default")  # those of the framework are its own


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    gc.collect()  # inspect leaves streams open; here what is told of it counts as a warning


def test_the_contract_of_evaluators() -> None:
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
    scorer = ragtriage.inspect_ai.scorer(["groundedness"], judge=scripted())
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


def test_a_state_alone() -> None:
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Target
    from inspect_ai.solver import TaskState

    scorer = ragtriage.inspect_ai.scorer(["groundedness"], judge=scripted(), store=None)
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
