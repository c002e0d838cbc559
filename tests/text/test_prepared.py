"""What of a response is judged, and where that stands in it: without thoughts, marks, JSON and words for no answer."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from ragtriage import Case, Source
from ragtriage.text.claims import split_claims
from ragtriage.text.prepared import prepared, thought_spans
from ragtriage.text.segments import segments_of, unsegmented_reason

SOURCES = ("Tenants of Pell House may keep one cat.", "The laundry is in the basement.")
NAMES = ("docs/lease.pdf", "house-rules.md")


def case(response: str, query: str = "", sources: tuple[str, ...] = SOURCES, ids: tuple[str, ...] = ()) -> Case:
    named = ids or (None,) * len(sources)
    return Case("c", query, tuple(Source(text, name) for text, name in zip(sources, named, strict=True)), response)


def claims(response: str, query: str = "") -> list[str]:
    return [c.text for c in split_claims(prepared(case(response, query)).text) if not c.remark]


@pytest.mark.parametrize("row", examples("prepared", "thoughts"))
def test_thoughts_are_no_part_of_the_answer(row: dict[str, Any]) -> None:
    assert prepared(case(row["response"])).text.strip() == row["answer"]


@given(
    st.lists(st.sampled_from(["<think>", "</think>", "A b c.", "\n", "`", "```", " so ", "<THINKING>"]), max_size=20)
)
def test_thoughts_are_apart_and_in_order(pieces: list[str]) -> None:
    text = "".join(pieces)
    at = 0
    for start, end in thought_spans(text):
        assert at <= start < end <= len(text)
        at = end


@pytest.mark.parametrize("row", examples("prepared", "marks"))
def test_a_mark_that_names_a_document_is_no_part_of_a_claim(row: dict[str, Any]) -> None:
    for said in (f"one cat {row['mark']}. They", f"one cat. {row['mark']} They"):
        answered, unnamed = (case(f"They may keep {said} pay rent.", ids=ids) for ids in (NAMES, ()))
        assert prepared(answered).text == prepared(unnamed).text == "They may keep one cat. They pay rent."
        cited = [c for segment in segments_of(answered) or () for c in segment.citations]
        assert [(c.name, c.sources) for c in cited] == [(row["name"], (0,))]
        assert unsegmented_reason(unnamed) == "nothing"  # nobody can tell what it cites


def test_several_names_and_the_last_line_cite_each_source() -> None:
    for response in (
        "They may keep one cat (Sources: lease.pdf, house-rules.md).",
        "They may keep one cat. Source: lease.pdf, House rules",
        "They may keep one cat.\n\n**Sources:** lease.pdf; house-rules.md",
    ):
        answered = case(response, ids=NAMES)
        assert prepared(answered).text.strip() == "They may keep one cat."
        found = {at for s in segments_of(answered) or () for c in s.citations for at in c.sources}
        assert found == {0, 1}, response


@pytest.mark.parametrize("row", examples("prepared", "stays"))
def test_names_of_files_that_are_spoken_of_and_what_is_no_json_stay(row: dict[str, Any]) -> None:
    assert prepared(case(row["response"])).text == row["response"]


@pytest.mark.parametrize("row", examples("prepared", "json"))
def test_json_is_read_field_by_field(row: dict[str, Any]) -> None:
    assert claims(row["response"], row.get("query", "")) == row["said"]


@pytest.mark.parametrize("row", examples("prepared", "places"))
def test_places_are_those_of_the_response(row: dict[str, Any]) -> None:
    found = prepared(case(row["response"]))
    spans = [found.placed(c).span or (0, 0) for c in split_claims(found.text)]
    assert [row["response"][slice(*span)] for span in spans] == row["quotes"]
    assert spans == sorted(spans)


@pytest.mark.parametrize("row", examples("prepared", "no answer"))
def test_words_for_no_answer_say_nothing_unless_a_source_says_so(row: dict[str, Any]) -> None:
    kept = prepared(case(row["response"], row["query"], (row["source"],))).text
    assert kept == ("" if row["empty"] else row["response"])


def test_a_criterion_sees_marks_and_json() -> None:
    assert prepared(case("<think>Hm.</think>Cats may stay [1].")).answer == "Cats may stay [1]."
    assert prepared(case('{"fee": 8}')).answer == '{"fee": 8}'
