"""Phrasings: every criterion on every shape, how they read, and texts of anybody held against their criterion."""

import random
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from ferry_schema import SCHEMA, TEMPLATES, template

from examples import examples
from ragtriage.core.errors import ConfigError
from ragtriage.testset.generation.phrasing.criteria import (
    CRITERIA,
    NAMES,
    SLOT,
    Refusal,
    Requirements,
    ValueLeakDetector,
    criteria_named,
    edits_between,
    words_in,
)
from ragtriage.testset.generation.phrasing.nouns import article, is_plural, plural, sort_of
from ragtriage.testset.generation.phrasing.questions import wordings_of
from ragtriage.testset.generation.phrasing.rule_phrasing import AROUND, REASONS, PhrasingResult, phrase, with_typos
from ragtriage.testset.generation.query_templates import enumerate_templates, shown_value
from ragtriage.testset.generation.schema import Column, ColumnType, Schema, Table

PERSON = ("sailor.first_name", "sailor.last_name")
ANN = "[sailor.first_name] [sailor.last_name]"


@cache
def phrased() -> PhrasingResult:
    """All that the rules say; only the worker that runs this file waits for it."""
    return phrase(SCHEMA, TEMPLATES, per_criterion=2, seed=7)


def by_criterion(name: str) -> list[str]:
    return [one.text for one in phrased().texts if one.criterion == name]


def plain(one: object) -> list[str]:
    return [f"{wording.direct}?" for wording in wordings_of(SCHEMA, one)]  # type: ignore[arg-type]


def test_every_template_has_phrasings_under_nearly_every_criterion() -> None:
    missing = {(one.template, one.criterion, one.reason) for one in phrased().without if "rules know" not in one.reason}
    assert {reason.partition(" (")[0] for _, _, reason in missing} <= {
        "it has more than 15 words",
        "its condition on ship.is_electric is a yes or a no, which has no value to name",
        "its condition on sailor.active is a yes or a no, which has no value to name",
    }
    assert len({one.template for one in phrased().texts}) >= len(TEMPLATES) - 2


@pytest.mark.parametrize("name", NAMES)
def test_placeholders_are_kept_each_once_and_none_is_added(name: str) -> None:
    wanted = {one.id: sorted(one.placeholders) for one in TEMPLATES}
    for one in phrased().texts:
        if one.criterion == name:
            assert sorted(SLOT.findall(one.text)) == wanted[one.template], one.text


def test_what_a_criterion_measures_holds() -> None:
    assert all(words_in(text, {}) <= 15 for text in by_criterion("short"))
    assert all(words_in(text, {}) >= 30 for text in by_criterion("long"))
    assert all(text.endswith("?") and text.count("?") == 1 for text in by_criterion("question"))
    assert not any("?" in text for name in ("directive", "indirect", "keywords") for text in by_criterion(name))
    assert not any(re.search(r"\w'(?:t|m|re|ve|ll)\b", text) for text in by_criterion("formal"))
    assert not any(re.search(r"\b(?:the|is|was|what|who|how)\b", text) for text in by_criterion("keywords"))
    assert all(len(re.findall(r"[.?!](?:\s|$)", text)) >= 3 for text in by_criterion("distracting"))
    for one in phrased().texts:
        if one.criterion == "typos":
            (known,) = [t for t in TEMPLATES if t.id == one.template]
            assert one.measures["edits"] == edits_between(one.text, plain(known))
            assert 1 <= one.measures["edits"] <= 8


def test_phrasings_of_one_criterion_differ() -> None:
    said = [(one.template, one.criterion, one.text) for one in phrased().texts]
    assert len(set(said)) == len(said)
    twice = [name for name in NAMES if len(by_criterion(name)) > 1.9 * len({one.template for one in phrased().texts})]
    assert {"long", "directive", "formal", "casual", "typos", "indirect", "distracting"} <= set(twice)


def test_the_same_seed_says_the_same_in_any_order_and_another_says_something_else() -> None:
    turned = phrase(SCHEMA, TEMPLATES[::-1], per_criterion=2, seed=7)
    assert sorted((one.template, one.criterion, one.text) for one in turned.texts) == sorted(
        (one.template, one.criterion, one.text) for one in phrased().texts
    )
    other = phrase(SCHEMA, TEMPLATES, per_criterion=2, seed=8)
    assert {one.text for one in other.texts} != {one.text for one in phrased().texts}


def test_nothing_depends_on_the_order_of_hashes() -> None:
    script = (
        "from ferry_schema import SCHEMA, TEMPLATES; "
        "from ragtriage.testset.generation.phrasing.rule_phrasing import phrase; "
        "print([one.text for one in phrase(SCHEMA, TEMPLATES[::3], seed=7).texts])"
    )
    environment = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "1"}
    said = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, check=True, text=True)

    assert said.stdout.strip() == str([one.text for one in phrase(SCHEMA, TEMPLATES[::3], seed=7).texts])


