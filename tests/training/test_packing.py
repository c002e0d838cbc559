"""Readings as arrays: what is trained on is what the reader is given, and each label lies on the pieces it is about."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragtriage.judges.embedded import cross_encoder
from ragtriage.judges.embedded.encoder import MODEL, WordPieces

TEXT = "The fee is 2 euros. It is due on Friday, and the reader's café opens at 9:30."
LETTERS = {
    "": None, "c": "clause", "p": "predicate", "r": "relative", "a": "complement", "l": "item", "e": "rest",
    "m": "remark",
}  # fmt: skip


def module(name: str) -> Any:
    return importlib.import_module(name)


def pair(**more: Any) -> Any:
    return module("pairs").Pair("When is it due?", TEXT, **more)


def shown(packed: Any, number: int, low: int, high: int) -> str:
    """Some pieces of a reading as text."""
    pieces = WordPieces(MODEL / "vocab.txt").pieces
    start = packed.starts[number]
    return " ".join(pieces[i] for i in packed.pieces[start + low : start + high])


def test_the_judge_reads_what_was_trained() -> None:
    arrays = module("arrays")

    assert (arrays.HEADS, arrays.KINDS) == (cross_encoder.HEADS, cross_encoder.KINDS)
    assert tuple(LETTERS[letter] for letter in arrays.CUTS) == cross_encoder.CUTS
    assert (arrays.LENGTH, arrays.FIRST) == (cross_encoder.LENGTH, cross_encoder.FIRST)


@pytest.mark.parametrize("text", [TEXT, "Ümlaut — “quoted” 3.5 t, e.g. naïve 你好!", "x" * 300, "", "A.  B\n\nC"])
def test_a_text_is_broken_into_the_pieces_that_the_judge_sees(text: str) -> None:
    pieces = WordPieces(MODEL / "vocab.txt")
    packed = module("packed").pack([module("pairs").Pair("When?", text)])

    second = packed.pieces[packed.second[0] : -1].tolist()

    assert (
        second
        == [i for token in cross_encoder._TOKEN.findall(text) for i in pieces.of_token(token)][: cross_encoder.LENGTH]
    )
    assert packed.pieces[: packed.second[0]].tolist() == pieces.encode("When?", cross_encoder.FIRST)


def test_a_target_lies_on_the_pieces_of_its_words() -> None:
    at = TEXT.index("It is due")
    one = pair(targets=[("answered", 0, len(TEXT), 1, 1.0), ("needed", at, at + 19, 0, 0.3)])
    packed = module("packed").pack([pair(), one])

    assert packed.first_target.tolist() == [0, 0, 2]
    assert [module("arrays").HEADS[head] for head in packed.head] == ["answered", "needed"]
    assert shown(packed, 1, *packed.span[1]) == "it is due on friday"
    assert packed.label.tolist() == [1.0, 0.0]
    assert packed.weight.tolist() == pytest.approx([1.0, 0.3])


def test_a_target_behind_the_end_of_what_is_read_is_left_out() -> None:
    long = "word " * 400 + "end."
    one = module("pairs").Pair("When?", long, [("needed", len(long) - 4, len(long), 1, 1.0)])
    packed = module("packed").pack([one])

    assert len(packed.pieces) == module("arrays").LENGTH
    assert packed.first_target.tolist() == [0, 0]


def test_tags_lie_on_the_pieces_of_their_words() -> None:
    text, marks = module("marks").parsed("~The fee~ is due ^a on @Friday@^r , a holiday. ^d Nothing more is said.")
    arrays = module("arrays")
    packed = module("packed").pack([module("pairs").Pair("When?", text, marks=marks)])
    begin, tags = int(packed.second[0]), packed.tags

    def under(column: int, value: int) -> str:
        return " ".join(shown(packed, 0, at, at + 1) for at in np.flatnonzero(tags[:, column] == value))

    assert under(0, arrays.KINDS.index("declines")) == "nothing more is said ."
    assert under(1, arrays.CUTS.index("a")) == "on"
    assert under(1, arrays.CUTS.index("r")) == ","
    assert under(1, arrays.CUTS.index("m")) == "nothing"
    assert under(2, 1) == "the fee"
    assert under(3, 1) == "friday"
    assert (tags[:begin, :4] == arrays.UNKNOWN).all()
    assert (tags[-1] == arrays.UNKNOWN).all()


def test_a_remark_of_a_natural_case_may_be_one_that_declines() -> None:
    arrays = module("arrays")
    kinds = [(0, 20, "claim"), (20, len(TEXT), "remark")]
    packed = module("packed").pack([pair(marks={"kinds": kinds}), pair(marks={"kinds": kinds, "soft": True})])

    either, told = (packed.tags[a:b, 0] for a, b in zip(packed.starts[:-1], packed.starts[1:], strict=True))
    assert arrays.EITHER in either
    assert arrays.KINDS.index("remark") not in either
    assert arrays.EITHER not in told
    assert (packed.tags[:, 1:4] == arrays.UNKNOWN).all()


def test_it_is_told_of_a_claim_which_pieces_say_otherwise_where_that_is_known() -> None:
    arrays, made = module("arrays"), module("pairs").Pair
    packed = module("packed").pack([made("It is due on Friday.", TEXT, altered=[(13, 19)]), made("It is due.", TEXT)])

    first = packed.tags[: packed.second[0], 4]
    (at,) = map(int, np.flatnonzero(first == 1))
    assert shown(packed, 0, at, at + 1) == "friday"
    assert (packed.tags[packed.starts[1] :, 4] == arrays.UNKNOWN).all()


def test_twins_keep_one_number_and_all_is_read_again(tmp_path: Path) -> None:
    packed = module("packed").pack([pair(twin=7, split="held"), pair(twin=7), pair(), pair(twin=3, origin="made")])
    packed.save(tmp_path / "packed.npz")

    again = module("arrays").Packed.load(tmp_path / "packed.npz")

    assert packed.twin.tolist() == [0, 0, -1, 1]
    for name in module("arrays").Packed.__slots__:
        assert np.array_equal(getattr(packed, name), getattr(again, name)), name
    assert packed.starts[-1] == len(packed.pieces)
