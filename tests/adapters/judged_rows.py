"""The four rows of the contract that every evaluator keeps: a good one, a bad one, an undefined one, a failed one."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ragtriage import FakeJudge, Verdict

SOURCES = ("Parcels take two days.", "Members ship for free.")
QUERY = "How long does a parcel take?"
GOOD = "Parcels take two days."
BAD = "Parcels take a year."
FAILED = "Parcels never arrive."
UNKNOWN_SOURCES = "It depends."
ROWS: tuple[dict[str, Any], ...] = (
    {"question": QUERY, "answer": GOOD, "contexts": list(SOURCES)},
    {"question": QUERY, "answer": BAD, "contexts": list(SOURCES)},
    {"question": QUERY, "answer": UNKNOWN_SOURCES, "contexts": None},
    {"question": QUERY, "answer": FAILED, "contexts": list(SOURCES)},
)
SCORES = (1.0, 0.0, None, None)
CAUSE = "the table has no verdict"
WHY = "a year is too long"


def scripted(**given: Any) -> FakeJudge:
    """A judge that knows the first two rows, and fails on the last."""
    verdicts: Mapping[tuple[str, ...], Any] = {
        ("supported", GOOD): "yes",
        ("supported", BAD): Verdict("no", explanation=WHY),
        ("supported", UNKNOWN_SOURCES): "yes",
        **{("declines", text): "no" for text in (GOOD, BAD, UNKNOWN_SOURCES, FAILED)},
        ("essential", SOURCES[0]): "yes",
        ("essential", SOURCES[1]): Verdict("no", explanation="it is about the price"),
    }
    return FakeJudge.from_table(verdicts=verdicts, **given)


def assert_scores(found: Sequence[float | None]) -> None:
    """The rows' scores; None or NaN where there is none."""
    assert [None if one is None or math.isnan(one) else one for one in found] == list(SCORES)


def assert_reasons(found: Sequence[str | None]) -> None:
    """What is told of each row: nothing speaks against the good one, and the others say why."""
    good, bad, undefined, failed = (one or "" for one in found)
    assert good == ""
    assert BAD in bad
    assert WHY in bad
    assert "sources" in undefined
    assert CAUSE in failed
