"""Phrasings that anybody wrote, held against their query template and their criterion."""

import pytest
from ferry_schema import template

from ragtriage.testset.generation.phrasing.criteria import (
    Refusal,
    Requirements,
    ValueLeakDetector,
    criteria_named,
    edits_between,
)

SHIP = template("ship.length", "ship.name")
PLAIN = "How long is the ship [ship.name]?"
LONG = " ".join(["I have been asked about this more than once by somebody who is planning a trip,"] * 2)
HELD = Requirements(
    SHIP, (PLAIN,), {"ship.name": 3.0}, ValueLeakDetector({"ship.name": ["Sea Cloud"], "ship.length": ["120"]})
)


def verify(text: str, name: str) -> dict[str, float]:
    return HELD.verify(text, criteria_named([name])[0])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("short", PLAIN),
        ("long", f"{LONG} so how long is the ship [ship.name]?"),
        ("question", PLAIN),
        ("question", "Is [ship.name] a long ship?"),
        ("directive", "Tell me the length of the ship [ship.name]."),
        ("directive", "Please give me [ship.name]'s length."),
        ("formal", "Could you please tell me the length of the ship [ship.name]?"),
        ("casual", "hey, what's the length of [ship.name]?"),
        ("keywords", "[ship.name] ship length"),
        ("typos", "How lnog is the shp [ship.name]?"),
        ("indirect", "I wonder how long the ship [ship.name] is."),
        ("distracting", f"My tea has gone cold again today. {PLAIN} I need some fresh air."),
    ],
)
def test_what_fulfils_its_criterion_is_measured(name: str, text: str) -> None:
    assert verify(text, name)["words"] > 0


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("short", "How long is the ship?", r"the placeholder \[ship.name\] is missing"),
        ("short", "How long is [ship.name], the [ship.name]?", "stands there 2 times"),
        ("short", "How long is [ship.name] of [port.name]?", r"the query hasn't: \[port.name\]"),
        ("short", "How long is [ship.name] [sic?", "a square bracket"),
        ("short", "How long is [ship.name], the Sea Cloud?", "“sea cloud”, which is a value"),
        ("short", "How long is [ship.name], is it 120?", "“120”, which is a value"),
        ("short", " ", "it is empty"),
        ("short", "How long\nis [ship.name]?", "more than one line"),
        ("short", f"{LONG} [ship.name]?", r"more than 15 words \(3"),
        ("short", "I ask you. How long is [ship.name]?", "more than one sentence"),
        ("long", PLAIN, r"fewer than 30 words \(8\)"),
        ("question", "Tell me how long [ship.name] is.", "a question mark"),
        ("question", "The length of the ship [ship.name]?", "no question word"),
        ("directive", PLAIN, "it has a question mark"),
        ("directive", "How long the ship [ship.name] is.", "begin with a command"),
        ("formal", "Could you tell me what's the length of [ship.name]?", "a contraction"),
        ("formal", PLAIN, "no polite word"),
        ("casual", PLAIN, "neither a contraction nor a casual word"),
        ("keywords", "[ship.name] length?", "end of a sentence"),
        ("keywords", "length of the ship [ship.name]", "no search needs: the"),
        ("typos", PLAIN, r"by 1 to 8 letters \(0\)"),
        ("typos", "What length has got the big old ship [ship.name]?", "by 1 to 8 letters"),
        ("indirect", PLAIN, "it has a question mark"),
        ("indirect", "How long the ship [ship.name] is, I wonder.", "like a direct question"),
        ("distracting", PLAIN, "no context"),
        ("distracting", f"It is 5 degrees here and I am freezing. {PLAIN}", "the number 5"),
        ("distracting", "My tea has gone cold again today, and I need air. I ask about [ship.name].", "no question"),
    ],
)
def test_what_doesnt_is_refused_with_the_reason(name: str, text: str, reason: str) -> None:
    with pytest.raises(Refusal, match=reason):
        verify(text, name)


def test_a_criterion_of_the_users_own_needs_the_placeholders_only() -> None:
    (own,) = criteria_named((), ["as a child would ask"])
    assert HELD.verify("Is [ship.name] this long or THIS long?", own)["words"] == 9
    with pytest.raises(Refusal, match="is missing"):
        HELD.verify("Is it long?", own)


def test_words_of_the_schema_and_function_words_are_no_leaks() -> None:
    leaks = ValueLeakDetector({"ship.name": ["Ship", "The", "Who Is It"]})
    held = Requirements(SHIP, (PLAIN,), {}, leaks, frozenset({"ship"}))
    assert held.verify("Who is it that built the ship [ship.name]?", criteria_named(["question"])[0])


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [("abc", "abc", 0), ("abc", "acb", 1), ("abc", "abbc", 1), ("ship [a.b]", "shp [a.b]", 1), ("[a.b]", "[c.d]", 1)],
)
def test_edits(one: str, other: str, edits: int) -> None:
    assert edits_between(one, [other]) == edits
    assert edits_between(one, []) is None
