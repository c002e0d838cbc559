"""The reader: what it says of a pair depends on that pair alone, whatever its length, and its marks lie in the text."""

import random
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from examples import examples
from ragtriage.core.errors import JudgeError
from ragtriage.judges.embedded import cross_encoder
from ragtriage.judges.embedded.cross_encoder import (
    HEADS,
    LENGTH,
    CrossEncoder,
    Logits,
    TextPair,
    _windows,
    doubted_words,
    response_pair,
)
from ragtriage.judges.embedded.encoder import MODEL, WordPieces, open_model
from ragtriage.text.claims import split_claims

FILLER = "The harbour office keeps a list of all boats, and the list is read aloud on the first Monday of the month."
QUERY = "How tall is the lighthouse, and who built it?"
RESPONSE = (
    "The lighthouse was finished in 1889 by Ada Morrow. It is 38 metres tall and has 204 steps.\n\n"
    "- Tickets cost 6 euros\n- Children pay nothing\n\nThe sources don't say who owns it."
)
LONG = " ".join([FILLER] * 30 + ["Guests moor at the eastern pier."] + [FILLER] * 30)
ODD = [
    "",
    " ",
    "\x00",
    "?!",
    "…",
    "字" * 3000,
    "a" * 5000,
    "word " * 5000,
    "🙂",
    "a\u0301" * 50,
    "\ud800",
    "- \n- \n- ",
]


@pytest.fixture(scope="module")
def pieces() -> WordPieces:
    return WordPieces(MODEL / "vocab.txt")


@pytest.fixture(scope="module")
def reader(pieces: WordPieces) -> Iterator[CrossEncoder]:
    one = CrossEncoder(pieces)
    yield one
    one.close()


@pytest.fixture
def fresh(pieces: WordPieces) -> Iterator[CrossEncoder]:
    """One that has read nothing yet."""
    one = CrossEncoder(pieces, threads=1)
    yield one
    one.close()


def logits(found: Mapping[TextPair, Logits | Exception], pair: TextPair) -> Logits:
    said = found[pair]
    assert isinstance(said, Logits), said
    return said


def same(one: Logits, other: Logits) -> bool:
    arrays = np.array_equal(one.whole, other.whole) and np.array_equal(one.sentences, other.sentences)
    return arrays and one.otherwise == other.otherwise


def test_a_pair_says_the_same_beside_other_pairs_and_alone_and_in_any_order(
    reader: CrossEncoder, pieces: WordPieces
) -> None:
    pairs = [TextPair(f"The fee is {n} euros.", (FILLER,) * (n % 5 + 1)) for n in range(12)]
    together = reader.read([*pairs, *pairs])
    shuffled = list(pairs)
    random.Random(0).shuffle(shuffled)
    other = CrossEncoder(pieces, threads=1)

    assert set(together) == set(pairs)
    for pair in shuffled:
        assert same(logits(other.read([pair]), pair), logits(together, pair))
    other.close()


def test_what_was_read_is_remembered_and_the_same(fresh: CrossEncoder) -> None:
    pair = TextPair(QUERY, (FILLER, "The lighthouse is 38 metres tall."))

    first, second = (logits(fresh.read([pair]), pair) for _ in range(2))

    assert first is second


def test_there_is_a_logit_for_each_head_and_sentence(reader: CrossEncoder) -> None:
    pair = TextPair(QUERY, (FILLER, "The lighthouse is 38 metres tall.", "It is red."))

    said = logits(reader.read([pair]), pair)

    assert said.whole.shape == (len(HEADS),)
    assert said.sentences.shape == (3, len(HEADS))
    assert np.isfinite(said.sentences).all()
    assert np.isfinite(said.otherwise)


@pytest.mark.parametrize("text", [QUERY, LONG, "£53 isn't 3.5 km", "Zürich–Genève: 字", "a_b c"])
def test_the_word_doubted_most_is_as_doubtful_as_the_claim(reader: CrossEncoder, text: str) -> None:
    pair = TextPair(text, (FILLER,))

    said = logits(reader.read([pair]), pair)

    assert said.words.max() == said.otherwise


