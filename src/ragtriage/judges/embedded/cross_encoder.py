"""The reader: a small transformer that reads a claim or question beside a text, int8, run by onnxruntime.

One pass gives a logit a task for the text as a whole and for each of its sentences, read in view of the others; and for
a response where its claims begin and which parts are remarks. It was trained on labelled pairs (`training/`).
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage.core.verdicts import Span
from ragtriage.judges.embedded.encoder import END, MODEL, Vector, WordPieces, open_model
from ragtriage.text.claim_parts import Cut, Marks, PartKind
from ragtriage.text.sentences import split_sentences

HEADS = ("supported", "answered", "essential", "needed")
"""What the reader says of a text, in the order of its output; `needed` of a sentence in its text: whether that is
essential."""
LENGTH = 224
"""Word pieces of a pair that are read at a time; a longer text is read in several windows of whole sentences."""
FIRST = 96
"""Of these, how many at most belong to the claim or question."""
KINDS: tuple[PartKind, ...] = ("claim", "remark", "declines")
CUTS: tuple[Cut | None, ...] = (
    None, "clause", "predicate", "relative", "complement", "item", "rest", "remark",
)  # fmt: skip
KEPT = 1024
"""Readings that are remembered; a question of a later step often reads the same pair."""
DOUBTED_CLAIM = -1.4
"""From these log odds on that one of its words belongs to no claim, the larger reader reads a response, too: of the 345
sound ones in `tests/healthy` a third, among them all in which it changes a word."""
AS_DOUBTED = 0.5
"""How far below the most doubted word its neighbours may lie, in log odds, to be shown with it."""
_TOKEN = re.compile(r"[^\W_]+|[^\s]")


@dataclass(frozen=True, slots=True)
class TextPair:
    """What is read: a claim or question, and the sentences of a text."""

    first: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Logits:
    """What the reader says of a pair; each row has a number for each of `HEADS`, the log odds of yes."""

    whole: Vector
    """(heads,), of the text as a whole; of several windows the highest."""
    sentences: Vector
    """(m, heads), of each sentence in its text."""
    otherwise: float
    """The highest log odds among the word pieces of the claim or question that it says what the text doesn't say; of
    several windows the lowest."""
    words: Vector
    """(n,), the same of each word or sign of the claim or question that was read, in that window."""


class CrossEncoder:
    """Reads pairs."""

    def __init__(self, pieces: WordPieces, threads: int = 2, path: Path = MODEL / "reader.onnx") -> None:
        self._path = path
        self._loaded: Any = None
        self._pieces = pieces
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="ragtriage-reader")
        self._known: OrderedDict[TextPair, Logits] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, pairs: Iterable[TextPair]) -> Mapping[TextPair, Logits | Exception]:
        """Each distinct pair → its logits, or what went wrong with it.

        Longer ones go first, so that no thread ends with a long one.
        """
        found: dict[TextPair, Logits | Exception] = {}
        missing: list[TextPair] = []
        with self._lock:
            for pair in dict.fromkeys(pairs):
                if (known := self._known.get(pair)) is None:
                    missing.append(pair)
                else:
                    self._known.move_to_end(pair)
                    found[pair] = known
        if missing:
            self._model()  # if it can't be loaded, that concerns more than one pair
        missing.sort(key=lambda pair: -sum(map(len, pair.sentences)))
        found.update(zip(missing, self._pool.map(self._read, missing), strict=True))
        self._remember(found)
        return found

    def _remember(self, found: Mapping[TextPair, Logits | Exception]) -> None:
        with self._lock:
            self._known.update({pair: read for pair, read in found.items() if isinstance(read, Logits)})
            while len(self._known) > KEPT:
                self._known.popitem(last=False)

    def marks(self, query: str, text: str, larger: "CrossEncoder | None" = None) -> Marks:
        """Where the claims of a response begin, and which parts of it are remarks.

        If some of it may be no claim, a larger reader says so, too, and the log odds of both are added. The same
        readings tell the logits of `response_pair`, which are remembered.
        """
        pair, spans = response_pair(query, text), _spans(text)
        tokens = [
            [(start + m.start(), start + m.end()) for m in _TOKEN.finditer(text[start:end])] for start, end in spans
        ]
        cuts: list[tuple[int, Cut]] = []
        kinds: list[tuple[int, int, PartKind]] = []
        inside: tuple[list[Span], list[Span]] = ([], [])
        tags = self.tags(pair)
        said = [rows[:, : len(KINDS)] for rows in tags]
        if larger and any((_odds_of_others(rows) >= DOUBTED_CLAIM).any() for rows in said):
            said = [own + rows[:, : len(KINDS)] for own, rows in zip(said, larger.tags(pair), strict=True)]
        for places, rows, chosen in zip(tokens, tags, said, strict=True):
            for (a, b), row, scores in zip(places, rows, chosen, strict=False):
                kinds.append((a, b, KINDS[int(scores.argmax())]))
                if cut := _cut(row[len(KINDS) : -3]):
                    cuts.append((a, cut))
                for which, score in zip(inside, row[-3:-1], strict=True):
                    if score > 0:
                        which.append((a, b))
        return Marks(tuple(cuts), _joined(inside[0]), _joined(inside[1]), tuple(kinds))

    def tags(self, pair: TextPair) -> list[Vector]:
        """(tokens, tags) of each sentence that isn't cut off: what begins at a token, and what it belongs to."""
        logits, tags = self._runs(pair)
        self._remember({pair: logits})
        return tags

    def close(self) -> None:
        """Let the threads and the model go."""
        self._pool.shutdown()
        self._loaded = None  # the garbage collector, which would find it later, doesn't know how large it is

    def _model(self) -> Any:
        """The model, loaded when something is read, and once though several threads want it."""
        with self._lock:
            if self._loaded is None:
                self._loaded = open_model(self._path)
            return self._loaded

    def _read(self, pair: TextPair) -> Logits | Exception:
        try:
            return self._runs(pair)[0]
        except Exception as error:  # noqa: BLE001 - it concerns one pair
            return error

    def _runs(self, pair: TextPair) -> tuple[Logits, list[Vector]]:
        """The logits, and (tokens, tags) of the first piece of each token of each sentence that isn't cut off."""
        first = self._pieces.encode(pair.first, FIRST)
        inner = slice(1, max(2, len(first) - 1))
        starts = np.cumsum([0, *(len(self._pieces.of_token(token)) for token in _TOKEN.findall(pair.first))])
        starts = starts[:-1][starts[:-1] < inner.stop - 1]
        room = LENGTH - len(first) - 1
        parts = [[self._pieces.of_token(token) for token in _TOKEN.findall(sentence)] for sentence in pair.sentences]
        ids = [[number for part in some for number in part][:room] for some in parts]
        whole: list[Vector] = []
        sentences: list[Vector] = []
        tags: list[Vector] = []
        otherwise: list[Vector] = []
        for window in _windows([len(some) for some in ids], room):
            lengths = np.array([len(ids[at]) for at in window])
            flat = [number for at in window for number in ids[at]]
            ends = len(first) + np.cumsum(lengths)
            means = np.zeros((1 + len(window), len(first) + len(flat) + 1), np.float32)
            means[0, len(first) : -1] = 1.0 / max(1, len(flat))
            for row, (end, length) in enumerate(zip(ends, lengths, strict=True), 1):
                means[row, end - length : end] = 1.0 / max(1, length)
            logits, scores = self._run(first, flat, means)
            whole.append(logits[0])
            sentences.append(logits[1:])
            otherwise.append(scores[inner, -1])
            for at, end, length in zip(window, ends, lengths, strict=True):
                begins = np.cumsum([0, *map(len, parts[at])])[:-1]
                tags.append(scores[end - length + begins[begins < length]])
        least = min(otherwise, key=lambda some: float(some.max()))
        words = np.maximum.reduceat(least, starts) if len(starts) else least[:0]
        return Logits(np.max(whole, axis=0), np.concatenate(sentences), float(least.max()), words), tags

    def _run(self, first: Sequence[int], second: Sequence[int], means: Vector) -> tuple[Vector, Vector]:
        ids = np.array([[*first, *second, self._pieces.number[END]]], np.int64)
        types = np.zeros_like(ids)
        types[0, len(first) :] = 1
        logits, tags = self._model().run(["logits", "tags"], {"ids": ids, "types": types, "parts": means})
        return logits, tags


