"""Every command's output is what it was: field by field, for each row of the tables.

A difference that is wanted is recorded with `python tests/golden/record.py NAME`.
"""

import pytest
from runner import EXPECTED, FIELDS_TOLD, Row, differences, expected_of, outcome_of, rows, same_text, wrong_codes

TABLE = rows()
SETTINGS = "ragtriage.toml"
"""An ordinary file: it holds no text of a case."""


@pytest.mark.parametrize("row", TABLE.values(), ids=list(TABLE))
def test_the_outputs_are_what_they_were(row: Row) -> None:
    found = outcome_of(row)
    expected = expected_of(row.name)

    public = {SETTINGS, *row.public}

    told = wrong_codes(row, found)
    told += [f"{path}: is open to others than its owner" for path in found.wide if path.split()[0] not in public]
    told += [f"{name}: isn't written any more" for name in expected if name not in found.outputs]
    told += [f"{name}: is new" for name in found.outputs if name not in expected]
    for name, text in expected.items():
        told += [f"{name}: {line}" for line in differences(name, text, found.outputs.get(name, text), exact=row.exact)]
    more = f"\n… and {len(told) - FIELDS_TOLD} more" if len(told) > FIELDS_TOLD else ""
    assert not told, "\n".join(["", *told[:FIELDS_TOLD]]) + more


def test_every_row_that_compares_something_has_its_expectation_and_no_other_is_there() -> None:
    comparing = {name for name, row in TABLE.items() if any(step.compared for step in row.steps)}

    assert {folder.name for folder in EXPECTED.iterdir()} == comparing


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Grounded  0.93  ▼ low  ██████░", "Grounded 0.95 ▼ low ████░░░", True),
        ("Grounded 0.93", "Grounded 0.96", False),
        ("24 of 47 cases", "25 of 47 cases", False),
        ("3 of 45 (7%)", "3 of 45 (9%)", True),
        ("3 of 45 (7%)", "3 of 45 (10%)", False),
        ("it costs €4.00", "it costs €4.01", False),
        ("  indented", "indented", False),
    ],
)
def test_only_last_digits_of_shares_may_differ(one: str, other: str, same: bool) -> None:
    assert same_text(one, other) is same


def test_differing_fields_are_told_with_both_values() -> None:
    before = '{"a": {"mean": 0.5, "n": 3, "verdict": "yes"}, "b": [1, 2]}'
    after = '{"a": {"mean": 0.53, "n": 3, "verdict": "no"}, "b": [1], "c": null}'

    assert differences("x.json", before, before.replace("0.5,", "0.51,")) == []
    assert differences("x.json", before, after) == [
        ".a.mean: 0.5 became 0.53",
        '.a.verdict: "yes" became "no"',
        ".b: 2 entries became 1",
        ".c: null is new",
    ]
