"""Texts to vectors: all-MiniLM-L6-v2, int8, run by onnxruntime."""

import math
import re
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragtriage.core.errors import JudgeError
from ragtriage.text import words as vocabulary

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

    The vocabulary is a file with one piece a line; the number of a piece is its line, from 0.
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

        At most `longest` numbers, the marks included; the rest of a longer text is cut off.
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


MODEL = Path(__file__).parent / "model"


def open_model(path: Path) -> Any:
    """An onnxruntime session that runs one text on one thread.

    A text is run by itself and not in a batch: the scale of a quantised activation is taken over the whole tensor, so
    that neighbours in a batch would change a verdict. Two threads keep two cores busy all the same, and nothing is
    padded.
    """
    # A heavy package that nothing else needs.
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Beyond the basic optimisations, additions and normalisations are fused into an operator that is slower.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    # A plan of memory would be kept for every length of text.
    options.enable_mem_pattern = False
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise JudgeError(f"the embedded model {path} can't be loaded: {error}; install its package again") from error


LENGTH = 256
"""Word pieces that the model was trained to read; the rest of a longer text is cut off."""
KEPT = 48_000
"""Word pieces of encoded texts that are remembered: about 37 MB, and more than 16 cases of usual size need."""
_FIRST_WORD = 1996
_LAST_WORD = 30522

Vector = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Encoded:
    """One text as the model sees it."""

    vector: Vector
    """(384,), of length 1: the mean over the tokens."""
    tokens: NDArray[np.float16]
    """(n, 384), each of length 1, without the marks at the ends."""
    weights: Vector
    """(n,), how much a word piece says: 0 for stop words and signs, else by its rank in the vocabulary, in (0, 1]."""


class Encoder:
    """Encodes texts and remembers the last few thousand."""

    def __init__(self, threads: int = 2, kept: int = KEPT) -> None:
        self._session = open_model(MODEL / "encoder.onnx")
        try:
            self.pieces = WordPieces(MODEL / "vocab.txt")
        except OSError as error:
            raise JudgeError(f"the vocabulary in {MODEL} can't be read: {error}; reinstall ragtriage") from error
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="ragtriage-encoder")
        self._kept = kept
        self._known: OrderedDict[str, Encoded] = OrderedDict()
        self._held = 0
        self._lock = threading.Lock()
        self._piece_weights = np.array(
            [_piece_weight(i, piece) for i, piece in enumerate(self.pieces.pieces)], np.float32
        )
        self.rarity = lru_cache(maxsize=16384)(self._rarity)

    def encode(self, texts: Iterable[str]) -> Mapping[str, Encoded]:
        """Encode each distinct text; longer ones first, so that no thread ends with a long one."""
        found: dict[str, Encoded] = {}
        missing: list[str] = []
        with self._lock:
            for text in dict.fromkeys(texts):
                known = self._known.get(text)
                if known is None:
                    missing.append(text)
                else:
                    self._known.move_to_end(text)
                    found[text] = known
        missing.sort(key=len, reverse=True)
        pieces = [self.pieces.encode(text, LENGTH) for text in missing]
        found.update(zip(missing, self._pool.map(self._run, pieces), strict=True))
        with self._lock:
            for text in missing:
                if text not in self._known:
                    self._known[text] = found[text]
                    self._held += len(found[text].tokens)
            while self._held > self._kept and self._known:
                _, dropped = self._known.popitem(last=False)
                self._held -= len(dropped.tokens)
        return found

    def close(self) -> None:
        """Let the threads and the model go."""
        self._pool.shutdown()
        del self._session  # the garbage collector, which would find it later, doesn't know how large it is

    def _run(self, pieces: list[int]) -> Encoded:
        ids = np.array([pieces], np.int64)
        mean, tokens = self._session.run(["mean", "tokens"], {"ids": ids})
        # A text without any word piece is read as its end mark, which weighs nothing.
        inner = slice(1, -1) if ids.shape[1] > 2 else slice(1, None)
        tokens = tokens[0, inner] / np.linalg.norm(tokens[0, inner], axis=1, keepdims=True)
        return Encoded(mean[0] / np.linalg.norm(mean[0]), tokens.astype(np.float16), self._piece_weights[ids[0, inner]])

    def _rarity(self, word: str) -> float:
        """How much a word (or stem) says, in (0, 1]: by its rank in the vocabulary, 1 if it isn't in it."""
        if word[:1].isdigit():
            return 1.0
        piece = self.pieces.number.get(word, self.pieces.number.get(word + "e"))
        return 1.0 if piece is None else _by_rank(piece)


def _piece_weight(number: int, piece: str) -> float:
    """How much a word piece says, in [0, 1]."""
    word = piece.removeprefix("##")
    if piece.startswith("[") or not word.isalnum() or word in vocabulary.STOP:
        return 0.0
    return _by_rank(number)


def _by_rank(piece: int) -> float:
    """The vocabulary is ordered by frequency, so the rank of an entry stands for how rare it is."""
    rank = max(0, piece - _FIRST_WORD)
    return 0.2 + 0.8 * math.log1p(rank) / math.log1p(_LAST_WORD - _FIRST_WORD)
