"""Readings as arrays: what is trained on is what the reader is given, and each mark and label lies on its pieces."""

from pathlib import Path
from typing import Any

import arrays
import marks
import numpy as np
import packed
import pairs
import pytest

from examples import rows_of
from ragtriage.judges.embedded import cross_encoder
from ragtriage.judges.embedded.encoder import MODEL, WordPieces

CLAIMS = sorted((Path(__file__).parents[2] / "training" / "authored" / "claims").glob("*.jsonl"))
ROWS = [row for path in CLAIMS for row in rows_of(path)]


def parts(marked: str) -> list[tuple[str, str]]:
    """Each part with its kind."""
    text, found = marks.parsed(marked)
    return [(text[start:end], kind) for start, end, kind in found["kinds"]]


def test_marks_are_taken_out_and_their_places_told() -> None:
    text, found = marks.parsed("~The mill~ was built ^a in 1890 ^a by @Ada Morrow@^r , an architect.")

    assert text == "The mill was built in 1890 by Ada Morrow, an architect."
    cuts = [(text[place:].split()[0], letter) for place, letter in found["cuts"]]
    assert cuts == [("in", "a"), ("by", "a"), (",", "r")]
    assert [text[slice(*span)] for span in found["subjects"]] == ["The mill"]
    assert [text[slice(*span)] for span in found["nouns"]] == ["Ada Morrow"]


def test_what_stands_behind_a_mark_of_a_remark_is_one_up_to_the_next_sentence_or_mark() -> None:
    assert parts("It is red. ^m I hope so. It is old.") == [
        ("It is red. ", "claim"), ("I hope so. ", "remark"), ("It is old.", "claim"),
    ]  # fmt: skip
    assert parts("^d The pages give no price ^c but ~it~ is cheap.") == [
        ("The pages give no price ", "declines"), ("but it is cheap.", "claim"),
    ]  # fmt: skip


def test_an_address_is_no_mark() -> None:
    text, found = marks.parsed("Write to ada@example.org or @Ben@^r , who answers.")

    assert text == "Write to ada@example.org or Ben, who answers."
    assert [text[slice(*span)] for span in found["nouns"]] == ["Ben"]


@pytest.mark.parametrize("text", ["It costs 3.5 t. Dr. Lind said so. Fine", "One.\n\n- Two\n- Three", ""])
def test_sentences_end_where_the_text_does_and_before(text: str) -> None:
    found = marks.ends(text)

    assert found == sorted(set(found))
    assert found[-1] == len(text)
    assert not any(text[:end].endswith("Dr. ") for end in found)


def test_every_marked_response_is_well_formed() -> None:
    assert len(ROWS) == 1400
    for row in ROWS:
        text, found = marks.parsed(row["response"])
        assert not set("^~") & set(text), row["id"]
        places = [place for place, _ in found["cuts"]]
        assert places == sorted(set(places)), row["id"]
        assert all(0 <= place < len(text) for place in places), row["id"]
        for start, end in (*found["subjects"], *found["nouns"]):
            assert text[start:end].strip(), row["id"]
        assert "".join(text[start:end] for start, end, _ in found["kinds"]) == text, row["id"]


TEXT = "The fee is 2 euros. It is due on Friday, and the reader's café opens at 9:30."
LETTERS = {
    "": None, "c": "clause", "p": "predicate", "r": "relative", "a": "complement", "l": "item", "e": "rest",
    "m": "remark",
}  # fmt: skip


def pair(**more: Any) -> Any:
    return pairs.Pair("When is it due?", TEXT, **more)


def shown(packed: Any, number: int, low: int, high: int) -> str:
    """Some pieces of a reading as text."""
    pieces = WordPieces(MODEL / "vocab.txt").pieces
    start = packed.starts[number]
    return " ".join(pieces[i] for i in packed.pieces[start + low : start + high])


def test_the_judge_reads_what_was_trained() -> None:
    assert (arrays.HEADS, arrays.KINDS) == (cross_encoder.HEADS, cross_encoder.KINDS)
    assert tuple(LETTERS[letter] for letter in arrays.CUTS) == cross_encoder.CUTS
    assert (arrays.LENGTH, arrays.FIRST) == (cross_encoder.LENGTH, cross_encoder.FIRST)


