"""SQLite, PostgreSQL and DuckDB alike: read only, limited, reflected, asked; odd values are just data."""

import time
from collections.abc import Iterator

import pytest

from library_database import COPIES, LINES, LOOK_ALIKE, ODD, library
from ragtriage.core.errors import InputError
from ragtriage.testset.generation.database import OpenedDatabase
from ragtriage.testset.generation.fillings import AnswerPolicies, FilledTemplate, Filling, FillingOptions, fill_template
from ragtriage.testset.generation.query_templates import enumerate_templates, fill_placeholders
from ragtriage.testset.generation.reflection import reflect
from ragtriage.testset.generation.schema import Schema
from ragtriage.testset.generation.sql_checks import check_template
from ragtriage.testset.generation.value_combinations import CombinationSampler


@pytest.fixture(scope="module", params=["sqlite", "duckdb", "postgresql"])
def place(request, tmp_path_factory) -> str:
    return library(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture
def database(place) -> Iterator[OpenedDatabase]:
    with OpenedDatabase(place) as opened:
        yield opened


def schema_of(database: OpenedDatabase) -> Schema:
    return reflect(database).schema


def fill(database: OpenedDatabase, sql: str, large: int = 100_000, **terms) -> FilledTemplate:
    schema = schema_of(database)
    sampler = CombinationSampler(database, schema, large=large)
    return fill_template(check_template(sql, schema), schema, sampler, database, FillingOptions(**terms))


def answers(found: FilledTemplate) -> dict[tuple[object, ...], object]:
    return {tuple(one.values.values()): one.answer for one in found.fillings}


def test_nothing_can_be_written(database):
    for sql in (
        "INSERT INTO shelf VALUES ('x', 9, 'x', 'x')", "DELETE FROM copy", "CREATE TABLE mine (a INTEGER)",
        "DROP TABLE copy",
    ):  # fmt: skip
        with pytest.raises(InputError):
            database.rows(sql)
        assert database.rows("SELECT COUNT(*) FROM copy") == [(len(COPIES),)]


def test_a_statement_is_cut_off_at_its_time_and_its_rows(place):
    with OpenedDatabase(place, seconds=0.3, most_rows=2) as database:
        begin = time.monotonic()
        with pytest.raises(InputError, match=r"longer than 0\.3 s"):
            database.rows(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000000) "
                "SELECT MAX(i) FROM n"
            )
        assert time.monotonic() - begin < 10
        assert len(database.rows("SELECT title FROM book")) == 2  # and can be asked again
        assert database.rows("SELECT 'a:b 5%' AS one WHERE 1 = :n", {"n": 1}) == [("a:b 5%",)]


def test_the_structure_is_found(database):
    schema = schema_of(database)
    tables = {table.name: table for table in schema.tables}

    assert list(tables) == ["author", "book", "copy", "shelf"]
    assert tables["author"].names == ("first_name", "last_name")
    assert tables["book"].names == ("title",)
    assert tables["shelf"].names == ("name",)
    assert tables["copy"].names == ()
    assert tables["shelf"].primary_key == ("room", "number")
    assert ("name",) in tables["shelf"].unique
    assert {fk.columns: (fk.table, fk.referred) for fk in tables["copy"].foreign_keys} == {
        ("room", "number"): ("shelf", ("room", "number")),
        ("book_id",): ("book", ("book_id",)),
    }
    assert tables["author"].foreign_keys[0].words == "mentor"
    types = {column.name: column.type for column in tables["book"].columns}
    assert [types[name] for name in ("title", "pages", "price", "in_print", "added")] == [
        "text", "integer", "number", "boolean", "datetime",
    ]  # fmt: skip
    assert [c.name for c in tables["author"].columns if not c.surrogate] == ["first_name", "last_name", "born"]


def test_odd_values_are_just_data(database):
    sql = "SELECT born FROM author WHERE first_name = [author.first_name] AND last_name = [author.last_name]"
    found = fill(database, sql)

    assert answers(found) == {
        ("Ada", "Finch"): "1950-02-01",
        ("Bo", ODD): "1971-12-24",
        ("Émile", "Štěpán 日本"): "1980-01-31",
    }
    assert found.counts["null"] == 1
    assert found.counts["product"] == 16
    mentors = fill(
        database,
        "SELECT a.first_name FROM author a JOIN author b ON b.mentor_id = a.author_id "
        "WHERE b.last_name = [author.last_name]",
    )
    assert answers(mentors) == {(ODD,): "Ada", (LOOK_ALIKE,): "Ada", ("Štěpán 日本",): "Bo"}


def test_a_value_that_looks_like_a_placeholder_is_not_filled_again(database):
    schema = schema_of(database)
    template = check_template(
        "SELECT born FROM author WHERE first_name = [author.first_name] AND last_name = [author.last_name]", schema
    )
    text = fill_placeholders(
        "Of [author.first_name] [author.last_name]?",
        template,
        {"author.first_name": LOOK_ALIKE, "author.last_name": LINES},
    )

    assert text == f"Of {LOOK_ALIKE} {LINES}?"


