"""How enumerated templates read where a column is a verb, a measure or a company's."""

import re

import pytest
from ferry_schema import SCHEMA as FERRIES
from ferry_schema import TEMPLATES

from ragtriage.testset.generation.phrasing import criteria_named, phrase
from ragtriage.testset.generation.phrasing.nouns import is_plural, plural, sort_of
from ragtriage.testset.generation.phrasing.questions import wordings_of
from ragtriage.testset.generation.query_templates import enumerate_templates, shown_value
from ragtriage.testset.generation.schema import Column, ColumnType, Schema, Table


def table(words: str, **types: ColumnType) -> Table:
    """A table whose rows have a name."""
    columns = (Column("name", "text", "name"), *(Column(n, t, n.replace("_", " ")) for n, t in types.items()))
    return Table(words, words, columns, ("name",), names=("name",))


def wordings(one: Table) -> list[tuple[str, str]]:
    """The direct questions after every column of a table, and their nouns."""
    schema = Schema("sqlite", (one,))
    return [(w.direct, w.noun) for t in enumerate_templates(schema).templates for w in wordings_of(schema, t)]


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("2025-12-05 00:00:00", "2025-12-05"),
        ("2025-12-05T00:00:00.000000", "2025-12-05"),
        ("2025-12-05 00:01:00", "2025-12-05 00:01:00"),
        ("00:00:00", "00:00:00"),
        (3.0, "3"),
        (True, "yes"),
    ],
)
def test_a_value_is_shown_as_people_write_it(value, shown):
    assert shown_value(value) == shown


@pytest.mark.parametrize(
    ("noun", "many"),
    [
        ("fee in euros", False), ("number of tracks", False), ("price per items", False), ("credits", True),
        ("hours per week", True), ("address", False), ("heads of state", True),
    ],
)  # fmt: skip
def test_the_number_of_a_noun_is_that_of_what_it_is_about(noun, many):
    assert is_plural(noun) is many


def test_the_plural_changes_what_the_noun_is_about():
    assert [plural(noun) for noun in ("head of state", "invoice line")] == ["heads of state", "invoice lines"]


def test_a_measure_in_euros_is_one():
    said = [direct for direct, _ in wordings(table("project", fee_in_euros="number"))]
    assert "What is the fee in euros of the project [project.name]" in said


@pytest.mark.parametrize("kind", ["date", "datetime", "text"])
@pytest.mark.parametrize(
    ("what", "column", "question", "noun"),
    [
        ("band", "founded", "When was the band [band.name] founded", "the founding date of the band [band.name]"),
        ("band", "date_founded", "When was the band [band.name] founded", "the founding date of the band [band.name]"),
        ("pilot", "born", "When was [pilot.name] born", "[pilot.name]'s date of birth"),
        ("pilot", "joined", "When did [pilot.name] join", "[pilot.name]'s joining date"),
        ("order", "placed", "When was the order [order.name] placed", "the date of the order [order.name]"),
    ],
)
def test_a_verb_is_never_a_noun(what, column, question, noun, kind):
    if kind == "text" and column == "date_founded":
        return  # a text of this name may be anything
    found = wordings(table(what, **{column: kind}))
    assert found[0] == (question, noun)
    verb = column.removeprefix("date_")
    assert not any(f"the {verb} of" in text or f"'s {verb}" in text for pair in found for text in pair)


def test_other_verbs_and_years_are_asked_for_as_verbs_alone():
    said = wordings(table("ship", scrapped="date", founded="integer"))
    assert ("When was the ship [ship.name] scrapped", "the date on which the ship [ship.name] was scrapped") in said
    year = "the year in which the ship [ship.name] was founded"
    assert ("In which year was the ship [ship.name] founded", year) in said
    assert not any(f"the {verb} of" in text for pair in said for text in pair for verb in ("scrapped", "founded"))


def test_companies_are_based_somewhere_and_persons_live_there():
    company = table("client", city="text")
    person = table("client", city="text", birth_date="date")
    assert (sort_of(company), sort_of(person)) == ("thing", "person")
    assert wordings(company)[0][0] == "Which city is the client [client.name] based in"
    assert wordings(person)[0][0] == "Which city does [client.name] live in"


def test_no_phrasing_has_a_verb_where_a_noun_belongs():
    schema = Schema("sqlite", (table("band", founded="date"), table("order", placed="date")))
    texts = [one.text for one in phrase(schema, enumerate_templates(schema).templates, per_criterion=6).texts]
    assert len(texts) > 80
    assert not [text for text in texts if "the founded" in text or "the placed" in text or "founded of" in text]


def test_nobody_is_given_a_person_and_no_clause_ends_far_behind_its_subject():
    texts = [
        one.text
        for one in phrase(
            FERRIES, TEMPLATES, criteria_named(["directive", "formal", "indirect"]), per_criterion=8
        ).texts
    ]
    assert any("the name of" in text for text in texts)
    assert not [
        text for text in texts if re.search(r"(?:Give me|Show me|State|provide) [^ ]+(?: \S+)?'s manager[.?]", text)
    ]
    assert not [text for text in texts if re.search(r"\bwho the \w+ whose .* is[.?]$", text)]
    assert not [text for text in texts if "inform me" in text]
