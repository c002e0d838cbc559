"""What holds for every text: spans, order, no lost word, no exception, time that grows with the text."""

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ragtriage.core.verdicts import Components
from ragtriage.text.claims import split_claims
from ragtriage.text.declines import declines
from ragtriage.text.questions import split_questions
from ragtriage.text.sentences import split_facts, split_sentences

SPLITS: list[Callable[[str], Components]] = [split_sentences, split_claims, split_facts, split_questions]
ANYTHING = st.text(alphabet=st.characters(), max_size=200)
"""Every character, NUL and lone surrogates too."""
_WORDS = """
The tower It They She was were is are built named in by and or but who which documents don't mention passages what when
how does queen the a an if Dr. 3.5 1. e.g. Larkhall Nova Lind , . ! ? ; : - * # | > ( ) " ' [1] ** ` 你好。 ¹
"""
WORDS = st.sampled_from([*_WORDS.split(), "\n", "\n\n", "\n- ", "\n| a | b |\n|---|---|\n", "```\n", "I don't know."])
TEXT_LIKE = st.lists(WORDS, max_size=60).map(" ".join)
TEXTS = ANYTHING | TEXT_LIKE
JOINERS = frozenset(
    "but and however though although yet while whereas so nevertheless as since it its they he she then later".split()
)
"""Words that a split may leave out: what joins two clauses, and pronouns that are filled in."""


@pytest.mark.parametrize("split", SPLITS)
@given(text=TEXTS)
@example(text="||`")
def test_spans_lie_in_the_text_and_in_order(split: Callable[[str], Components], text: str) -> None:
    at = 0
    for component in split(text):
        assert component.span is not None
        start, end = component.span
        assert 0 <= start < end <= len(text)
        assert start >= at
        assert component.text.strip()
        at = end


@given(text=TEXTS)
def test_a_sentence_is_its_span(text: str) -> None:
    for component in split_sentences(text):
        assert component.span is not None
        assert text[slice(*component.span)] == component.text


@given(text=TEXTS)
def test_the_same_text_gives_the_same_components(text: str) -> None:
    for split in SPLITS:
        assert split(text) == split(text)
    assert declines(text, text) == declines(text, text)


@given(text=TEXTS)
def test_claims_lose_no_word(text: str) -> None:
    kept = " ".join(c.text for c in split_claims(text)).lower()
    for word in re.findall(r"[a-z]{2,}", re.sub(r"```[^\n]*|<[^>]*>|\[[^\]]*\]|【[^】]*】", " ", text)):
        assert word in kept or word in JOINERS


@given(text=TEXTS)
def test_components_stay_in_bounds(text: str) -> None:
    for split in SPLITS:
        found = split(text)
        assert len(found) <= len(text)
        assert sum(len(c.text) for c in found) <= 40 * len(text) + 40


@given(text=TEXTS)
def test_a_query_with_a_question_mark_behind_a_word_asks(text: str) -> None:
    assert split_questions(f"What about {text.replace('?', ' ')} then?")


@given(text=TEXTS)
def test_a_verdict_is_yes_or_no_with_its_probability(text: str) -> None:
    verdict = declines("What does it cost?", text)
    assert verdict.value in {"yes", "no"}
    assert verdict.score is not None
    assert verdict.confidence == pytest.approx(max(verdict.score, 1 - verdict.score))


HARD = (
    "a", "(", "[", "“", "\"a ", "**", "`", "| a |\n", "- a\n", "[1]", "The A is and ", "? ", "I. ", " ",
    "\n", "no , ", "which ", "</p><!--", "</p><a href='", "<td>x</td>", "<br>&amp;",
)  # fmt: skip


@pytest.mark.parametrize("unit", HARD)
def test_time_grows_with_the_text(unit: str) -> None:
    text = unit * (50_000 // len(unit))
    begin = time.process_time()
    for split in SPLITS:
        split(text)
    assert time.process_time() - begin < 10, "half a second on an idle machine"
