"""Templates: enumerated in a fixed order, and SQL of anybody checked against the schema."""

import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from library_database import sqlite_library
from ragtriage.testset.generation.database import OpenedDatabase
from ragtriage.testset.generation.phrasing.nouns import singular
from ragtriage.testset.generation.query_templates import enumerate_templates, fill_placeholders, parameterized_sql
from ragtriage.testset.generation.reflection import column_words, reference_words, reflect, words_of
from ragtriage.testset.generation.schema import Column, Schema, Table
from ragtriage.testset.generation.sql_checks import RefusedSql, check_template


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Schema:
    path: Path = tmp_path_factory.mktemp("library") / "library.sqlite"
    with OpenedDatabase(sqlite_library(path)) as database:
        return reflect(database).schema


@pytest.mark.parametrize("row", examples("templates", "names"))
def test_names_become_words(row: dict[str, Any]):
    assert words_of(row["name"]) == row["words"]


@pytest.mark.parametrize("row", examples("templates", "plurals"))
def test_plurals_become_singular(row: dict[str, Any]):
    assert singular(row["many"]) == row["one"]


def test_references_say_what_the_row_is():
    assert reference_words(["SupportRepId"], "Customer", "Employee") == "support representative"
    assert reference_words(["ReportsTo"], "Employee", "Employee") == "manager"
    assert reference_words(["AlbumId"], "Track", "Album") == "album"
    assert reference_words(["parent_id"], "category", "category") == "parent category"
    assert column_words("StadiumName", "Stadium") == "name"


def test_templates_of_all_kinds_in_a_fixed_order(schema):
    found = enumerate_templates(schema, aggregates=True).templates
    said = [template.sql.replace("\n", " ").replace('"', "") for template in found]

    assert (
        said[0] == "SELECT born FROM author WHERE first_name = [author.first_name] AND last_name = [author.last_name]"
    )
    for expected in (
        "SELECT author.born FROM author JOIN book ON author.author_id = book.author_id WHERE book.title = [book.title]",
        (
            "SELECT author.born FROM author JOIN author AS author_2 ON author.author_id = author_2.mentor_id "
            "WHERE author_2.first_name = [author.first_name] AND author_2.last_name = [author.last_name]"
        ),
        (
            "SELECT copy.copies FROM copy JOIN shelf ON copy.room = shelf.room AND copy.number = shelf.number "
            "JOIN book ON copy.book_id = book.book_id WHERE shelf.name = [shelf.name] AND book.title = [book.title]"
        ),
        (
            "SELECT book.title FROM book JOIN copy ON book.book_id = copy.book_id "
            "JOIN shelf ON copy.room = shelf.room AND copy.number = shelf.number WHERE shelf.name = [shelf.name]"
        ),
        (
            "SELECT COUNT(book.book_id) FROM book JOIN author ON book.author_id = author.author_id "
            "WHERE author.first_name = [author.first_name] AND author.last_name = [author.last_name]"
        ),
    ):
        assert expected in said
    assert found == enumerate_templates(schema, aggregates=True).templates
    assert not any("COUNT" in one.sql for one in enumerate_templates(schema).templates)


def test_no_template_selects_what_it_filters_on(schema):
    for template in enumerate_templates(schema, aggregates=True).templates:
        shape = template.shape
        assert shape is not None
        assert (0, shape.select) not in {(one.occurrence, one.column) for one in shape.filters}
        assert template.placeholders


def test_what_is_beyond_the_limit_is_counted(schema):
    whole = enumerate_templates(schema)
    some = enumerate_templates(schema, most=3)

    assert (some.templates, some.left_out) == (whole.templates[:3], len(whole.templates) - 3)


