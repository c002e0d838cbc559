"""Examples as data: a JSON-lines file beside a test module, one example a line, its fields in plain English.

A module with one table of examples names the file after itself or after what the examples are; one with several keeps
them in one file whose lines say by `table` which they belong to. A field `what` says what an example shows and is its
id; without one the id is the first text of the line.
"""

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

LONGEST_ID = 60


def examples(name: str, table: str = "") -> list[Any]:
    """Give the examples of a file to a test, a dict each.

    In front of the test stands `@pytest.mark.parametrize("row", examples("dates", "agree"))`.

    Args:
        name: the file beside the calling module, without `.jsonl`; it may lie elsewhere (`../refusals/first`).
        table: only the lines of this `table`; else those of the whole file.

    Returns:
        A `pytest.param` a line, in the file's order.

    Raises:
        ValueError: a line can't be read, or there is none.
    """
    path = Path(sys._getframe(1).f_globals["__file__"]).parent / f"{name}.jsonl"
    found = [row for row in rows_of(path) if not table or row.get("table") == table]
    if not found:
        raise ValueError(f"{path.name}: no line belongs to the table {table!r}" if table else f"{path.name} is empty")
    return [pytest.param(row, id=_id(row)) for row in found]


@cache
def rows_of(path: Path) -> list[dict[str, Any]]:
    """The lines of a file of examples; a line that isn't an object in JSON is named in a `ValueError`."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").removesuffix("\n").split("\n"), 1):
        try:
            found.append(dict(json.loads(line)))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path.name}, line {number}: {error}") from None
    return found


def _id(row: dict[str, Any]) -> str:
    """What an example shows, else its first text that tells something, on one line and not too long."""
    texts = (" ".join(value.split()) for key, value in row.items() if key != "table" and isinstance(value, str))
    shown = row.get("what") or next(filter(None, texts), "") or json.dumps(row, ensure_ascii=False)
    return shown if len(shown) <= LONGEST_ID else f"{shown[: LONGEST_ID - 3]}..."
