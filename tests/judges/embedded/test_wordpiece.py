"""Our word pieces are those of the reference library."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from ragtriage.judges.embedded.encoder import MODEL, WordPieces

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


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "The Chimnabai Clock Tower was completed in 1896.",
        "don't stop: e-mail me@example.org, v2.0.1 (see §4) … “quoted”",
        "Ångström naïve Œuvre ÎLE straße ΑΒΓ σοφός ΣΟΦΟΣ",
        "退款申请必须在28天内提交。",
        "A\tB\nC\r\nD\x00E\x1fF\ufffdG\u200bH",
        "x" * 101 + " " + "y" * 100,
        "word " * 500,
    ],
)
def test_texts_are_split_like_the_reference_splits_them(text: str) -> None:
    assert OURS.encode(text, LONGEST) == REFERENCE.encode(text).ids


@given(st.text(COMMON, max_size=40))
def test_any_text_is_split_like_the_reference_splits_it(text: str) -> None:
    assert OURS.encode(text, LONGEST) == REFERENCE.encode(text).ids
