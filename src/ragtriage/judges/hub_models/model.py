"""A hub model at work: pairs of texts in, probabilities out; run by onnxruntime."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragtriage.core.errors import JudgeError, MissingExtraError
from ragtriage.judges.hub_models.folder import HubFolder
from ragtriage.text.sentences import sentence_spans

LengthMeasure = Callable[[str], int]
"""How long a text is, in word pieces."""


def chunks(text: str, size: int, measure: LengthMeasure) -> tuple[str, ...]:
    """The chunks of a text, in its order: whole sentences, as many as fit into `size`.

    A sentence that is longer by itself is cut between words, and a word that is longer by itself between characters,
    so that no part of a text is left unread and no chunk is longer than `size`, unless a single character is. Empty for
    a blank text.
    """
    found, held = [], ""
    for piece in _pieces(text, size, measure):
        if held.strip() and measure((held + piece).strip()) > size:
            found.append(held.strip())
            held = ""
        held += piece
    return tuple(filter(None, [*found, held.strip()]))


def _pieces(text: str, size: int, measure: LengthMeasure) -> Iterator[str]:
    """The sentences, with the spaces behind them, in parts where they don't fit; together they are the text."""
    for line in text.splitlines(keepends=True):
        starts = [0, *(start for start, _ in sentence_spans(line, 0, len(line))[1:]), len(line)]
        for start, end in pairwise(starts):
            yield from _cut(line[start:end], size, measure)


def _cut(piece: str, size: int, measure: LengthMeasure) -> Iterator[str]:
    """A piece that fits; of a longer one its halves, cut at a space if there is one, and so on."""
    said = piece.rstrip()
    if len(said) < 2 or measure(said) <= size:
        yield piece
        return
    middle = len(said) // 2
    at = said.rfind(" ", 0, middle) + 1 or said.find(" ", middle) + 1 or middle
    yield from _cut(piece[:at], size, measure)
    yield from _cut(piece[at:], size, measure)


ROWS, PIECES = 16, 4096
"""A batch has at most so many pairs, and so many word pieces with its padding."""
PLACES = 4
"""Decimal places that a probability is rounded to: behind them it depends on what shared a batch."""
ModelArray = NDArray[Any]
ModelRun = Callable[[ModelArray, ModelArray, ModelArray], ModelArray]
"""Ids of word pieces, mask and types, each (b, n) of int64 → logits (b, labels)."""


@dataclass(frozen=True, slots=True)
class PairChances:
    """The model's probabilities, in [0, 1]."""

    yes: float
    """That the text supports the claim."""
    against: float = 0.0
    """That it says otherwise, where the model tells that apart from saying nothing."""


class HubModel:
    """Reads pairs of texts with a folder's model, which is loaded when the first one is read; cuts nothing off."""

    def __init__(self, folder: HubFolder) -> None:
        self.folder = folder
        self.runtime = _runtime()
        """What answers depend on beside the files: what runs it, in which version, on what."""
        self._lock = threading.Lock()
        self._loaded: tuple[Any, ModelRun] | None = None

    def load(self) -> None:
        """Load the model, if it isn't yet."""
        with self._lock:
            self._opened()

    def close(self) -> None:
        """Let the model go; a later pair loads it again."""
        with self._lock:
            self._loaded = None

    def count(self, text: str) -> int:
        """Word pieces of a text, without the marks at its ends."""
        with self._lock:
            return len(self._opened()[0].encode(text, add_special_tokens=False).ids)

    def pieces(self, text: str, claim: str) -> int:
        """Word pieces of a pair, with all marks."""
        with self._lock:
            return len(self._opened()[0].encode(text, claim).ids)

    def read(self, pairs: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], PairChances]:
        """Each distinct (text, claim) → what the model says of it.

        One thread at a time, as a model takes all cores by itself.

        A pair that is longer than what is read at once is a `ValueError`: a model would read it cut off.
        """
        wanted = list(dict.fromkeys(pairs))
        found: dict[tuple[str, str], PairChances] = {}
        with self._lock:
            tokenizer, run = self._opened()
            encoded = [tokenizer.encode(text, claim) for text, claim in wanted]
            lengths = [len(one.ids) for one in encoded]
            if max(lengths, default=0) > self.folder.length:
                raise ValueError(f"{max(lengths)} word pieces are more than the {self.folder.length} that are read")
            for places in batches(lengths, alone=self.folder.quantized):
                logits = run(*_padded([encoded[place] for place in places]))
                for place, chances in zip(places, _softmax(logits), strict=True):
                    found[wanted[place]] = self._chances(chances)
        return found

    def _chances(self, labels: ModelArray) -> PairChances:
        against = self.folder.against
        return PairChances(
            round(float(labels[self.folder.yes]), PLACES),
            0.0 if against is None else round(float(labels[against]), PLACES),
        )

    def _opened(self) -> tuple[Any, ModelRun]:
        if self._loaded is None:
            self._loaded = _tokenizer(self.folder.path / "tokenizer.json"), _with_onnx(self.folder)
        return self._loaded


