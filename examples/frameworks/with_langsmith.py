"""An experiment in LangSmith that isn't uploaded: without a key, and without a network."""

from __future__ import annotations

import os
import uuid
from typing import Any

os.environ.setdefault("LANGSMITH_ENDPOINT", "http://127.0.0.1:9")  # nobody is there; leave it out to use the service

import langsmith
import shop
from langsmith.schemas import Example

import ragtriage.langsmith


def answer(inputs: dict[str, Any]) -> dict[str, Any]:
    """The application: what it retrieved goes along with its answer."""
    passages = shop.retrieve(inputs["question"])
    return {"answer": shop.generate(inputs["question"], passages), "documents": passages}


if __name__ == "__main__":
    examples = [Example(id=uuid.uuid4(), inputs={"question": question}) for question in shop.QUESTIONS]
    evaluator = ragtriage.langsmith.evaluator()
    results = langsmith.evaluate(answer, data=examples, evaluators=[evaluator], max_concurrency=32, upload_runs=False)
    for row in results:
        for one in row["evaluation_results"]["results"]:
            print(one.key, one.value if one.score is None else one.score, one.comment or "")