def test_a_template_is_the_same_when_its_sql_is_read(schema):
    for template in enumerate_templates(schema, aggregates=True).templates:
        assert check_template(template.sql, schema, "enumerated") == template


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql", "duckdb"])
def test_the_same_sql_in_another_spelling_is_the_same_template(schema, dialect):
    schema = replace(schema, dialect=dialect)
    one = check_template(
        "SELECT a.born FROM author a JOIN book AS b ON b.author_id = a.author_id WHERE b.title = '[book.title]';",
        schema,
    )
    two = check_template(
        'select "author".born from author inner join book on author.author_id = book.author_id -- words\n'
        "where ([book.title] = book.title)",
        schema,
    )

    assert one == two
    assert one.shape is not None
    assert (one.tables, one.placeholders, one.made_by) == (("author", "book"), ("book.title",), "written")


@pytest.mark.parametrize("row", examples("templates", "refused"))
def test_sql_is_refused_with_the_reason(schema, row):
    with pytest.raises(RefusedSql, match=row["reason"]):
        check_template(row["sql"], schema)


def test_rows_may_be_counted_by_a_star(schema):
    one = check_template(
        "SELECT COUNT(*) FROM book JOIN author ON book.author_id = author.author_id "
        "WHERE author.last_name = [author.last_name]",
        schema,
    )
    assert one.shape is not None
    assert (one.shape.counted, one.shape.select) == (True, "book_id")
    assert 'COUNT("book"."book_id")' in one.sql
    grouped = check_template("SELECT COUNT(*) FROM book WHERE pages > [book.pages]", schema)
    assert (grouped.shape, grouped.placeholders) == (None, ("book.pages",))


def test_no_template_comes_back_to_what_it_filters_on(tmp_path):
    path = tmp_path / "heads.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE department (department_id INTEGER PRIMARY KEY, name TEXT, floor TEXT, head_id INTEGER "
        "REFERENCES employee(employee_id));"
        "CREATE TABLE employee (employee_id INTEGER PRIMARY KEY, name TEXT, department_id INTEGER "
        "REFERENCES department(department_id), manager_id INTEGER REFERENCES employee(employee_id));"
    )
    connection.close()
    with OpenedDatabase(f"sqlite:///{path}") as database:
        found = enumerate_templates(reflect(database).schema).templates
    said = [(f"{one.shape.table}.{one.shape.select}", one.placeholders) for one in found if one.shape]

    assert ("department.name", ("department.name",)) not in said
    assert ("employee.name", ("employee.name",)) in said  # somebody's manager
    assert ("department.name", ("employee.name",)) in said


@pytest.mark.parametrize("row", examples("templates", "without a shape"))
def test_sql_of_another_form_is_taken_without_a_shape(schema, row):
    found = check_template(row["sql"], schema)

    assert found.shape is None
    assert set(found.tables) == set(row["tables"])
    assert row["keeps"] in found.sql
    assert check_template(found.sql, schema).id == found.id


ODD_NAMES = st.text(st.characters(exclude_characters="[]\0.", exclude_categories=("Cs", "Cc")), min_size=1, max_size=8)


@given(table=ODD_NAMES, columns=st.lists(ODD_NAMES, min_size=2, max_size=3, unique_by=str.casefold))
def test_names_are_quoted(table, columns):
    schema = Schema("sqlite", (Table(table, "thing", tuple(Column(c, "text", "word") for c in columns),
                                     names=(columns[0],)),))  # fmt: skip
    template = enumerate_templates(schema).templates[0]
    doubled = columns[1].replace('"', '""')

    assert template.sql.startswith(f'SELECT "{doubled}"\nFROM "')
    assert list(parameterized_sql(template).names) == [f"{table}.{columns[0]}"]


@given(value=st.text())
def test_text_is_filled_in_one_pass(value):
    columns = tuple(Column(name, "text", name) for name in "abc")
    schema = Schema("sqlite", (Table("t", "t", columns, names=("a", "b")),))
    template = enumerate_templates(schema).templates[0]

    assert fill_placeholders("[t.a]|[t.b]", template, {"t.a": "[t.b]" + value, "t.b": value}) == f"[t.b]{value}|{value}"
