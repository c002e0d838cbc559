"""A table of answers: a column a metric, and the run's report."""

from __future__ import annotations

import pandas as pd
import shop

import ragtriage
import ragtriage.pandas


def answered(question: str) -> dict[str, object]:
    """The application, a row a question."""
    passages = shop.retrieve(question)
    return {"question": question, "answer": shop.generate(question, passages), "documents": passages}


if __name__ == "__main__":
    table = pd.DataFrame([answered(question) for question in shop.QUESTIONS])
    scored = ragtriage.pandas.evaluate(table)
    print(scored[["question", "groundedness", "headline"]].to_string())
    print(ragtriage.open_run("last").report("report.html"))
