"""Responses cut where their citation marks stand: a table of texts, and what holds for every text."""

import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import examples
from ragtriage import Case, Component, ConfigError, Source
from ragtriage.text.segments import segments_of, unrecognized_marks, unsegmented_reason

FIVE = tuple(Source(f"Source {i}.") for i in range(1, 6))


def case_of(text: str, ids: list[str] | None = None, own: str | None = None) -> Case:
    sources = tuple(Source(f"The text of {name}.", name) for name in ids) if ids else FIVE
    return Case("c", "What about fruit?", sources, text, citation_mark=own)


def shown(segment: Component) -> str:
    """`text|1,2+3,?7`: in brackets if it claims nothing; what it cites, from 1; with a ? what names nothing."""
    cited = ",".join(
        "+".join(str(at + 1) for at in citation.sources) or f"?{citation.name}" for citation in segment.citations
    )
    text = f"({segment.text})" if segment.remark else segment.text
    return f"{text}|{cited}" if cited else text


@pytest.mark.parametrize("row", examples("segments"))
def test_a_response_is_cut_where_its_marks_stand(row: dict[str, Any]) -> None:
    found = segments_of(case_of(row["text"], row.get("ids"), row.get("own")))

    assert (None if found is None else [shown(segment) for segment in found]) == row["segments"]


PIECES = (
    "Apples are red", "Pears", "the U.S. and 3.5 t", "It is old", "a[1]", "`x[2]`", "(see", ")", ". ", "! ", "? ", ", ",
    ": ", "\n", "\n\n", "\n- ", "\n1. ", "\n## ", "\n> ", "\n| a | b |\n|---|---|\n| c | d |\n",
    "\n```\ncode[1]\n```\n", " [1]", "[2]", " [1, 3]", "[2-4]", "[^1]", "【1】", "【2†source】", "[1](http://a.example)",
    "[x]", "[doc-1]", "[9]", "[", "]", "\n[^1]: note", "\nSources:\n", "**", "Ünïcödé 日本。", "\r\n", "\t",
)  # fmt: skip
TEXTS = st.one_of(st.lists(st.sampled_from(PIECES), max_size=25).map("".join), st.text(max_size=80))


@settings(max_examples=200)
@given(text=TEXTS)
@example(text="Apples are red\n> 【2†source】【1】: Apples are red")
def test_segments_stand_in_order_inside_the_text_and_apart(text: str) -> None:
    found = segments_of(case_of(text)) or ()

    at = 0
    for segment in found:
        assert segment.span is not None
        assert at <= segment.span[0] < segment.span[1] <= len(text)
        assert segment.text.strip()
        at = segment.span[1]


MARKS = st.sampled_from(["", "", " [1]", "[2]", " [1, 3]", " [2-4]", " [^1]", " 【1】", " [9]", " [1][2]"])
SENTENCE = st.tuples(MARKS, st.sampled_from([".", "!", "?"]), MARKS)
SHAPES = st.sampled_from(["{}", "- {}", "1. {}", "> {}", "| {} |", "{}:"])
BLOCKS = st.lists(st.tuples(SHAPES, st.lists(SENTENCE, min_size=1, max_size=4)) | st.just("heading"), max_size=6)


@settings(max_examples=150)
@given(made=BLOCKS)
def test_all_but_headings_and_marks_stands_in_exactly_one_segment(made: list[Any]) -> None:
    words, headings, parts = 0, 0, ["Word0 is cited [1]."]
    for block in made:
        if block == "heading":
            headings += 1
            parts.append(f"## Heading{headings}x [2]")
            continue
        shape, sentences = block
        said = []
        for before, stop, behind in sentences:
            words += 1
            said.append(f"Word{words}x is here{before}{stop}{behind}")
        parts.append(shape.format(" ".join(said)))
    text = "\n\n".join(parts)

    found = segments_of(case_of(text))

    assert found
    spans = [text[slice(*segment.span)] for segment in found if segment.span]
    assert [sum(f"Word{i}x" in span for span in spans) for i in range(1, words + 1)] == [1] * words
    assert not any(f"Heading{i}x" in span for span in spans for i in range(1, headings + 1))


@given(text=TEXTS, own=st.sampled_from([r"\((\d+)\)", r"\[(?P<name>[^\]]+)\]", "(red)"]))
def test_no_text_and_no_pattern_breaks_it(text: str, own: str) -> None:
    segments_of(case_of(text, ["doc-1", "doc-2", "1"], own))


@pytest.mark.parametrize("own", ["(", "x*", "red"])
def test_a_pattern_that_is_none_or_matches_nothing_or_has_no_group_is_refused(own: str) -> None:
    with pytest.raises(ConfigError, match="the citation mark"):
        segments_of(case_of("Apples are red [1].", own=own))


@pytest.mark.parametrize(
    "piece", ["[", "[1", "[1, ", "a[1] ", "`", "【1", "[^a]: b\n  ", "Sources:\n- a\n", "| a |\n", "\\["]
)
def test_long_texts_are_cut_quickly(piece: str) -> None:
    started = time.process_time()

    segments_of(case_of(piece * (40_000 // len(piece)) + " Apples are red [1]."))

    assert time.process_time() - started < 10


@pytest.mark.parametrize("row", examples("unread_marks"))
def test_it_is_told_why_a_response_is_not_cut_and_what_was_not_read(row: dict[str, Any]) -> None:
    case = case_of(row["text"])

    assert (unsegmented_reason(case), unrecognized_marks(case)) == (row["why"], tuple(row["left"]))
