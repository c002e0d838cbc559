"""The probabilities of letters are read from those of tokens, at the letter's place."""

import math
from typing import Any

import pytest

from ragtriage.judges.llm.options import Token
from ragtriage.judges.llm.reply_lines import Chances, chances_at, tokens_of_reply


def token(text: str, *others: tuple[str, float], own: float = 0.5, spelt: bytes | None = None) -> dict[str, Any]:
    alternatives = [{"token": other, "logprob": math.log(chance)} for other, chance in others]
    return {"token": text, "bytes": spelt and list(spelt), "logprob": math.log(own), "top_logprobs": alternatives}


def places(tokens: tuple[Token, ...], text: str) -> list[str]:
    return [text[max(0, one.start) : max(0, one.end)] for one in tokens]


@pytest.mark.parametrize(
    ("tokens", "text", "spelt"),
    [
        (["1", " Y", "\n", "2", " N"], "1 Y\n2 N", ["1", " Y", "\n", "2", " N"]),
        ([" ", "Y"], "Y", ["", "Y"]),
        (["Y", "<|im_end|>"], "Y", ["Y", ""]),
        (["<think>", "1 Y", "</think>", "\n", "1", " Y"], "1 Y", ["", "", "", "", "1", " Y"]),
        (["Y", " · größer", "!"], "Y · größer!", ["Y", " · größer", "!"]),
        (["1", " Y"], "something else", []),
        ([], "1 Y", []),
    ],
)
def test_tokens_have_their_places_in_the_text(tokens: list[str], text: str, spelt: list[str]) -> None:
    assert places(tokens_of_reply([token(one) for one in tokens], text), text) == spelt


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
