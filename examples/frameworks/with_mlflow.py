"""A traced application in MLflow: scores, with what they rest on, as assessments of its traces."""

from __future__ import annotations

import os

os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # a folder instead of a server

import mlflow
import shop

import ragtriage.mlflow

mlflow.set_tracking_uri("mlruns")
mlflow.set_experiment("shop")


@mlflow.trace(span_type="RETRIEVER")
def retrieve(question: str) -> list[dict[str, str]]:
    """The sources are what a span of this type gives."""
    return shop.retrieve(question)


@mlflow.trace
def answer(question: str) -> str:
    """The application."""
    return shop.generate(question, retrieve(question))


if __name__ == "__main__":
    rows = [{"inputs": {"question": question}} for question in shop.QUESTIONS]
    scorers = ragtriage.mlflow.scorers()
    result = mlflow.genai.evaluate(data=rows, predict_fn=answer, scorers=scorers)
    for name, mean in sorted(result.metrics.items()):
        print(f"{name} {mean:.2f}")