@pytest.mark.parametrize("row", examples("wording", "questions"))
def test_plain_questions_are_what_people_ask(row: dict[str, Any]) -> None:
    assert plain(template(row["select"], *row["placeholders"]))[0] == row["question"]


def test_relations_are_named_both_ways_to_itself_and_over_a_bridge() -> None:
    assert f"When was {ANN}'s manager hired?" in {
        text for one in TEMPLATES if one.shape and one.shape.joined for text in plain(one)
    }
    counts = {text for one in TEMPLATES if one.shape and one.shape.counted for text in plain(one)}
    assert {
        f"How many sailors have {ANN} as their manager?",
        "How many sailors have [port.name] as their home port?",
        f"How many crews are there linked to {ANN}?",
        "How many sailors are there linked to the crew [crew.name]?",
        "How many voyages are there for the ship [ship.name]?",
    } <= counts


def test_a_value_never_stands_in_a_phrasing() -> None:
    hired = template("sailor.hire_date", *PERSON)
    said = phrase(SCHEMA, [hired], criteria_named(["casual"]), per_criterion=8)
    assert any("Thx" in one.text for one in said.texts)
    values = {"sailor.last_name": ["Thx", "Hey", "Um"], "sailor.hire_date": ["2020-01-01"]}
    careful = phrase(SCHEMA, [hired], criteria_named(["casual"]), per_criterion=8, values=values)
    assert careful.texts
    assert not any(word in one.text for one in careful.texts for word in ("Thx", "Hey", "Um"))
    assert {one.reason for one in careful.refused} >= {"it says “thx”, which is a value"}


def test_a_placeholder_is_as_long_as_its_values() -> None:
    hired = template("sailor.hire_date", *PERSON)
    values = {"sailor.first_name": ["Ann"], "sailor.last_name": ["de la Cruz y Soto", "Of The Long Name Indeed"]}
    (one,) = phrase(SCHEMA, [hired], criteria_named(["short"]), values=values).texts
    assert one.text == f"When was {ANN} hired?"
    assert one.measures["words"] == 3 + 1 + 5


def test_what_rules_cant_word_is_told() -> None:
    bare = replace(TEMPLATES[0], shape=None)
    told = phrase(SCHEMA, [bare])
    assert not told.texts
    assert [(one.criterion, one.reason) for one in told.without] == [
        ("", "its SQL has no simple shape, so rules can't word it: give --judge, or write it yourself")
    ]
    child = phrase(SCHEMA, TEMPLATES[:1], criteria_named((), ["as a child would ask"]))
    assert [one.reason for one in child.without] == ["rules can't write it: give --judge"]
    with pytest.raises(ConfigError, match="--per-criterion 0: give at least 1"):
        phrase(SCHEMA, TEMPLATES, per_criterion=0)


def test_wrong_criteria_are_named() -> None:
    for names, own, message in (
        (["shrt"], [], "did you mean short"),
        (["short"] * 2, [], "named twice"),
        ([], [" "], "--own is empty"),
    ):
        with pytest.raises(ConfigError, match=message):
            criteria_named(names, own)
    assert criteria_named() == CRITERIA


def test_what_stands_around_a_question_could_never_be_its_answer() -> None:
    around = [text for texts in (*REASONS.values(), *AROUND.values()) for text in texts]
    assert len(around) > 30
    for text in around:
        assert not re.search(r"\d", text)
        names = [w for w in re.findall(r"(?<![.?!:] )(?<!^)\b[A-Z]\w*", text) if w not in {"I", "I'm"}]
        assert not names, text


def test_typing_mistakes_stay_out_of_placeholders_and_of_what_clings_to_them() -> None:
    text = f"What is {ANN}'s date of birth?"
    for seed in range(200):
        said = with_typos(text, random.Random(seed))
        assert f"{ANN}'s" in said
        assert said != text


@pytest.mark.parametrize("row", examples("wording", "plurals"))
def test_plurals(row: dict[str, Any]) -> None:
    assert plural(row["one"]) == row["many"]


def test_articles() -> None:
    assert [article(noun) for noun in ("album", "ship", "hour", "unit")] == ["an album", "a ship", "an hour", "a unit"]


def table(words: str, **types: ColumnType) -> Table:
    """A table whose rows have a name."""
    columns = (Column("name", "text", "name"), *(Column(n, t, n.replace("_", " ")) for n, t in types.items()))
    return Table(words, words, columns, ("name",), names=("name",))


def wordings(one: Table) -> list[tuple[str, str]]:
    """The direct questions after every column of a table, and their nouns."""
    schema = Schema("sqlite", (one,))
    return [(w.direct, w.noun) for t in enumerate_templates(schema).templates for w in wordings_of(schema, t)]


