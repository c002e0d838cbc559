"""Atomic claims from marks that are made by hand: each part stands by itself, and doubtful marks change nothing."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from ragtriage.core.verdicts import Span
from ragtriage.text.claim_parts import Cut, Marks, PartKind, parts_of
from ragtriage.text.claims import split_claims

LETTERS: dict[str, Cut] = {
    "c": "clause", "p": "predicate", "r": "relative", "a": "complement", "l": "item", "e": "rest", "m": "remark",
}  # fmt: skip
_MARK = re.compile(r"\^([cpralemd])|~|@")


def marked(text: str) -> tuple[str, Marks]:
    """The plain text and its marks: `^` and a letter where a part begins, a subject in ~ ~, a noun in @ @.

    A part is a remark behind `^m` and declines behind `^d`, else a claim.
    """
    plain, at = "", 0
    cuts: list[tuple[int, Cut]] = []
    borders: list[tuple[int, PartKind]] = [(0, "claim")]
    spans: dict[str, list[Span]] = {"~": [], "@": []}
    begun: dict[str, int] = {}
    for match in _MARK.finditer(text):
        plain += text[at : match.start()]
        at = match.end()
        if letter := match[1]:
            if plain:
                cuts.append((len(plain), "remark" if letter == "d" else LETTERS[letter]))
            kinds: dict[str, PartKind] = {"m": "remark", "d": "declines"}
            borders.append((len(plain), kinds.get(letter, "claim")))
        elif match[0] in begun:
            spans[match[0]].append((begun.pop(match[0]), len(plain)))
        else:
            begun[match[0]] = len(plain)
    plain += text[at:]
    ends = [*(place for place, _ in borders[1:]), len(plain)]
    kinds_of = tuple((start, end, kind) for (start, kind), end in zip(borders, ends, strict=True))
    return plain, Marks(tuple(cuts), tuple(spans["~"]), tuple(spans["@"]), kinds_of)


def claims(text: str) -> list[str]:
    """The claims of one sentence; remarks are in brackets."""
    plain, marks = marked(text)
    return [p.text if p.kind == "claim" else f"[{p.kind}: {p.text}]" for p in parts_of(plain, marks, 0, len(plain))]


@pytest.mark.parametrize("row", examples("atomic"))
def test_each_part_stands_by_itself_if_it_can_and_is_never_lost(row: dict[str, Any]) -> None:
    assert claims(row["text"]) == row["found"]


def test_a_sentence_without_marks_is_itself() -> None:
    text = "  The mill, built in 1890, is owned by the city.  "

    (part,) = parts_of(text, Marks(), 0, len(text))

    assert (part.text, part.span, part.kind) == (text.strip(), (0, len(text)), "claim")


def test_marks_of_another_sentence_do_not_count() -> None:
    plain, marks = marked("~The mill~ was built ^ain 1890 ^aby Ada. It is red.")
    start = plain.index("It is red.")

    (part,) = parts_of(plain, marks, start, len(plain))

    assert part.text == "It is red."


def test_a_response_is_cut_as_it_is_marked_and_pronouns_are_filled_in() -> None:
    plain, marks = marked("~The Larkhall Tower~ was completed ^ain 1896 ^aby Ada Morrow. It has 204 steps.")

    found = split_claims(plain, marker=lambda query, text: marks if text == plain else Marks())

    assert [c.text for c in found] == [
        "The Larkhall Tower was completed in 1896.",
        "The Larkhall Tower was completed by Ada Morrow.",
        "The Larkhall Tower has 204 steps.",
    ]
    assert [plain[slice(*c.span)].strip() for c in found if c.span] == [
        "in 1896", "by Ada Morrow.", "It has 204 steps.",
    ]  # fmt: skip


def test_a_question_is_no_claim_whatever_is_marked() -> None:
    (found,) = split_claims("Shall I look it up for you?", marker=lambda query, text: Marks())

    assert found.remark


WORDS = st.sampled_from(
    "The mill Nova Lind was built in 1890 and , ; who which ( ) – . I don't know 12 € a é 你".split()
)
TEXT = st.lists(WORDS, min_size=1, max_size=25).map(" ".join)


@st.composite
def texts_with_marks(draw: st.DrawFn) -> tuple[str, Marks]:
    text = draw(TEXT)
    place = st.sampled_from(sorted({0, len(text), *(at for m in re.finditer(r"\S+", text) for at in m.span())}))
    span = st.tuples(place, place).map(lambda both: (min(both), max(both)))
    begins = st.sampled_from([m.start() for m in re.finditer(r"\S+", text)])
    cuts = draw(st.lists(st.tuples(begins, st.sampled_from(list(LETTERS.values()))), max_size=6))
    kinds: st.SearchStrategy[PartKind] = st.sampled_from(["claim", "remark", "declines"])
    stretches = [(start, end, draw(kinds)) for start, end in draw(st.lists(span, max_size=4).map(sorted))]
    spans = st.lists(span, max_size=4).map(sorted)
    return text, Marks(tuple(sorted(cuts)), tuple(draw(spans)), tuple(draw(spans)), tuple(stretches))


@given(both=texts_with_marks())
def test_whatever_is_marked_the_parts_lie_in_the_sentence(both: tuple[str, Marks]) -> None:
    text, marks = both
    for part in parts_of(text, marks, 0, len(text)):
        start, end = part.span
        assert 0 <= start < end <= len(text)


@given(both=texts_with_marks())
def test_whatever_is_marked_a_response_is_split(both: tuple[str, Marks]) -> None:
    text, marks = both
    for component in split_claims(text, marker=lambda query, shown: marks):
        assert component.span is not None
        assert 0 <= component.span[0] < component.span[1] <= len(text)
        assert component.text.strip()


@given(text=TEXT)
def test_where_nothing_is_marked_nothing_is_lost(text: str) -> None:
    (part,) = parts_of(text, Marks(), 0, len(text))

    assert part.text == text.strip()


@given(both=texts_with_marks())
def test_no_word_of_a_sentence_is_lost_but_what_joins_its_parts(both: tuple[str, Marks]) -> None:
    text, marks = both
    kept = " ".join(part.text for part in parts_of(text, marks, 0, len(text))).lower()
    for word in re.findall(r"(?<!\w)(?:mill|nova|lind|built|1890|12|don't|know)(?!\w)", text.lower()):
        assert word in kept
