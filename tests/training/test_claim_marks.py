"""Marked responses: the plain text is what stands between the marks, and the marks lie where they stood."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

CLAIMS = sorted((Path(__file__).parents[2] / "training" / "authored" / "claims").glob("*.jsonl"))
ROWS = [json.loads(line) for path in CLAIMS for line in path.read_text("utf-8").rstrip("\n").split("\n")]


def parsed(marked: str) -> tuple[str, dict[str, Any]]:
    found: tuple[str, dict[str, Any]] = importlib.import_module("marks").parsed(marked)
    return found


def parts(marked: str) -> list[tuple[str, str]]:
    """Each part with its kind."""
    text, marks = parsed(marked)
    return [(text[start:end], kind) for start, end, kind in marks["kinds"]]


def test_marks_are_taken_out_and_their_places_told() -> None:
    text, marks = parsed("~The mill~ was built ^a in 1890 ^a by @Ada Morrow@^r , an architect.")

    assert text == "The mill was built in 1890 by Ada Morrow, an architect."
    assert [(text[place:].split()[0], letter) for place, letter in marks["cuts"]] == [
        ("in", "a"),
        ("by", "a"),
        (",", "r"),
    ]
    assert [text[slice(*span)] for span in marks["subjects"]] == ["The mill"]
    assert [text[slice(*span)] for span in marks["nouns"]] == ["Ada Morrow"]


def test_what_stands_behind_a_mark_of_a_remark_is_one_up_to_the_next_sentence_or_mark() -> None:
    assert parts("It is red. ^m I hope so. It is old.") == [
        ("It is red. ", "claim"), ("I hope so. ", "remark"), ("It is old.", "claim"),
    ]  # fmt: skip
    assert parts("^d The pages give no price ^c but ~it~ is cheap.") == [
        ("The pages give no price ", "declines"), ("but it is cheap.", "claim"),
    ]  # fmt: skip


def test_an_address_is_no_mark() -> None:
    text, marks = parsed("Write to ada@example.org or @Ben@^r , who answers.")

    assert text == "Write to ada@example.org or Ben, who answers."
    assert [text[slice(*span)] for span in marks["nouns"]] == ["Ben"]


@pytest.mark.parametrize("text", ["It costs 3.5 t. Dr. Lind said so. Fine", "One.\n\n- Two\n- Three", ""])
def test_sentences_end_where_the_text_does_and_before(text: str) -> None:
    found = importlib.import_module("marks").ends(text)

    assert found == sorted(set(found))
    assert found[-1] == len(text)
    assert not any(text[:end].endswith("Dr. ") for end in found)


def test_every_marked_response_is_well_formed() -> None:
    assert len(ROWS) == 1400
    for row in ROWS:
        text, marks = parsed(row["response"])
        assert not set("^~") & set(text), row["id"]
        places = [place for place, _ in marks["cuts"]]
        assert places == sorted(set(places)), row["id"]
        assert all(0 <= place < len(text) for place in places), row["id"]
        for start, end in (*marks["subjects"], *marks["nouns"]):
            assert text[start:end].strip(), row["id"]
        assert "".join(text[start:end] for start, end, _ in marks["kinds"]) == text, row["id"]
