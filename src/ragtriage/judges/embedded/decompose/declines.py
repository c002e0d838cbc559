"""Does a response decline to answer?"""

from __future__ import annotations

from ragtriage.judges.embedded.decompose.remarks import remark
from ragtriage.judges.embedded.decompose.sentences import split_sentences
from ragtriage.verdicts import Verdict


def declines(query: str, response: str) -> Verdict:
    """Yes if the response declines instead of answering."""
    kinds = [remark(c.text) for c in split_sentences(response)]
    if kinds and all(kinds) and any(k in {"gap", "refusal"} for k in kinds):
        return Verdict("yes", 0.95, 0.95, "says that it can't answer")
    return Verdict("no", 0.05, 0.95, "answers")