def batches(lengths: Sequence[int], *, alone: bool = False) -> Iterator[list[int]]:
    """The places of pairs that are run together: those of similar length, the longest first.

    `alone` is one at a time: of a quantised model the scale is taken over the whole batch, so that neighbours would
    change a result.
    """
    held: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        if held and (alone or len(held) >= ROWS or (len(held) + 1) * lengths[held[0]] > PIECES):
            yield held
            held = []
        held.append(place)
    if held:
        yield held


def _padded(encoded: Sequence[Any]) -> tuple[ModelArray, ModelArray, ModelArray]:
    """Pairs of different lengths as one batch: ids, mask and types."""
    shape = len(encoded), max(len(one.ids) for one in encoded)
    ids, mask, types = (np.zeros(shape, np.int64) for _ in range(3))  # what is masked may be any word piece
    for row, one in enumerate(encoded):
        length = len(one.ids)
        ids[row, :length], types[row, :length], mask[row, :length] = one.ids, one.type_ids, 1
    return ids, mask, types


def _softmax(logits: ModelArray) -> ModelArray:
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=-1, keepdims=True))


def _runtime() -> str:
    """See `HubModel.runtime`; nothing is loaded for it but onnxruntime's list of devices."""
    if find_spec("tokenizers") is None:
        raise MissingExtraError("hub models", "readers")
    return f"onnxruntime {version('onnxruntime')} {'cuda' if _providers()[0].startswith('CUDA') else 'cpu'}"


def _tokenizer(path: Path) -> Any:
    from tokenizers import Tokenizer  # noqa: PLC0415 - an optional package

    try:
        found = Tokenizer.from_file(str(path))
    except Exception as error:
        raise JudgeError(f"the tokenizer {path} can't be read: {_in_a_line(error)}") from error
    found.no_padding()
    found.no_truncation()
    return found


def _providers() -> list[str]:
    import onnxruntime  # noqa: PLC0415 - a heavy package

    there = onnxruntime.get_available_providers()
    return [name for name in ("CUDAExecutionProvider", "CPUExecutionProvider") if name in there]


def _with_onnx(folder: HubFolder) -> ModelRun:
    import onnxruntime  # noqa: PLC0415 - a heavy package

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(str(folder.weights), options, providers=_providers())
    except Exception as error:
        raise JudgeError(f"the model {folder.weights} can't be loaded by onnxruntime: {_in_a_line(error)}") from error
    names = {one.name for one in session.get_inputs()}

    def run(ids: ModelArray, mask: ModelArray, types: ModelArray) -> ModelArray:
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        return np.asarray(session.run(None, {name: given[name] for name in names})[0], np.float32)

    return run


def _in_a_line(error: Exception) -> str:
    """What an error of another package says, as far as it fits into a line."""
    return " ".join(str(error).split())[:300] or type(error).__name__
