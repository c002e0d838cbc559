"""A hub reader at work: pairs of texts in, what the model says of them out."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ragtriage.core.errors import JudgeError, RagtriageError
from ragtriage.judges.hub_readers.chunks import chunks
from ragtriage.judges.hub_readers.families import Numbers, Said, softmax
from ragtriage.judges.hub_readers.folder import ReaderFolder
from ragtriage.judges.hub_readers.model import Model, padded
from ragtriage.judges.hub_readers.onnx_models import OnnxModel
from ragtriage.judges.hub_readers.pooling import Pooling, open_pooling
from ragtriage.judges.hub_readers.repeats import repeat_threshold
from ragtriage.judges.hub_readers.tokens import Pieces, Tokens, in_a_line
from ragtriage.judges.hub_readers.torch_models import TorchModel

ROWS, PIECES = 16, 4096
"""A batch has at most so many passes, and so many word pieces with its padding."""
KEPT = 4096
"""Readings that are remembered: a later step often reads the same pair."""
PLACES = 4
"""Decimal places that a probability is rounded to: behind them it depends on what shared a batch."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Spans:
    """What a classifier of spans says of a response: each word piece with its probability of not being supported."""

    pieces: tuple[tuple[int, int, float], ...]
    """(start, end, probability), in characters of the response."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    tokens: Tokens
    model: Model
    pooling: Pooling | None


class HubReader:
    """Reads pairs of texts with the model of a folder, which is loaded when the first one is read.

    Args:
        folder: what is read with.
    """

    def __init__(self, folder: ReaderFolder) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._loaded: _Loaded | None = None
        self._tokens: Tokens | None = None
        self._repeats: float | None = None
        self._known: OrderedDict[tuple[str, str], Any] = OrderedDict()

    def load(self) -> None:
        """Load the model, if it isn't yet.

        Raises:
            JudgeError: it can't be loaded.
            MissingExtraError: a package isn't installed.
        """
        with self._lock:
            self._opened()

    def tokens(self) -> Tokens:
        """The tokenizer, which is loaded without the model."""
        with self._lock:
            return self._opened_tokens()

    def pieces(self, first: str, second: str) -> int:
        """Word pieces of the pass that reads a pair, marks and prompt included."""
        return len(self.folder.family.encode(self.tokens(), first, second).ids)

    def read(self, pairs: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], Said]:
        """Each distinct pair → what the model says of it.

        Raises:
            JudgeError: the model can't be loaded.
            MissingExtraError: a package isn't installed.
        """
        family, labels = self.folder.family, self.folder.labels

        def said(output: Numbers, _: Pieces) -> Said:
            found = family.meaning(output, labels)
            return Said(round(found.yes, PLACES), round(found.against, PLACES))

        return self._each(pairs, said)

    def spans(self, pairs: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], Spans]:
        """Each distinct (prompt, response) → the word pieces of the response; see `read` for what is raised."""
        column = self.folder.labels.unsupported

        def told(output: Numbers, pieces: Pieces) -> Spans:
            chances = softmax(output)[:, column]
            return Spans(tuple((a, b, round(float(chances[at]), PLACES)) for at, a, b in pieces.of_second))

        return self._each(pairs, told)

    def vectors(self, texts: Iterable[str]) -> Mapping[str, Numbers]:
        """Each distinct text → its vector of length 1; see `read` for what is raised.

        A text that is longer than a pass is read in chunks, and has their mean by the word pieces of each.
        """
        parts = {text: self._parts(text) for text in texts}
        found = self._each(((part, "") for some in parts.values() for part in some), None)
        return {text: self._mean(some, found) for text, some in parts.items()}

    def _parts(self, text: str) -> tuple[str, ...]:
        """A text as it is, or in chunks that fit each into a pass."""
        with self._lock:
            loaded = self._opened()
        prompt = loaded.pooling.prompt if loaded.pooling else ""
        length = self.folder.length
        size = length - self.pieces(prompt, "")
        if self.pieces(prompt + text, "") <= length or size < 1:
            return (text,)
        return chunks(text, size, lambda part: self.pieces(prompt + part, "") - self.pieces(prompt, "")) or (text,)

    def _mean(self, parts: Sequence[str], vectors: Mapping[tuple[str, str], Numbers]) -> Numbers:
        if len(parts) == 1:
            return vectors[parts[0], ""]
        count = self.tokens().count
        mean = sum(count(part) * vectors[part, ""] for part in parts)
        return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-12), np.float32)

    def repeats(self) -> float:
        """The cosine from which on two sentences may say the same; see `read` for what is raised."""
        if self._repeats is None:
            self._repeats = repeat_threshold(self.vectors, self.folder.languages)
        return self._repeats

    def close(self) -> None:
        """Let the model go; a later question loads it again."""
        with self._lock:
            self._loaded = None
            self._known.clear()

    def _opened_tokens(self) -> Tokens:
        if self._tokens is None:
            folder = self.folder
            self._tokens = Tokens(folder.tokenizer)
        return self._tokens

    def _opened(self) -> _Loaded:
        if self._loaded is None:
            folder = self.folder
            try:
                pooling = open_pooling(folder.path) if folder.family.head == "vectors" else None
                tokens = self._opened_tokens()
                model: Model = OnnxModel(folder) if folder.onnx else TorchModel(folder)
            except RagtriageError:
                raise
            except Exception as error:
                raise JudgeError(f"the model in {folder.path} can't be loaded: {in_a_line(error)}") from error
            self._loaded = _Loaded(tokens, model, pooling)
        return self._loaded

    def _each(self, pairs: Iterable[tuple[str, str]], reading: Any) -> dict[tuple[str, str], Any]:
        """Read what isn't remembered, batch by batch; one thread at a time, as a model takes all cores by itself."""
        wanted = list(dict.fromkeys(pairs))
        with self._lock:
            found = {pair: self._known[pair] for pair in wanted if pair in self._known}
            missing = [pair for pair in wanted if pair not in found]
            if missing:
                loaded = self._opened()
                prompt = loaded.pooling.prompt if loaded.pooling else ""
                encode = self.folder.family.encode
                passes = [encode(loaded.tokens, prompt + first, second) for first, second in missing]
                self._require_whole(passes)
                for places in batches([len(one.ids) for one in passes], alone=self.folder.quantized):
                    some = [passes[place] for place in places]
                    for place, one in zip(places, self._outputs(loaded, some, reading), strict=True):
                        found[missing[place]] = one
            for pair in wanted:
                self._known[pair] = found[pair]
                self._known.move_to_end(pair)
            while len(self._known) > KEPT:
                self._known.popitem(last=False)
        return found

    def _require_whole(self, passes: Sequence[Pieces]) -> None:
        """A pass is refused where a model would have to read it cut off."""
        longest = max(len(one.ids) for one in passes)
        if longest > self.folder.length:
            raise ValueError(f"a pass of {longest} word pieces is longer than the {self.folder.length} that are read")

    def _outputs(self, loaded: _Loaded, passes: Sequence[Pieces], reading: Any) -> Iterator[Any]:
        ids, mask, types = padded(passes, loaded.tokens.padding)
        output = loaded.model.run(ids, mask, types)
        if loaded.pooling:
            yield from np.asarray(loaded.pooling.vectors(output, mask))
            return
        for row, one in zip(output, passes, strict=True):
            yield reading(row[: len(one.ids)] if row.ndim == 2 else row, one)


def batches(lengths: Sequence[int], *, alone: bool = False) -> Iterator[list[int]]:
    """The places of passes that are run together: those of similar length, the longest first.

    Args:
        lengths: word pieces of each pass.
        alone: one at a time: of a quantised model the scale is taken over the whole batch, so that neighbours would
            change a result.
    """
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    held: list[int] = []
    for place in order:
        if held and (alone or len(held) >= ROWS or (len(held) + 1) * lengths[held[0]] > PIECES):
            yield held
            held = []
        held.append(place)
    if held:
        yield held
