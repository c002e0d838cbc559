"""Tables are read with their header, however they are printed."""

import pytest

from ragtriage.judges.embedded.readings import read
from ragtriage.text.blocks import printed_tables, result_rows

STOCK = 'part,name,stock\n4410,"gasket, 40 mm",118\n5311,valve,3\n'
GOALS = "| name | goals |\n|---|---|\n| Ada | 17 |\n| Brit | 11 |"


def test_rows_are_read_with_their_header() -> None:
    reading = read(STOCK)

    assert [s.text for s in reading.sentences] == [
        "part: 4410; name: gasket, 40 mm; stock: 118",
        "part: 5311; name: valve; stock: 3",
    ]
    assert reading.table


@pytest.mark.parametrize(
    "text",
    [
        GOALS,
        "name | goals\nAda | 17\nBrit | 11",
        " name | goals \n------+-------\n Ada  |    17\n Brit |    11\n(2 rows)",
        "+------+-------+\n| name | goals |\n+------+-------+\n| Ada  |    17 |\n| Brit |    11 |\n+------+-------+",
        "│ name │ goals │\n├──────┼───────┤\n│ Ada  │ 17    │\n│ Brit │ 11    │",
        "name\tgoals\nAda\t17\nBrit\t11",
        "   name  goals\n0   Ada     17\n1  Brit     11",
        "name  goals\n----  -----\nAda   17\nBrit  11",
        "[{'name': 'Ada', 'goals': 17}, {'name': 'Brit', 'goals': 11}]",
        '[{"name": "Ada", "goals": 17}, {"name": "Brit", "goals": 11}]',
        '{"name": "Ada", "goals": 17}\n{"name": "Brit", "goals": 11}',
        "[('name', 'goals'), ('Ada', 17), ('Brit', 11)]",
    ],
)
def test_one_table_in_any_form(text: str) -> None:
    assert printed_tables(text).strip() == GOALS


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_other_delimiters(delimiter: str) -> None:
    text = "a;b;c\n1;2;3\n4;5;6".replace(";", delimiter)

    assert printed_tables(text) == "| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n| 4 | 5 | 6 |"


def test_a_first_row_of_figures_is_no_header() -> None:
    assert printed_tables("1,2,3\n4,5,6\n7,8,9") == "| 1 | 2 | 3 |\n| 4 | 5 | 6 |\n| 7 | 8 | 9 |"


def test_what_stands_around_a_table_stays() -> None:
    told = "Prices per night:\n\nroom  low  high\nA     30   40\nB     50   60\n\nCall us."

    lines = printed_tables(told).splitlines()

    assert (lines[0], lines[4], lines[-1]) == ("Prices per night:", "| A | 30 | 40 |", "Call us.")


def test_the_result_of_a_query_has_no_names_of_columns() -> None:
    rows = ("('Skell', 410, datetime.date(2024, 5, 1))", "('Selby', Decimal('9.90'), None)")

    for text in (f"[{', '.join(rows)}]", "\n".join(rows)):
        assert result_rows(text) == [["Skell", "410", "2024-05-01"], ["Selby", "9.9", ""]]
    assert result_rows("[{'name': 'Ada'}]") == result_rows("Ada has 17 goals [1].") == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "We sell tea, coffee and cake.\nWe also sell milk, juice, water and beer.\nCash, please.",
        "a,b,c\n1,2,3",
        "a,b\n1,2\n3,4",
        'a,b,c\n"1,2,3\n4,5,6',
        "See the notes [1] and (2), [3].",
        "def f(x):\n    return [x for x in (1, 2)]",
        "Name:  Ada\nCity:  Torv",
        '[{"name": "Ada", "address": {"city": "Torv"}}]',
    ],
)
def test_what_is_no_table_stays(text: str) -> None:
    assert printed_tables(text) == text


@pytest.mark.parametrize("text", ["[{{}}]", "{{a}}\n{{}}", "[" * 3_000 + "]" * 3_000])
def test_odd_lists_are_no_tables(text: str) -> None:
    assert printed_tables(text) == text
    assert not read(text).table


def test_lines_that_end_as_sentences_are_no_table() -> None:
    text = "\n".join(f"In the year {n}, Ann came, and Bob went." for n in (1990, 1991, 1992))
    assert printed_tables(text) == text


def test_two_rows_of_a_result_are_a_table() -> None:
    assert read("[('Alder', 12), ('Birch', 30)]").table
    assert not read("Alder has 12 members.\nBirch has 30.").table
