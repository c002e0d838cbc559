"""Which two texts the matcher reads for a question: what is looked for, and the part of the evidence nearest to it.

Training makes its pairs by the same functions, so that the matcher is asked what it was taught.
"""

from __future__ import annotations

import numpy as np

from ragtriage.judges.embedded.comparison import Comparison
from ragtriage.judges.embedded.evidence import Evidence
from ragtriage.text import split_sentences

PIECES = 176
"""Word pieces of evidence that are read beside a claim or question, some 130 words of prose."""

Pair = tuple[str, str]


def parts(pair: Pair) -> list[Pair]:
    """The same question beside each sentence of the text; the pair itself where there is one."""
    first, second = pair
    return [(first, one.text) for one in split_sentences(second)] or [pair]


def passage(c: Comparison, evidence: Evidence, most: int = PIECES) -> str:
    """The sentences nearest to what is looked for, each with the one before it if there is room, in their own order.

    Args:
        c: what was found in the evidence.
        evidence: sentences.
        most: word pieces that are chosen at most; but one sentence at least, however long.
    """
    nearness = c.cosines[0] + c.word + c.soft
    chosen: set[int] = set()
    left = most
    for nearest in np.argsort(-nearness, kind="stable"):
        at = int(nearest)
        for one in (at, at - 1):
            length = evidence.length(one)
            if one in chosen or (chosen and length > left):
                break
            chosen.add(one)
            left -= length
            if not one or not evidence.joined[one - 1]:
                break
        if left <= 0:
            break
    return " ".join(evidence.sentences[at].text for at in sorted(chosen))
