"""Lines of a reply are read where they can be read in one way only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.judges.llm.options import MalformedReply
from ragtriage.judges.llm.reply_lines import read_lines

Y, N, U = "yes", "no", "unknown"

LETTERS = [
    ("1 Y\n2 N\n3 U", {1: Y, 2: N, 3: U}),
    ("1 y\n2 n\n3 u\n", {1: Y, 2: N, 3: U}),
    ("1 Yes\n2 NO\n3 Unknown", {1: Y, 2: N, 3: U}),
    ("3 U\n1 Y\n2 N", {1: Y, 2: N, 3: U}),
    ("1. Y\n2) N\n3: U", {1: Y, 2: N, 3: U}),
    ("**1** Y\n- 2 N\n| 3 | U |", {1: Y, 2: N, 3: U}),
    ("q1 Y\nQuestion 2: N\n#3 U.", {1: Y, 2: N, 3: U}),
    ("1 supported: Y\n2 supported: N\n3 answered: U", {1: Y, 2: N, 3: U}),
    ('1 "No dogs are allowed." Y\n2 "Yes." N', {1: Y, 2: N}),
    ("1 - Y\r\n2 · N\r\n\r\n3 `U`", {1: Y, 2: N, 3: U}),
    ("Here are my answers:\n1 Y\n2 N\nI hope this helps.", {1: Y, 2: N}),
    ("<think>1 N\n2 N</think>\n1 Y\n2 Y", {1: Y, 2: Y}),
    ("1 N because the ticket costs 15 euros for Y", {1: N}),
    ("1 No, it says 15 euros\n2 Yes - it says so", {1: N, 2: Y}),
    ("1 maybe\n2 N", {2: N}),
    ("1 No dogs are allowed there", {}),
    ("1 Y/N\n2", {}),
    ("1.5 Y\n1,5 N", {}),
    ("", {}),
    ('{"q1": {"verdict": "yes"}}', {}),
]


@pytest.mark.parametrize(("text", "letters"), LETTERS)
def test_letters_are_read(text: str, letters: dict[int, str]) -> None:
    found = read_lines(text, 3, ())
    assert {number: letter.value for number, letter in found.letters.items()} == letters
    assert all(text[letter.place] in "YyNnUu" for letter in found.letters.values())


@pytest.mark.parametrize(
    ("line", "why", "quote"),
    [
        ("1 N", "", ""),
        ('1 N · It costs 15 euros. · "costs 15 euros"', "It costs 15 euros.", "costs 15 euros"),
        ("1 N · It costs 15 euros. · “costs 15 euros”.", "It costs 15 euros.", "costs 15 euros"),
        ('1 N - It costs 15 euros. "costs 15 euros"', "It costs 15 euros.", "costs 15 euros"),
        ("1 N · It costs 15 euros.", "It costs 15 euros.", ""),
        ("1 N: It costs 15 euros.", "It costs 15 euros.", ""),
        ('1 N · "costs 15 euros"', "", "costs 15 euros"),
        ('1 N · It says "15" there.', 'It says "15" there.', ""),
        ('1 supported: N · why it is · ""', "why it is", ""),
        ('1 N · It costs 15 eur · "costs 15', 'It costs 15 eur · "costs 15', ""),
    ],
)
def test_a_reason_and_a_quote_stand_behind_the_letter(line: str, why: str, quote: str) -> None:
    letter = read_lines(line, 1, ()).letters[1]
    assert (letter.value, letter.why, letter.quote) == (N, why, quote)


@pytest.mark.parametrize(
    ("text", "lists"),
    [
        ("claims:\n- It is tall.\n- It is old.\nremarks:\n- Hm.", [["It is tall.", "It is old."], ["Hm."]]),
        ("**Claims:**\n* It is tall.\n\n## remarks: none", [["It is tall."], []]),
        ("claims:\n1. It is tall.\n2. It is old.\nremarks:\n- None.", [["It is tall.", "It is old."], []]),
        ("claims:\nIt is tall.\nIt is old.\nremarks:\n", [["It is tall.", "It is old."], []]),
        ("claims: It is tall.\nremarks: none", [["It is tall."], []]),
        ("claims\n- It is tall.\nremarks", [["It is tall."], []]),
        ("claims:\n- 3 Y\n- claims are tall: very\nremarks:\n", [["3 Y", "claims are tall: very"], []]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("letters", ["before", "behind"])
def test_lists_stand_under_their_names(text: str, lists: list[list[str]], letters: str) -> None:
    said = f"1 Y\n2 N · why\n\n{text}" if letters == "before" else f"{text}\n1 Y\n2 N · why"
    found = read_lines(said, 2, {"claims", "remarks"})
    assert found.lists == dict(zip(("claims", "remarks"), lists, strict=True))
    assert {number: letter.value for number, letter in found.letters.items()} == {1: Y, 2: N}


@pytest.mark.parametrize(
    "text",
    [
        "1 Y\n1 Y",
        "1 Y\n2 N\n1 N",
        "0 Y\n1 N",
        "1 Y\n4 N",
        "claims:\n- One.\nclaims:\n- Two.",
        "claims:\n- One.\nand more",
    ],
)
def test_what_could_be_read_in_two_ways_is_not(text: str) -> None:
    with pytest.raises(MalformedReply):
        read_lines(text, 3, {"claims"})


@given(st.text(st.sampled_from('12 YNUyn·-:"\n.claims')), st.integers(0, 3))
def test_whatever_is_said_is_read_or_malformed(text: str, numbers: int) -> None:
    try:
        found = read_lines(text, numbers, {"claims"})
    except MalformedReply:
        return
    assert set(found.letters) <= set(range(1, numbers + 1))
    assert set(found.lists) <= {"claims"}
