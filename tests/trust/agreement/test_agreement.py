"""Agreement with labels: which measures there are, what a row without a score counts as, and what is said of it."""

from typing import Any

import pytest

from ragtriage.report.trust_document import agreement_document
from ragtriage.trust.agreement import Agreement
from ragtriage.trust.labelled_rows import LabelledRow, LabelledRows, LabelledTask, agreements, compared_rows

SOURCE = "The day pass costs 12 euros. Dogs travel free of charge on all ferries."


def agreement(
    task: LabelledTask, rows: list[tuple[float, dict[str, Any]]], scores: list[float | None], error: str = ""
) -> Agreement:
    labelled = tuple(LabelledRow(str(i), f"g{i}", label, values) for i, (label, values) in enumerate(rows))
    said = [{"id": str(i), "score": score, "error": error if score is None else ""} for i, score in enumerate(scores)]
    whole = LabelledRows(task, labelled, ())
    return next(agreements(whole, compared_rows(whole, said)))


def claims(*labels: float) -> list[tuple[float, dict[str, Any]]]:
    return [(label, {"claim": f"The day pass costs {i} euros.", "sources": [SOURCE]}) for i, label in enumerate(labels)]


def test_a_row_without_a_score_counts_as_wrong_and_is_told() -> None:
    found = agreement("supported", claims(1, 1, 1, 0, 0, 0), [0.9, 0.8, None, 0.3, 0.2, None], "out of order")

    assert (found.scale, found.without_score, found.failed) == ("yes or no", 2, 2)
    assert found.judge["AUC"].value == pytest.approx(4 / 9)
    said = [str(block) for block in agreement_document([found], "embedded", "rows.jsonl")]
    assert any("2 rows have no score and count as wrong." in one for one in said)
    assert any("out of order" in one for one in said)


def test_grades_are_told_from_yes_and_no() -> None:
    found = agreement("supported", claims(0, 0.2, 0.4, 0.6, 0.8, 1), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])

    assert (found.scale, found.judge["Spearman"].value) == ("graded", pytest.approx(1))


def test_preferences_are_pairs_of_which_ties_decide_nothing() -> None:
    answers = (("12 euros.", "A horse..", 1), ("A horse..", "12 euros.", -0.5), ("12 euros.", "12 euros!", 0))
    asked = {"query": "What does it cost?", "sources": [SOURCE]}
    pairs = [(human, {**asked, "a": a, "b": b}) for a, b, human in answers]
    found = agreement("preference", pairs, [0.5, 0.5, 0.0])

    assert (found.scale, found.judge["pair accuracy"].value, found.judge["pair accuracy"].n) == ("preference", 0.5, 2)
    assert found.overlap["pair accuracy"].value == 1
