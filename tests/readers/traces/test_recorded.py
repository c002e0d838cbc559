"""Traces that the tools themselves wrote: what is right is known from the applications that were run.

The scripts that recorded them are in `bench/traces`.
"""

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
UNUSABLE = [name for name, traces in EXPECTED.items() if all("rejected" in one for one in traces)]
NAMED = {"service.version": "version", "tag.tags": "tags"}
"""What a recorded tag is called here."""


@pytest.mark.parametrize("name", [name for name in EXPECTED if name not in UNUSABLE])
def test_a_recorded_trace_is_read_as_its_application_answered(name: str) -> None:
    rows = list(open_cases(FOLDER / name).rows())
    used = [told(row) for row in rows if isinstance(row, Case)]
    reasons = [str(row) for row in rows if not isinstance(row, Case)]
    usable = [one for one in EXPECTED[name] if "rejected" not in one]

    assert sorted(used, key=str) == sorted(map(right, usable), key=str)
    assert all(any(one["trace_id"] in reason for reason in reasons) for one in EXPECTED[name] if "rejected" in one)
    found = {(row.trace_id, row.query): row.tags for row in rows if isinstance(row, Case)}
    for one in usable:
        tags = found[one["trace_id"], one["query"]]
        assert {tag: tags.get(NAMED.get(tag, tag)) for tag in one["tags"]} == one["tags"]
        for tag, field in (("retrieval_scores", "scores"), ("cost_usd", "cost_usd"), ("top_k", "top_k")):
            assert tags.get(tag) == one.get(field, tags.get(tag))
        scores = {tag.removeprefix("score."): value for tag, value in tags.items() if tag.startswith("score.")}
        assert scores == one.get("annotations", scores)


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_recorded_file_without_what_is_needed_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"(?:were|was)n't recorded|no retrieval|without their documents|in object"):
        open_cases(FOLDER / name)


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
    assert {path.name for path in FOLDER.iterdir()} - {"expected.json", "README.md"} == set(EXPECTED)
