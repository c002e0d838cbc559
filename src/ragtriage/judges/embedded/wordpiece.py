"""Texts to word pieces: BERT's uncased tokenizer (Devlin et al. 2019; Wu et al. 2016 for the pieces).

Written here because the library that does it brings a client for a model hub along, some 45 MB in an install that never
asks a hub for anything. A test holds it against that library.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

START, END, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
LONGEST_WORD = 100
"""Characters; a longer word is unknown."""
_ASCII_ONLY = re.compile(r"[\t\n\r -~]*")
_ASCII_WORDS = re.compile(r"[0-9a-z]+|[!-/:-@\[-`{-~]")
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
"""Each stands as a word of its own."""


class WordPieces:
    """A vocabulary, and texts broken into its pieces.

    Args:
        vocabulary: a file with one piece a line; its number is its line, from 0.

    Raises:
        OSError: the file can't be read.
    """

    def __init__(self, vocabulary: Path) -> None:
        self.pieces: tuple[str, ...] = tuple(vocabulary.read_text(encoding="utf-8").rstrip("\n").split("\n"))
        """Number → piece."""
        self.number: dict[str, int] = {piece: i for i, piece in enumerate(self.pieces)}
        """Piece → number."""
        self._unknown = (self.number[UNKNOWN],)
        self._of_word = lru_cache(maxsize=16384)(self._split)

    def encode(self, text: str, longest: int) -> list[int]:
        """The numbers of the text's pieces between the marks of start and end.

        Args:
            text: any text.
            longest: how many numbers at most, the marks included; the rest of a longer text is cut off.
        """
        found = [self.number[START]]
        for word in words(text):
            found += self._of_word(word)
            if len(found) >= longest:
                break
        del found[longest - 1 :]
        found.append(self.number[END])
        return found

    def of_token(self, token: str) -> list[int]:
        """The numbers of a token's pieces, without marks."""
        return [number for word in words(token) for number in self._of_word(word)]

    def _split(self, word: str) -> tuple[int, ...]:
        """The longest piece that fits, from the left, again and again; the whole word is unknown if nothing fits."""
        if len(word) > LONGEST_WORD:
            return self._unknown
        found = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if mark + word[start:end] in self.number), None)
            if end is None:
                return self._unknown
            found.append(self.number[mark + word[start:end]])
            start = end
        return tuple(found)


def words(text: str) -> Iterator[str]:
    """Lower-case words without accents; every punctuation mark and ideograph is a word of its own."""
    if _ASCII_ONLY.fullmatch(text):
        yield from _ASCII_WORDS.findall(text.lower())
        return
    word: list[str] = []
    for sign in _plain(text):
        alone = _is_punctuation(sign) or _is_ideograph(sign)
        if sign.isspace() or alone:
            if word:
                yield "".join(word)
                word = []
            if alone:
                yield sign
        else:
            word.append(sign)
    if word:
        yield "".join(word)


def _plain(text: str) -> Iterator[str]:
    """Without control characters and accents, in lower case; letter by letter, so that no neighbour has a say."""
    kept = "".join(sign for sign in text if sign in "\t\n\r" or not _is_control(sign))
    for sign in unicodedata.normalize("NFD", kept):
        if unicodedata.category(sign) != "Mn":
            yield from sign.lower()


def _is_control(sign: str) -> bool:
    return sign == "\ufffd" or unicodedata.category(sign) in ("Cc", "Cf", "Co", "Cs")


def _is_punctuation(sign: str) -> bool:
    code = ord(sign)
    if code < 128:
        return not sign.isalnum() and 32 < code < 127
    return unicodedata.category(sign).startswith("P")


def _is_ideograph(sign: str) -> bool:
    code = ord(sign)
    return code >= 0x3400 and any(low <= code <= high for low, high in _IDEOGRAPHS)