def doubted_words(text: str, words: Vector) -> str:
    """The part of a claim that the reader doubts most, from the log odds of its words; empty if it has no word.

    That is the likeliest word to say what the text doesn't say, with the neighbours that are nearly as likely.
    """
    places = [found.span() for found, _ in zip(_TOKEN.finditer(text), words, strict=False)]
    said = [at for at, (start, _) in enumerate(places) if text[start].isalnum()]
    if not said:
        return ""
    first = last = max(said, key=lambda at: float(words[at]))
    least = words[first] - AS_DOUBTED
    while first - 1 in said and words[first - 1] >= least:
        first -= 1
    while last + 1 in said and words[last + 1] >= least:
        last += 1
    return text[places[first][0] : places[last][1]]


def response_pair(query: str, text: str) -> TextPair:
    """A response beside a question, as `Reader.marks` reads it too."""
    return TextPair(query, tuple(text[start:end] for start, end in _spans(text)))


@lru_cache(512)
def _spans(text: str) -> tuple[Span, ...]:
    found = tuple(s.span for s in split_sentences(text) if s.span and s.span[0] < s.span[1])
    return found or ((0, len(text)),)


def _odds_of_others(scores: Vector) -> Vector:
    """(…,), the log odds that not the first of several kinds (…, kinds) is right."""
    return np.asarray(np.log(np.exp(scores[..., 1:] - scores[..., :1]).sum(axis=-1)))


def _cut(scores: Vector) -> Cut | None:
    """What begins at a piece, if anything does more likely than not."""
    return CUTS[1 + int(np.argmax(scores[1:]))] if _odds_of_others(scores) > 0 else None


def _windows(sizes: Sequence[int], room: int) -> Iterator[list[int]]:
    """Places of sentences one after the other that fit into a window together; one at least."""
    window: list[int] = []
    left = room
    for at, size in enumerate(sizes):
        if window and size > left:
            yield window
            window, left = [], room
        window.append(at)
        left -= size
    if window:
        yield window


def _joined(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Neighbouring tokens as one stretch."""
    found: list[Span] = []
    for start, end in spans:
        if found and start - found[-1][1] <= 1:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return tuple(found)
