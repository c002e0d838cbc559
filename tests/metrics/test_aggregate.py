"""Components with their verdicts: which are good, and in which way the others are bad."""

from typing import Literal

import pytest

from ragtriage.core.verdicts import Answered, Component, Failure, Verdict
from ragtriage.metrics.aggregate import CONTRADICTED, UNSUPPORTED, parts

ONE = (Component("It costs 5 euros."),)


@pytest.mark.parametrize(
    ("value", "sure", "contradicted", "kind"),
    [
        ("no", True, True, CONTRADICTED),
        ("no", False, True, CONTRADICTED),
        ("no", True, False, UNSUPPORTED),
        ("no", False, False, ""),
        ("unknown", True, False, ""),
        ("yes", True, False, ""),
    ],
)
def test_a_bad_component_is_contradicted_or_surely_unsupported_or_only_doubtful(
    value: Answered, sure: bool, contradicted: bool, kind: str
) -> None:
    (part,) = parts(ONE, (Verdict(value, sure=sure, contradicted=contradicted),), "yes")

    assert part.kind == kind
    assert part.good is {"yes": True, "no": False, "unknown": None}[value]


@pytest.mark.parametrize("good", ["yes", "no"])
def test_a_failure_is_neither_good_nor_of_a_kind(good: Literal["yes", "no"]) -> None:
    (part,) = parts(ONE, (Failure("too long"),), good)

    assert (part.good, part.kind) == (None, "")


def test_where_no_is_good_a_no_is_not_bad_in_any_way() -> None:
    (part,) = parts(ONE, (Verdict("no", contradicted=True),), "no")

    assert (part.good, part.kind) == (True, "")