def test_answers_have_their_type(database):
    expected = {
        "pages": ("integer", 240), "price": ("number", 12.5), "in_print": ("yes/no", True),
        "added": ("date", "2020-05-01"),
    }  # fmt: skip
    for column, (kind, value) in expected.items():
        found = fill(database, f"SELECT {column} FROM book WHERE title = [book.title]")
        one = next(filling for filling in found.fillings if filling.values == {"book.title": "The Pier"})
        assert (one.answer_type, one.answer) == (kind, value)
        assert one.keys == {"book": {"book_id": 1}}
    added = fill(database, "SELECT added FROM book WHERE title = [book.title] AND pages = [book.pages]")
    assert answers(added)["Twice", 100] == "2020-05-02 14:30:00"
    assert {one.answer_type for one in added.fillings} == {"date", "datetime"}


def test_what_gives_no_single_answer_follows_the_policy(database):
    sql = "SELECT pages FROM book WHERE title = [book.title]"
    dropped = fill(database, sql)
    assert answers(dropped) == {("The Pier",): 240, ("Ünïcode",): 77}
    assert (dropped.counts["several"], dropped.counts["null"], dropped.counts["empty"]) == (1, 1, 1)

    kept = fill(database, sql, policies=AnswerPolicies("no-answer", "list", "no-answer"))
    assert {key: set(v) if isinstance(v, tuple) else v for key, v in answers(kept).items()} == {
        ("The Pier",): 240, ("Ünïcode",): 77, ("Twice",): {100, 120}, (LINES,): set(),
    }  # fmt: skip


def test_the_blind_product_asks_also_for_what_does_not_occur(database):
    sql = (
        "SELECT copies FROM copy JOIN book ON copy.book_id = book.book_id "
        "JOIN shelf ON copy.room = shelf.room AND copy.number = shelf.number "
        "WHERE book.title = [book.title] AND shelf.name = [shelf.name]"
    )
    occurring = fill(database, sql)
    product = fill(database, sql, combinations="product")

    assert (occurring.counts["occurring"], occurring.counts["tried"]) == (4, 4)
    assert product.counts["product"] == 4 * 3
    assert product.counts["none"] == 12 - 4
    assert answers(product) == answers(occurring)
    blind = fill(database, "SELECT MAX(price) FROM book WHERE pages < [book.pages]")
    assert blind.counts["tried"] > blind.counts["occurring"] == 0


def test_enumerated_templates_run_and_their_answers_are_single(database):
    schema = schema_of(database)
    found = enumerate_templates(schema, aggregates=True).templates
    sampler = CombinationSampler(database, schema)
    groups: dict[str, Filling] = {}
    for template in found:
        result = fill_template(template, schema, sampler, database, FillingOptions())
        assert result.problem == ""
        groups |= {one.group: one for one in result.fillings}
        for one in result.fillings:
            assert len(database.rows(one.sql, one.parameters)) == 1

    assert len(found) > 20
    assert len(groups) > 40
    counted = fill(
        database,
        "SELECT COUNT(copy.book_id) FROM copy JOIN book ON copy.book_id = book.book_id WHERE book.title = [book.title]",
    )
    assert answers(counted) == {("The Pier",): 2, ("Twice",): 1, ("Ünïcode",): 1}
    assert all(one.keys == {} for one in counted.fillings)


def test_what_belongs_to_several_of_one_name_is_not_counted_together(database):
    sql = (
        "SELECT COUNT(book.title) FROM book JOIN author ON book.author_id = author.author_id "
        "WHERE author.mentor_id = [author.mentor_id]"
    )
    found = fill(database, sql)

    assert answers(found) == {(2,): 2}
    assert found.counts["several"] == 1


def test_a_large_table_is_sampled_and_gives_the_same_answers(database):
    for sql in (
        "SELECT price FROM book WHERE title = [book.title]",
        "SELECT first_name FROM author JOIN book ON author.author_id = book.author_id WHERE title = [book.title]",
    ):
        whole = fill(database, sql)
        drawn = fill(database, sql, large=2, per_template=20)

        assert drawn.sampled
        assert not whole.sampled
        assert drawn.fillings
        assert set(answers(drawn).items()) <= set(answers(whole).items())
        assert drawn == fill(database, sql, large=2, per_template=20)


def test_what_is_cut_off_at_the_most_rows_is_never_a_single_answer(place):
    sql = "SELECT price FROM book WHERE title = [book.title]"
    with OpenedDatabase(place) as whole, OpenedDatabase(place, most_rows=2) as limited:
        true, schema = answers(fill(whole, sql)), schema_of(whole)
        sampler = CombinationSampler(limited, schema, large=2)
        drawn = fill_template(check_template(sql, schema), schema, sampler, limited, FillingOptions())

    assert drawn.sampled
    assert set(answers(drawn).items()) <= set(true.items())


def test_a_yes_or_a_no_is_never_a_list(database):
    sql = (
        "SELECT in_print FROM book JOIN author ON book.author_id = author.author_id "
        "WHERE first_name = [author.first_name]"
    )
    found = fill(database, sql, policies=AnswerPolicies(several="list"))

    assert answers(found) == {("Bo",): True, ("Cyd",): True}
    assert found.counts["several"] == 2


def test_a_question_never_holds_its_answer(database):
    sql = "SELECT colour FROM shelf WHERE name = [shelf.name] AND room = [shelf.room]"
    assert fill(database, sql).counts.get("echo", 0) == 0
    sql = (
        "SELECT author_2.last_name FROM author JOIN author author_2 ON author.author_id = author_2.author_id "
        "WHERE author.last_name = [author.last_name]"
    )
    found = fill(database, sql)

    assert (len(found.fillings), found.counts["echo"]) == (0, 4)
