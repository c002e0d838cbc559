"""Rule-based decomposition: a text into sentences, claims or facts, a query into sub-questions.

English first and harmless on other languages; deterministic, without a model, in time that grows with the text.
When in doubt a sentence stays whole: a wrong split makes claims that nobody made, and those are called unsupported.
"""

from __future__ import annotations

from ragtriage.text.claims import split_claims
from ragtriage.text.declines import declines
from ragtriage.text.facts import split_facts
from ragtriage.text.questions import split_questions
from ragtriage.text.sentences import split_sentences

__all__ = ["declines", "split_claims", "split_facts", "split_questions", "split_sentences"]
