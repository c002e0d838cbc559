"""All readings as arrays of word pieces, so that a machine without the judge's code can train on them.

    python training/packed.py WORK

Reads WORK/readings.pkl and writes WORK/packed.npz.
"""

from __future__ import annotations

import argparse
import pickle
from bisect import bisect_left
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from arrays import CUTS, EITHER, FIRST, HEADS, KINDS, LENGTH, UNKNOWN, Packed
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from ragtriage.judges.embedded.encoder import MODEL

if TYPE_CHECKING:
    from pairs import Pair


def tokenizer() -> Tokenizer:
    """The word pieces of the judge, with their places in the text."""
    made = Tokenizer(WordPiece.from_file(str(MODEL / "vocab.txt"), unk_token="[UNK]", max_input_chars_per_word=100))
    made.normalizer = BertNormalizer(lowercase=True)
    made.pre_tokenizer = BertPreTokenizer()
    return made


def tags_of(marks: Any, offsets: list[tuple[int, int]], begin: int, length: int) -> np.ndarray:
    """(length, 5), what is known of each piece of a reading whose second text begins at `begin`."""
    out = np.full((length, 5), UNKNOWN, np.int8)
    at = [a for a, _ in offsets]

    def places(start: int, end: int) -> slice:
        return slice(begin + bisect_left(at, start), begin + bisect_left(at, end))

    for start, end, kind in marks["kinds"]:
        out[places(start, end), 0] = (
            EITHER if kind == "remark" and "soft" not in marks and "cuts" not in marks else KINDS.index(kind)
        )
    if "cuts" in marks:
        out[begin:-1, 1:4] = 0
        for place, letter in marks["cuts"]:
            piece = begin + bisect_left(at, place)
            if piece < length - 1:
                out[piece, 1] = CUTS.index("m" if letter == "d" else letter)
        for column, name in ((2, "subjects"), (3, "nouns")):
            for start, end in marks[name]:
                out[places(start, end), column] = 1
    out[-1] = UNKNOWN
    return out


def pack(pairs: list[Pair]) -> Packed:
    """Break all pairs into word pieces."""
    breaks = tokenizer()
    mark, end = breaks.token_to_id("[CLS]"), breaks.token_to_id("[SEP]")
    firsts = breaks.encode_batch([p.first for p in pairs], add_special_tokens=False)
    seconds = breaks.encode_batch([p.second for p in pairs], add_special_tokens=False)
    pieces: list[np.ndarray] = []
    tags: list[np.ndarray] = []
    begins, counts, spans, heads, labels, weights = [], [0], [], [], [], []
    for pair, first, second in zip(pairs, firsts, seconds, strict=True):
        a = [mark, *first.ids[: FIRST - 2], end]
        b = second.ids[: LENGTH - len(a) - 1]
        ids = np.array([*a, *b, end], np.uint16)
        offsets = second.offsets[: len(b)]
        at = [x for x, _ in offsets]
        pieces.append(ids)
        begins.append(len(a))
        for head, start, stop, label, weight in pair.targets:
            low, high = len(a) + bisect_left(at, start), len(a) + bisect_left(at, stop)
            if low < high:
                spans.append((low, high))
                heads.append(HEADS.index(head))
                labels.append(label)
                weights.append(weight)
        counts.append(len(heads))
        known = pair.marks and "kinds" in pair.marks
        told = tags_of(pair.marks, offsets, len(a), len(ids)) if known else np.full((len(ids), 5), UNKNOWN, np.int8)
        if pair.altered is not None:
            told[1 : len(a) - 1, 4] = [
                any(x < stop and start < y for start, stop in pair.altered) for x, y in first.offsets[: len(a) - 2]
            ]
        tags.append(told)
    numbers = {twin: i for i, twin in enumerate(dict.fromkeys(p.twin for p in pairs if p.twin >= 0))}
    return Packed(
        pieces=np.concatenate(pieces),
        starts=np.cumsum([0, *map(len, pieces)]),
        second=np.array(begins, np.uint16),
        twin=np.array([numbers.get(p.twin, -1) for p in pairs], np.int32),
        split=np.array([p.split for p in pairs]),
        origin=np.array([p.origin for p in pairs]),
        first_target=np.array(counts, np.int32),
        span=np.array(spans, np.uint8),
        head=np.array(heads, np.int8),
        label=np.array(labels, np.float32),
        weight=np.array(weights, np.float32),
        tags=np.concatenate(tags),
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    args = parser.parse_args()
    made = pack(pickle.loads((args.work / "readings.pkl").read_bytes()))
    made.save(args.work / "packed.npz")
    print(
        f"{len(made.starts) - 1} readings, {len(made.pieces) / 1e6:.1f} million word pieces, {len(made.head)} targets"
    )


if __name__ == "__main__":
    main()
