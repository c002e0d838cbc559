"""What a hub reader takes, told beforehand without loading it: time and memory, both roughly."""

from __future__ import annotations

import os
from pathlib import Path

from ragtriage.core.questions import Question
from ragtriage.judges.hub_readers.folder import ReaderFolder

CPU_RATE = 30e9
"""Multiplications and additions a second and core: a laptop's, see `docs/hub-readers.md`."""
GPU_RATE = 10e12
"""The same of a GPU, at single precision."""
CHARACTERS = 4
"""Of a word piece, in English; other languages need more pieces."""
_WORKING = 400_000_000
"""Bytes beside the weights: the packages, a batch."""


def pieces_of(question: Question, folder: ReaderFolder) -> int:
    """About how many word pieces are read for a question."""
    read = len(question.subject) + len(question.query)
    texts = sum(map(len, question.evidence))
    size = folder.length * CHARACTERS
    match folder.family.name:
        case "encoder":
            return read // CHARACTERS
        case "reranker":
            passes = max(1, len(question.evidence) if question.kind == "answered" else 1)
            return (passes * read + texts) // CHARACTERS
        case "spans":  # a response is read once for all its claims
            return (texts + len(question.query)) // CHARACTERS // max(1, len(question.context) // 80)
        case _:
            return (texts + read * max(1, texts // size)) // CHARACTERS


def seconds_for(pieces: int, folder: ReaderFolder) -> float:
    """How long so many word pieces take: two operations for each number that they are multiplied with."""
    on_gpu = Path("/dev/nvidiactl").exists()
    rate = GPU_RATE if on_gpu else CPU_RATE * (os.cpu_count() or 1)
    return 2.0 * folder.parameters()[1] * pieces / rate


def memory_of(folder: ReaderFolder) -> int:
    """Bytes that it takes at work: safetensors are brought to single precision, ONNX stays as it is."""
    return _WORKING + (folder.size() if folder.onnx else 4 * folder.parameters()[0])
