"""Chooses the sentences that a claim or question is read beside."""

from __future__ import annotations

import numpy as np

from ragtriage.judges.embedded.evidence import Evidence
from ragtriage.judges.embedded.sentence_comparison import Comparison


def nearest_sentences(c: Comparison, evidence: Evidence, most: int) -> tuple[str, ...]:
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
    return tuple(evidence.sentences[at].text for at in sorted(chosen))
