"""The names under which other tools' files hold our fields."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

ALIASES: Mapping[str, tuple[str, ...]] = {
    "query": ("query", "question", "user_input", "input", "prompt", "user_query"),
    "response": ("response", "answer", "actual_output", "output", "result", "generated_answer", "completion"),
    "sources": (
        "sources",
        "contexts",
        "retrieved_contexts",
        "retrieval_context",
        "retrieved_context",
        "documents",
        "chunks",
        "passages",
        "retrieved_documents",
        "retrieved_chunks",
    ),
    "source_ids": ("source_ids", "retrieved_context_ids", "context_ids"),
    "reference": ("reference", "ground_truth", "ground_truths", "expected_output", "gt_answer", "reference_answer"),
    "id": ("id", "case_id", "question_id", "qid", "sample_id", "row_id"),
    "history": ("history", "conversation", "messages", "chat_history"),
    "samples": ("samples",),
    "relevant_ids": ("relevant_ids", "relevant_sources", "gold_ids", "reference_context_ids"),
    "time": ("time", "timestamp", "created_at"),
    "trace_id": ("trace_id",),
    "weight": ("weight",),
}
"""Our field to its names, the one that is preferred first.

`context` is missing on purpose: in DeepEval's files it is the ideal context that people wrote, not what was retrieved.
`source` is missing too: it mostly tells where a row comes from.
"""

_FIELDS = {alias: field for field, aliases in ALIASES.items() for alias in aliases}


@lru_cache(maxsize=4096)
def normalized(name: str) -> str:
    """A column's name in one spelling: `userInput`, `User Input` and `user-input` are `user_input`."""
    return re.sub(r"[\s_-]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())).lower()


def field_named(column: str) -> str | None:
    """Our field that a column's name stands for, or None."""
    return _FIELDS.get(normalized(column))
