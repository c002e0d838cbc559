"""Lines of a reply are read where they can be read in one way only."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from ragtriage.judges.llm.options import MalformedReply, Token
from ragtriage.judges.llm.reply_lines import Chances, chances_at, read_lines, tokens_of_reply


@pytest.mark.parametrize("row", examples("reply_lines", "letters"))
def test_letters_are_read(row: dict[str, Any]) -> None:
    found = read_lines(row["text"], 3, ())
    assert {str(number): letter.value for number, letter in found.letters.items()} == row["letters"]
    assert all(row["text"][letter.place] in "YyNnUu" for letter in found.letters.values())


@pytest.mark.parametrize("row", examples("reply_lines", "reason and quote"))
def test_a_reason_and_a_quote_stand_behind_the_letter(row: dict[str, Any]) -> None:
    letter = read_lines(row["line"], 1, ()).letters[1]
    assert (letter.value, letter.why, letter.quote) == ("no", row["why"], row["quote"])


@pytest.mark.parametrize("row", examples("reply_lines", "lists"))
@pytest.mark.parametrize("letters", ["before", "behind"])
def test_lists_stand_under_their_names(letters: str, row: dict[str, Any]) -> None:
    said = f"1 Y\n2 N · why\n\n{row['text']}" if letters == "before" else f"{row['text']}\n1 Y\n2 N · why"
    found = read_lines(said, 2, {"claims", "remarks"})
    assert found.lists == dict(zip(("claims", "remarks"), row["lists"], strict=True))
    assert {number: letter.value for number, letter in found.letters.items()} == {1: "yes", 2: "no"}


@pytest.mark.parametrize("row", examples("reply_lines", "two ways"))
def test_what_could_be_read_in_two_ways_is_not(row: dict[str, Any]) -> None:
    with pytest.raises(MalformedReply):
        read_lines(row["text"], 3, {"claims"})


@given(st.text(st.sampled_from('12 YNUyn·-:"\n.claims')), st.integers(0, 3))
def test_whatever_is_said_is_read_or_malformed(text: str, numbers: int) -> None:
    try:
        found = read_lines(text, numbers, {"claims"})
    except MalformedReply:
        return
    assert set(found.letters) <= set(range(1, numbers + 1))
    assert set(found.lists) <= {"claims"}


def token(text: str, *others: tuple[str, float], own: float = 0.5, spelt: bytes | None = None) -> dict[str, Any]:
    alternatives = [{"token": other, "logprob": math.log(chance)} for other, chance in others]
    return {"token": text, "bytes": spelt and list(spelt), "logprob": math.log(own), "top_logprobs": alternatives}


def places(tokens: tuple[Token, ...], text: str) -> list[str]:
    return [text[max(0, one.start) : max(0, one.end)] for one in tokens]


@pytest.mark.parametrize("row", examples("reply_lines", "places of tokens"))
def test_tokens_have_their_places_in_the_text(row: dict[str, Any]) -> None:
    assert places(tokens_of_reply([token(one) for one in row["tokens"]], row["text"]), row["text"]) == row["spelt"]


def test_tokens_that_are_parts_of_a_character_are_told_by_their_bytes() -> None:
    dot = "·".encode()
    given = [token("N"), token("\ufffd", spelt=b" " + dot[:1]), token("\ufffd", spelt=dot[1:]), token(" why")]
    tokens = tokens_of_reply(given, "N · why")
    assert [(one.start, one.end) for one in tokens] == [(0, 1), (1, 2), (2, 3), (3, 7)]


def test_letters_are_summed_whatever_their_spaces_and_capitals() -> None:
    given = [
        token("1"),
        token(" Y", (" Y", 0.4), ("Y", 0.1), (" yes", 0.05), (" N", 0.2), ("U", 0.1), (" Maybe", 0.1), (":", 0.05)),
    ]
    chances = chances_at(tokens_of_reply(given, "1 Y"), 2)
    assert chances is not None
    assert (chances.yes, chances.no, chances.unknown) == pytest.approx((0.55, 0.2, 0.1))
    assert chances.mass == pytest.approx(0.85)
    assert chances.of_yes == pytest.approx(0.55 / 0.75)


def test_the_token_itself_counts_where_the_alternatives_leave_it_out() -> None:
    chances = chances_at(tokens_of_reply([token("N", ("Y", 0.25), own=0.75)], "N"), 0)
    assert chances == Chances(pytest.approx(0.25), pytest.approx(0.75), 0.0)


def test_unknown_is_the_likeliest_or_left_out() -> None:
    assert Chances(0.3, 0.2, 0.4).of_yes is None
    assert Chances(0.3, 0.3, 0.3).of_yes == 0.5
    assert Chances(0.0, 0.6, 0.4).of_yes == 0.0


def test_no_token_no_chances() -> None:
    assert chances_at((), 0) is None
    assert chances_at((Token(0, 2, ()),), 2) is None
