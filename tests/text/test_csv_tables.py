"""CSV is read as a table."""

from __future__ import annotations

import pytest

from ragtriage.judges.embedded.readings import read
from ragtriage.text.blocks import csv_as_table

STOCK = 'part,name,stock\n4410,"gasket, 40 mm",118\n5311,valve,3\n'


def test_rows_are_read_with_their_header() -> None:
    reading = read(STOCK)

    assert [s.text for s in reading.sentences] == [
        "part: 4410; name: gasket, 40 mm; stock: 118",
        "part: 5311; name: valve; stock: 3",
    ]
    assert reading.table


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters(delimiter: str) -> None:
    text = "a;b;c\n1;2;3\n4;5;6".replace(";", delimiter)

    assert csv_as_table(text) == "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n| 4 | 5 | 6 |"


def test_a_first_row_of_figures_is_no_header() -> None:
    assert csv_as_table("1,2,3\n4,5,6\n7,8,9") == "| 1 | 2 | 3 |\n| 4 | 5 | 6 |\n| 7 | 8 | 9 |"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "We sell tea, coffee and cake.\nWe also sell milk, juice, water and beer.\nCash, please.",
        "a,b,c\n1,2,3",
        "a,b\n1,2\n3,4",
        'a,b,c\n"1,2,3\n4,5,6',
    ],
)
def test_what_is_no_csv_stays(text: str) -> None:
    assert csv_as_table(text) == text
