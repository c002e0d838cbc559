"""What a harness hands over for one row, put together as a line of a file would be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragtriage.readers.field_values import ALIASES

TRUE_ANSWERS = ("expected_response", *ALIASES["reference"], *ALIASES["response"])
"""Names under which a framework's expectations hold the true answer."""


def merged_row(inputs: Any, outputs: Any, expected: Any = None, *, raw: bool = False) -> dict[str, Any]:
    """One row: what the application was given, what it gave, and the true answer, if one is known.

    Args:
        inputs: a text is the query.
        outputs: a text is the response.
        expected: what was expected of it.
        raw: keep the three also as they are, so that a path such as `outputs.docs` can name a part.
    """
    row = dict(inputs) if isinstance(inputs, Mapping) else {"query": inputs}
    if "query" not in row and "messages" in row:
        row["query"] = row.pop("messages")
    row |= outputs if isinstance(outputs, Mapping) else {"response": outputs}
    known = expected if isinstance(expected, Mapping) else {"reference": expected}
    reference = next((known[name] for name in TRUE_ANSWERS if known.get(name) is not None), None)
    if reference is not None and not any(name in row for name in ALIASES["reference"]):
        row["reference"] = reference
    if raw:
        row |= {"inputs": inputs, "outputs": outputs, "expectations": expected}
    return row


def with_sources(row: Mapping[str, Any], sources: Any) -> dict[str, Any]:
    """The row with these sources, and no other column that could be taken for them."""
    return {key: value for key, value in row.items() if key not in ALIASES["sources"]} | {"sources": sources}
