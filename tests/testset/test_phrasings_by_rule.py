"""Phrasings by rule: every criterion on every shape, and how they read."""

import random
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache

import pytest
from ferry_schema import SCHEMA, TEMPLATES, template

from ragtriage.core.errors import ConfigError
from ragtriage.testset.generation.phrasing import CRITERIA, NAMES, PhrasingResult, criteria_named, phrase
from ragtriage.testset.generation.phrasing.criteria import SLOT, edits_between, words_in
from ragtriage.testset.generation.phrasing.nouns import article, plural
from ragtriage.testset.generation.phrasing.questions import wordings_of
from ragtriage.testset.generation.phrasing.rule_phrasing import AROUND, REASONS, with_typos

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
        "from ferry_schema import SCHEMA, TEMPLATES; from ragtriage.testset.generation.phrasing import phrase; "
        "print([one.text for one in phrase(SCHEMA, TEMPLATES, seed=7).texts])"
    )
    said = {
        subprocess.run(  # our own script
            [sys.executable, "-c", script],
            env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


@pytest.mark.parametrize(
    ("select", "placeholders", "question"),
    [
        ("sailor.hire_date", PERSON, f"When was {ANN} hired?"),
        ("sailor.birth_date", PERSON, f"When was {ANN} born?"),
        ("sailor.title", PERSON, f"What is {ANN}'s job title?"),
        ("sailor.email", PERSON, f"What is {ANN}'s email address?"),
        ("sailor.city", PERSON, f"Which city does {ANN} live in?"),
        ("sailor.salary", PERSON, f"How much does {ANN} earn?"),
        ("sailor.active", PERSON, f"Is {ANN} active?"),
        ("port.country", ("port.name",), "Which country is the port [port.name] in?"),
        ("port.opened", ("port.name",), "When did the port [port.name] open?"),
        ("port.population", ("port.name",), "How many people live in the port [port.name]?"),
        ("ship.architect", ("ship.name",), "Who designed the ship [ship.name]?"),
        ("ship.length", ("ship.name",), "How long is the ship [ship.name]?"),
        ("ship.price", ("ship.name",), "How much does the ship [ship.name] cost?"),
        ("ship.decks", ("ship.name",), "How many decks does the ship [ship.name] have?"),
        ("ship.num_of_cabin", ("ship.name",), "How many cabins does the ship [ship.name] have?"),
        ("ship.is_electric", ("ship.name",), "Is the ship [ship.name] electric?"),
        ("port.country", PERSON, f"Which country is {ANN}'s home port in?"),
        ("company.name", ("ship.name",), "Who owns the ship [ship.name]?"),
    ],
)
def test_plain_questions_are_what_people_ask(select: str, placeholders: tuple[str, ...], question: str) -> None:
    assert plain(template(select, *placeholders))[0] == question


def test_relations_are_named_both_ways_to_itself_and_over_a_bridge() -> None:
    assert f"When was {ANN}'s manager hired?" in {
        text for one in TEMPLATES if one.shape and one.shape.joined for text in plain(one)
    }
    counts = {text for one in TEMPLATES if one.shape and one.shape.aggregate == "count" for text in plain(one)}
    assert {
        f"How many sailors have {ANN} as their manager?",
        "How many sailors have [port.name] as their home port?",
        f"How many crews are linked to {ANN}?",
        "How many sailors are linked to the crew [crew.name]?",
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


@pytest.mark.parametrize(
    ("names", "own", "message"),
    [
        (["shrt"], [], "did you mean short"),
        (["short", "short"], [], "named twice"),
        ([], [" "], "--own is empty"),
    ],
)
def test_wrong_criteria_are_named(names: list[str], own: list[str], message: str) -> None:
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


@pytest.mark.parametrize(
    ("one", "many"),
    [
        ("city", "cities"),
        ("day", "days"),
        ("person", "people"),
        ("bus", "buses"),
        ("invoice line", "invoice lines"),
        ("salesperson", "salespeople"),
        ("axis", "axes"),
        ("headquarters", "headquarters"),
        ("staff", "staff"),
    ],
)
def test_plurals(one: str, many: str) -> None:
    assert plural(one) == many


def test_articles() -> None:
    assert [article(noun) for noun in ("album", "ship", "hour", "unit")] == ["an album", "a ship", "an hour", "a unit"]
