"""What a claim tells otherwise than a text that says nearly the same, and where nothing may be told."""

from typing import Any

import pytest

from examples import examples
from ragtriage.text.differences import differences, likely_place


@pytest.mark.parametrize("row", examples("differences", "told"))
def test_the_detail_that_differs_is_told_with_its_counterpart(row: dict[str, Any]) -> None:
    found = differences(row["claim"], row["text"])

    assert ", ".join(map(str, found)) == row["told"]
    assert all(row["text"][slice(*one.place)] == one.told for one in found)
    assert differences(row["text"], row["text"]) == differences(row["claim"], row["claim"]) == ()


@pytest.mark.parametrize("row", examples("differences", "silent"))
def test_nothing_is_told_where_it_is_not_plain_that_something_differs(row: dict[str, Any]) -> None:
    assert differences(row["claim"], row["text"]) == ()


def test_a_value_of_the_same_kind_may_be_looked_at_where_nothing_is_told() -> None:
    text = "Bicycles cost £3 and are carried on deck; cars up to 5 metres £68, motorhomes £95."

    assert differences("A car of 5 metres pays £78 for the return.", text) == ()
    place = likely_place("Cars of 5 metres pay £78 for the return.", text)
    assert place
    assert text[slice(*place)] == "£68"
    assert likely_place("Cars are carried for £3.", text) is None
