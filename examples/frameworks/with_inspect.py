"""A task of inspect whose solver is the application."""

from __future__ import annotations

import shop
from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

import ragtriage.inspect_ai


@solver
def rag() -> Solver:
    """The application: what it retrieved goes into the state's metadata."""

    async def solve(state: TaskState, _: Generate) -> TaskState:
        passages = shop.retrieve(state.input_text)
        state.metadata["documents"] = passages
        state.output = ModelOutput.from_content("shop", shop.generate(state.input_text, passages))
        return state

    return solve


if __name__ == "__main__":
    samples = [Sample(input=question) for question in shop.QUESTIONS]
    task = Task(dataset=samples, solver=rag(), scorer=ragtriage.inspect_ai.scorer())
    (log,) = evaluate(task, model="mockllm/model", display="none")
    for numbers in log.results.scores:
        print(numbers.name, round(numbers.metrics["mean"].value, 2))
