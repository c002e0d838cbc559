"""Traces that the tools themselves wrote: what is right is known from the applications that were run (`bench/traces`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from ragtriage.core.case import Case
from ragtriage.core.errors import InputError
from ragtriage.readers import open_cases

FOLDER = Path(__file__).parent / "recorded"
EXPECTED: Mapping[str, Sequence[Mapping[str, Any]]] = json.loads((FOLDER / "expected.json").read_text("utf-8"))
NO_FIXTURES = {"expected.json", "README.md"}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_recorded_trace_is_read_as_its_application_answered(name: str) -> None:
    expected = EXPECTED[name]
    try:
        rows = list(open_cases(FOLDER / name).rows())
    except InputError as error:
        assert all(one.get("rejected") for one in expected), error
        return
    used = [row for row in rows if isinstance(row, Case)]
    reasons = [str(row) for row in rows if not isinstance(row, Case)]

    assert sorted(map(told, used), key=str) == sorted(
        (right(one) for one in expected if "rejected" not in one), key=str
    )
    for one in expected:
        if "rejected" in one:
            assert any(one["trace_id"] in reason for reason in reasons)


def told(case: Case) -> dict[str, Any]:
    """What a case says."""
    sources = None if case.sources is None else [[source.id, source.text] for source in case.sources]
    tags = {name: case.tags.get(name) for name in ("conversation", "user")}
    return {"trace": case.trace_id, "query": case.query, "sources": sources, "response": case.response, **tags}


def right(one: Mapping[str, Any]) -> dict[str, Any]:
    """What it should say."""
    fields = {name: one.get(name) for name in ("query", "sources", "response", "conversation", "user")}
    return {"trace": one["trace_id"], **fields}


def test_every_recorded_file_has_its_expectation() -> None:
    assert {path.name for path in FOLDER.iterdir()} - NO_FIXTURES == set(EXPECTED)