@pytest.mark.parametrize("text", [TEXT, "Ümlaut — “quoted” 3.5 t, e.g. naïve 你好!", "x" * 300, "", "A.  B\n\nC"])
def test_a_text_is_broken_into_the_pieces_that_the_judge_sees(text: str) -> None:
    pieces = WordPieces(MODEL / "vocab.txt")
    readings = packed.pack([pairs.Pair("When?", text)])

    second = readings.pieces[readings.second[0] : -1].tolist()

    assert (
        second
        == [i for token in cross_encoder._TOKEN.findall(text) for i in pieces.of_token(token)][: cross_encoder.LENGTH]
    )
    assert readings.pieces[: readings.second[0]].tolist() == pieces.encode("When?", cross_encoder.FIRST)


def test_a_target_lies_on_the_pieces_of_its_words() -> None:
    at = TEXT.index("It is due")
    one = pair(targets=[("answered", 0, len(TEXT), 1, 1.0), ("needed", at, at + 19, 0, 0.3)])
    readings = packed.pack([pair(), one])

    assert readings.first_target.tolist() == [0, 0, 2]
    assert [arrays.HEADS[head] for head in readings.head] == ["answered", "needed"]
    assert shown(readings, 1, *readings.span[1]) == "it is due on friday"
    assert readings.label.tolist() == [1.0, 0.0]
    assert readings.weight.tolist() == pytest.approx([1.0, 0.3])


def test_a_target_behind_the_end_of_what_is_read_is_left_out() -> None:
    long = "word " * 400 + "end."
    one = pairs.Pair("When?", long, [("needed", len(long) - 4, len(long), 1, 1.0)])
    readings = packed.pack([one])

    assert len(readings.pieces) == arrays.LENGTH
    assert readings.first_target.tolist() == [0, 0]


def test_tags_lie_on_the_pieces_of_their_words() -> None:
    text, found = marks.parsed("~The fee~ is due ^a on @Friday@^r , a holiday. ^d Nothing more is said.")
    readings = packed.pack([pairs.Pair("When?", text, marks=found)])
    begin, tags = int(readings.second[0]), readings.tags

    def under(column: int, value: int) -> str:
        return " ".join(shown(readings, 0, at, at + 1) for at in np.flatnonzero(tags[:, column] == value))

    assert under(0, arrays.KINDS.index("declines")) == "nothing more is said ."
    assert under(1, arrays.CUTS.index("a")) == "on"
    assert under(1, arrays.CUTS.index("r")) == ","
    assert under(1, arrays.CUTS.index("m")) == "nothing"
    assert under(2, 1) == "the fee"
    assert under(3, 1) == "friday"
    assert (tags[:begin, :4] == arrays.UNKNOWN).all()
    assert (tags[-1] == arrays.UNKNOWN).all()


def test_a_remark_of_a_natural_case_may_be_one_that_declines() -> None:
    kinds = [(0, 20, "claim"), (20, len(TEXT), "remark")]
    readings = packed.pack([pair(marks={"kinds": kinds}), pair(marks={"kinds": kinds, "soft": True})])

    either, told = (readings.tags[a:b, 0] for a, b in zip(readings.starts[:-1], readings.starts[1:], strict=True))
    assert arrays.EITHER in either
    assert arrays.KINDS.index("remark") not in either
    assert arrays.EITHER not in told
    assert (readings.tags[:, 1:4] == arrays.UNKNOWN).all()


def test_it_is_told_of_a_claim_which_pieces_say_otherwise_where_that_is_known() -> None:
    made = pairs.Pair
    readings = packed.pack([made("It is due on Friday.", TEXT, altered=[(13, 19)]), made("It is due.", TEXT)])

    first = readings.tags[: readings.second[0], 4]
    (at,) = map(int, np.flatnonzero(first == 1))
    assert shown(readings, 0, at, at + 1) == "friday"
    assert (readings.tags[readings.starts[1] :, 4] == arrays.UNKNOWN).all()


def test_twins_keep_one_number_and_all_is_read_again(tmp_path: Path) -> None:
    readings = packed.pack([pair(twin=7, split="held"), pair(twin=7), pair(), pair(twin=3, origin="made")])
    readings.save(tmp_path / "packed.npz")

    again = arrays.Packed.load(tmp_path / "packed.npz")

    assert readings.twin.tolist() == [0, 0, -1, 1]
    for name in arrays.Packed.__slots__:
        assert np.array_equal(getattr(readings, name), getattr(again, name)), name
    assert readings.starts[-1] == len(readings.pieces)