def test_an_invented_value_is_doubted_most(reader: CrossEncoder) -> None:
    pair = TextPair(
        "Boats at the eastern pier pay 12 euros a night.", ("Guests moor at the eastern pier for 9 euros a night.",)
    )

    assert "12" in doubted_words(pair.first, logits(reader.read([pair]), pair).words)


@pytest.mark.parametrize("row", examples("reader", "doubted words"))
def test_doubted_words_are_the_likeliest_with_neighbours_nearly_as_likely(row: dict[str, Any]) -> None:
    assert doubted_words(row["text"], np.array(row["words"], np.float32)) == row["doubted"]


@given(sizes=st.lists(st.integers(0, LENGTH), min_size=1, max_size=30), room=st.integers(80, LENGTH))
def test_windows_hold_all_sentences_in_order_and_each_fits_or_is_one_sentence(sizes: list[int], room: int) -> None:
    windows = list(_windows(sizes, room))

    assert [at for window in windows for at in window] == list(range(len(sizes)))
    assert all(len(window) == 1 or sum(sizes[at] for at in window) <= room for window in windows)


def test_of_a_text_in_several_windows_the_highest_counts_and_no_sentence_is_left_out(fresh: CrossEncoder) -> None:
    sentences = tuple(f"{FILLER} It is number {n}." for n in range(24))
    pair = TextPair(QUERY, sentences)
    room = LENGTH - len(fresh._pieces.encode(QUERY, LENGTH)) - 1
    sizes = [len(fresh._pieces.encode(sentence, 10_000)) - 2 for sentence in sentences]
    windows = [TextPair(QUERY, tuple(sentences[at] for at in window)) for window in _windows(sizes, room)]

    said, apart = logits(fresh.read([pair]), pair), [logits(fresh.read([one]), one) for one in windows]

    assert len(windows) > 2
    assert np.array_equal(said.whole, np.max([one.whole for one in apart], axis=0))
    assert np.array_equal(said.sentences, np.concatenate([one.sentences for one in apart]))
    assert said.otherwise == min(one.otherwise for one in apart)


@pytest.mark.parametrize("text", ODD)
def test_an_odd_text_is_read_and_marked(reader: CrossEncoder, text: str) -> None:
    for pair in (TextPair(text, (FILLER,)), TextPair(QUERY, (text,)), response_pair(text, text)):
        assert np.isfinite(logits(reader.read([pair]), pair).whole).all()
    reader.marks(text, text)


def test_a_pair_that_fails_fails_alone(pieces: WordPieces) -> None:
    class Choosy(WordPieces):
        def encode(self, text: str, longest: int) -> list[int]:
            if "3 euros" in text:
                raise MemoryError("no room for it")
            return super().encode(text, longest)

    good, bad = TextPair("The fee is 2 euros.", (FILLER,)), TextPair("The fee is 3 euros.", (FILLER,))
    choosy = CrossEncoder(Choosy(MODEL / "vocab.txt"))
    found = choosy.read([good, bad])
    choosy.close()

    assert isinstance(found[bad], MemoryError)
    assert np.isfinite(logits(found, good).whole).all()
    assert pieces


def test_a_model_that_several_threads_want_is_loaded_once(pieces: WordPieces, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Path] = []

    def slowly(path: Path) -> object:
        loaded.append(path)
        time.sleep(0.05)
        return open_model(path)

    monkeypatch.setattr(cross_encoder, "open_model", slowly)
    fresh = CrossEncoder(pieces)
    with ThreadPoolExecutor(4) as threads:
        marks = list(threads.map(lambda text: fresh.marks(QUERY, text), [RESPONSE, FILLER, "One.", "Two."]))
    fresh.close()

    assert len(marks) == 4
    assert len(loaded) == 1


TEXTS = st.lists(
    st.sampled_from(
        [*"The mill Ada was built in 1890 and , . ; - * ( ) € 你 é don't".split(), "\n", "\n\n- ", "**It**"]
    ),
    min_size=1,
    max_size=60,
).map(" ".join)


