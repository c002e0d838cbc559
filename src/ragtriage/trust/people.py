"""A judge asked about labelled rows, and what comes of it row by row: the step between a file and its measures."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.evaluation.predict import BATCH, predict
from ragtriage.judges.protocol import Judge
from ragtriage.trust.agreement import Agreement, Held, Scale, agreement_of
from ragtriage.trust.floors import by_length, lexical
from ragtriage.trust.labelled import NOTHING_SAID, LabelledRow, LabelledRows, Prediction, prediction_of, task_of
from ragtriage.trust.preferences import pair_scores, preference_of, sides

NEAR = 0.2
"""Two answers are about the same length if the shorter lacks at most this share of the longer one's characters."""
Line = dict[str, Any]


def amount(labelled: LabelledRows) -> int:
    """How many times `lines_of` tells that it got on: once a row, or once an answer of a pair."""
    if labelled.kind == "preference":
        return sides([preference_of(row.values) for row in labelled.rows])
    return len(labelled.rows)


def lines_of(labelled: LabelledRows, judge: Judge, advance: Callable[[], None] = lambda: None) -> list[Line]:
    """A judge's predictions, one a row in their order: `{id, score}`, of a task with verdict, confidence and sure.

    Raises:
        JudgeError: the judge can't work at all.
    """
    task = task_of(labelled.kind)
    if task is None:
        scores = pair_scores([preference_of(row.values) for row in labelled.rows], judge, advance)
        return [
            {"id": row.id, "score": one.difference} | ({"error": one.reason} if one.reason else {})
            for row, one in zip(labelled.rows, scores, strict=True)
        ]
    found: list[Line] = []
    with asyncio.Runner() as runner:
        for start in range(0, len(labelled.rows), BATCH):
            batch = [{**row.values, "id": row.id} for row in labelled.rows[start : start + BATCH]]
            found += runner.run(predict(judge, task, batch))
            for _ in batch:
                advance()
    return found


def predictions_of(lines: Sequence[Line]) -> dict[str, Prediction]:
    """Predictions by the row's id."""
    return {str(line["id"]): prediction_of(line) for line in lines}


def write_lines(lines: Sequence[Line], path: Path) -> None:
    """Write predictions, one a line; the file is there as a whole or not at all.

    Raises:
        InputError: it can't be written.
    """
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        part.write_text(text, encoding="utf-8", errors="backslashreplace")
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror or error}") from error


def held_rows(labelled: LabelledRows, predictions: Mapping[str, Prediction]) -> list[Held]:
    """Every row's label beside what the judge, words and length say."""
    return [
        Held(
            row.group,
            row.label,
            predictions.get(row.id, NOTHING_SAID),
            lexical(labelled.kind, row.values),
            by_length(labelled.kind, row.values),
            near=_near(row.values) if labelled.kind == "preference" else False,
        )
        for row in labelled.rows
    ]


def agreements(
    labelled: LabelledRows, held: Sequence[Held], *, by: str | None = None, seed: int = 0
) -> Iterator[Agreement]:
    """How far the judge agrees on all rows, on each aspect of preferences, and for each value of a column.

    Args:
        labelled: the rows.
        held: one for each.
        by: a column.
        seed: of the resamples.
    """
    scale: Scale | None = "preference" if labelled.kind == "preference" else None
    red = "yes" if labelled.kind == "similar" else "no"
    places = {"all rows": list(range(len(held)))}
    if labelled.kind == "preference":
        places = _places(labelled.rows, "aspect", "overall")
    if by is not None:
        places |= _places(labelled.rows, by, "")
    for name, some in places.items():
        yield agreement_of(name, [held[i] for i in some], scale, red=red, seed=seed)


def _places(rows: Sequence[LabelledRow], column: str, default: str) -> dict[str, list[int]]:
    """A column's values, sorted → the rows that have them."""
    found: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        found.setdefault(f"{column}: {row.values.get(column, default)}", []).append(i)
    return dict(sorted(found.items()))


def _near(values: Mapping[str, Any]) -> bool:
    a, b = len(values["a"]), len(values["b"])
    return abs(a - b) <= NEAR * max(a, b)