@pytest.mark.parametrize("row", examples("wording", "values"))
def test_a_value_is_shown_as_people_write_it(row: dict[str, Any]):
    assert shown_value(row["value"]) == row["shown"]


@pytest.mark.parametrize("row", examples("wording", "number of a noun"))
def test_the_number_of_a_noun_is_that_of_what_it_is_about(row: dict[str, Any]):
    assert is_plural(row["noun"]) is row["many"]


def test_a_measure_in_euros_is_one():
    said = [direct for direct, _ in wordings(table("project", fee_in_euros="number"))]
    assert "What is the fee in euros of the project [project.name]" in said


@pytest.mark.parametrize("row", examples("wording", "verbs"))
def test_a_verb_is_never_a_noun(row: dict[str, Any]) -> None:
    verb = row["column"].removeprefix("date_")
    for kind in row["types"]:
        found = wordings(table(row["table of"], **{row["column"]: kind}))
        assert found[0] == (row["question"], row["noun"])
        assert not any(f"the {verb} of" in text or f"'s {verb}" in text for pair in found for text in pair)


def test_other_verbs_and_years_are_asked_for_as_verbs_alone():
    said = wordings(table("ship", scrapped="date", founded="integer"))
    assert ("When was the ship [ship.name] scrapped", "the date on which the ship [ship.name] was scrapped") in said
    year = "the year in which the ship [ship.name] was founded"
    assert ("In which year was the ship [ship.name] founded", year) in said
    assert not any(f"the {verb} of" in text for pair in said for text in pair for verb in ("scrapped", "founded"))


def test_companies_are_based_somewhere_and_persons_live_there():
    company = table("client", city="text")
    person = replace(company, columns=(Column("name", "text", "last name"), *company.columns[1:]))
    assert (sort_of(company), sort_of(person)) == ("thing", "person")
    assert wordings(company)[0][0] == "Which city is the client [client.name] based in"
    assert wordings(person)[0][0] == "Which city does [client.name] live in"


def test_no_phrasing_has_a_verb_where_a_noun_belongs():
    schema = Schema("sqlite", (table("band", founded="date"), table("order", placed="date")))
    texts = [one.text for one in phrase(schema, enumerate_templates(schema).templates, per_criterion=6).texts]
    assert len(texts) > 80
    assert not [text for text in texts if "the founded" in text or "the placed" in text or "founded of" in text]


def test_nobody_is_given_a_person_and_no_clause_ends_far_behind_its_subject():
    wanted = criteria_named(["directive", "formal", "indirect"])
    said = "\n".join(one.text for one in phrase(SCHEMA, TEMPLATES, wanted, per_criterion=8).texts)
    assert "the name of" in said
    assert not re.search(r"(?:Give me|Show me|State|provide) [^ ]+(?: \S+)?'s manager[.?]", said)
    assert not re.search(r"\bwho the \w+ whose .* is[.?]$", said, re.MULTILINE)
    assert "inform me" not in said


SHIP = template("ship.length", "ship.name")
PLAIN = "How long is the ship [ship.name]?"
LONG = " ".join(["I have been asked about this more than once by somebody who is planning a trip,"] * 2)
HELD = Requirements(
    SHIP, (PLAIN,), {"ship.name": 3.0}, ValueLeakDetector({"ship.name": ["Sea Cloud"], "ship.length": ["120"]})
)


def verify(text: str, name: str) -> dict[str, float]:
    return HELD.verify(text, criteria_named([name])[0])


@pytest.mark.parametrize("row", examples("wording", "fulfilled"))
def test_what_fulfils_its_criterion_is_measured(row: dict[str, Any]) -> None:
    assert verify(row["text"], row["name"])["words"] > 0


@pytest.mark.parametrize("row", examples("wording", "refused"))
def test_what_doesnt_is_refused_with_the_reason(row: dict[str, Any]) -> None:
    with pytest.raises(Refusal, match=row["reason"]):
        verify(row["text"], row["name"])


def test_a_criterion_of_the_users_own_needs_the_placeholders_only() -> None:
    (own,) = criteria_named((), ["as a child would ask"])
    assert HELD.verify("Is [ship.name] this long or THIS long?", own)["words"] == 9
    with pytest.raises(Refusal, match="is missing"):
        HELD.verify("Is it long?", own)


def test_words_of_the_schema_and_function_words_are_no_leaks() -> None:
    leaks = ValueLeakDetector({"ship.name": ["Ship", "The", "Who Is It"]})
    held = Requirements(SHIP, (PLAIN,), {}, leaks, frozenset({"ship"}))
    assert held.verify("Who is it that built the ship [ship.name]?", criteria_named(["question"])[0])


@pytest.mark.parametrize("row", examples("wording", "edits"))
def test_edits(row: dict[str, Any]) -> None:
    assert edits_between(row["one"], [row["other"]]) == row["edits"]
    assert edits_between(row["one"], []) is None