@settings(max_examples=40)
@given(text=TEXTS)
def test_marks_lie_inside_the_text_in_its_order(text: str) -> None:
    marks = shared().marks(QUERY, text)

    for spans in (marks.subjects, marks.nouns, [(start, end) for start, end, _ in marks.kinds]):
        assert all(0 <= start < end <= len(text) for start, end in spans)
        assert list(spans) == sorted(spans)
    places = [place for place, _ in marks.cuts]
    assert places == sorted(set(places))
    assert all(text[place : place + 1].strip() for place in places)


_SHARED: list[CrossEncoder] = []


def shared() -> CrossEncoder:
    """One for all examples of a property."""
    if not _SHARED:
        _SHARED.append(CrossEncoder(WordPieces(MODEL / "vocab.txt")))
    return _SHARED[0]


@pytest.mark.parametrize("text", [RESPONSE, LONG, "One.", ""])
def test_a_response_read_for_its_marks_says_what_it_says_as_a_pair(
    fresh: CrossEncoder, reader: CrossEncoder, text: str
) -> None:
    pair = response_pair(QUERY, text)
    fresh.marks(QUERY, text)

    assert same(logits(fresh.read([pair]), pair), logits(reader.read([pair]), pair))
    assert fresh._known.keys() == {pair}


def test_marks_of_a_long_response_reach_its_end(reader: CrossEncoder) -> None:
    marks = reader.marks(QUERY, LONG)

    assert marks.kinds[0][0] == 0
    assert marks.kinds[-1][1] == len(LONG)


def test_a_response_is_split_by_its_marks(reader: CrossEncoder) -> None:
    found = split_claims(RESPONSE, QUERY, marker=reader.marks)

    said = " ".join(c.text for c in found if not c.remark)
    assert "1889" in said
    assert "38 metres" in said
    assert any("who owns it" in c.text and c.remark for c in found)
    assert all(c.span and RESPONSE[slice(*c.span)].strip() for c in found)


def test_threads_are_let_go(pieces: WordPieces) -> None:
    one = CrossEncoder(pieces)
    one.read([TextPair(QUERY, (FILLER,))])
    own = set(one._pool._threads)
    one.close()

    assert own
    assert not own & set(threading.enumerate())


def test_a_model_that_cannot_be_loaded_is_said_with_its_file(pieces: WordPieces) -> None:
    with pytest.raises(JudgeError, match=r"nowhere\.onnx can't be loaded.*install its package again"):
        CrossEncoder(pieces, path=MODEL / "nowhere.onnx").read([TextPair("When?", ("At nine.",))])


OURS = WordPieces(MODEL / "vocab.txt")
LONGEST = 64
BLOCKS = [
    (0, 0x24F),
    (0x300, 0x36F),
    (0x391, 0x3C9),
    (0x400, 0x45F),
    (0x2000, 0x2027),
    (0x20A0, 0x20B5),
    (0x4E00, 0x9FA5),
]
COMMON = st.one_of([st.characters(min_codepoint=low, max_codepoint=high) for low, high in BLOCKS])
"""Latin, Greek, Cyrillic, Chinese, signs and accents: blocks that are the same in every version of Unicode."""


def reference() -> Tokenizer:
    tokenizer = Tokenizer(WordPiece(OURS.number, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 101), ("[SEP]", 102)])
    tokenizer.enable_truncation(LONGEST)
    return tokenizer


REFERENCE = reference()


@pytest.mark.parametrize("row", examples("reader", "word pieces"))
def test_texts_are_split_like_the_reference_splits_them(row: dict[str, Any]) -> None:
    assert OURS.encode(row["text"], LONGEST) == REFERENCE.encode(row["text"]).ids


@given(st.text(COMMON, max_size=40))
def test_any_text_is_split_like_the_reference_splits_it(text: str) -> None:
    assert OURS.encode(text, LONGEST) == REFERENCE.encode(text).ids
