"""Small sets of answered questions, written in one line."""

from collections.abc import Iterable

from ragtriage.testset.answered_rows import Row
from ragtriage.testset.correctness import Decision, decide
from ragtriage.testset.scoring import ModularScores, ScoringOptions, score_balanced, score_decided


def answers(*lines: str) -> list[Row]:
    """`"g short + d1,d2"`: group, cluster, right (+), wrong (-) or undecided (?), and what was retrieved, if known.

    A fifth word names the documents that are needed.
    """
    rows = []
    for number, line in enumerate(lines):
        group, cluster, sign, *lists = line.split()
        retrieved, relevant = ([one.split(",") for one in lists] + [[], []])[:2]
        rows.append(
            Row(
                f"{number}",
                group,
                cluster,
                correct={"+": True, "-": False, "?": None}[sign],
                retrieved=tuple(retrieved) if lists else None,
                relevant_ids=tuple(relevant) or None,
            )
        )
    return rows


def decided(rows: Iterable[Row]) -> tuple[list[Row], list[Decision]]:
    """The rows with what they say of themselves."""
    listed = list(rows)
    return listed, decide(listed, None)


def scored(rows: Iterable[Row], **terms: object) -> ModularScores:
    return score_decided(*decided(rows), ScoringOptions(**terms))  # type: ignore[arg-type]


def scored_evenly(rows: Iterable[Row], **terms: object) -> ModularScores:
    return score_balanced(*decided(rows), ScoringOptions(**terms))  # type: ignore[arg-type]
