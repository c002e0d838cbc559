"""Judges around judges: each fulfils the judge protocol by asking others.

`Cached` stands innermost, right around a judge that costs something; `Changed`, `Routed`, `Jury` and `Cascade`
around cached ones.
"""

from ragtriage.judges.wrappers.cached import AnswerKeys, AnswerMemory, Cached, CachedAnswer, InMemory
from ragtriage.judges.wrappers.combined import Cascade, Changed, Jury, Routed

__all__ = [
    "AnswerKeys",
    "AnswerMemory",
    "Cached",
    "CachedAnswer",
    "Cascade",
    "Changed",
    "InMemory",
    "Jury",
    "Routed",
]
