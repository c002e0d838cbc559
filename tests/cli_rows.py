"""Small rows, and files of them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RUN_KEYS = ["run", "cases", "metrics", "diagnosis", "findings", "input", "judge", "state", "complete", "rejected"]
"""What `--json` always prints of a run."""


def row(i: int, **changed: Any) -> dict[str, Any]:
    """A row with a question, an answer that one of two sources supports, and a tag."""
    return {
        "id": f"r{i}",
        "question": f"What does ticket {i} cost?",
        "contexts": [f"Ticket {i} costs {i + 3} euros.", "The office sells tickets."],
        "answer": f"Ticket {i} costs {i + 3} euros.",
        "topic": "even" if i % 2 == 0 else "odd",
        **changed,
    }


def written(path: Path, rows: Iterable[dict[str, Any] | str]) -> Path:
    """A JSONL file; a text stands as it is."""
    lines = (one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
