"""Reads texts by rules, without a model: blocks, sentences, claims, facts, questions, numbers, dates, citations.

English first and harmless on other languages; deterministic, without a model, in time that grows with the text.
When in doubt a sentence stays whole: a wrong split makes claims that nobody made, and those are called unsupported.
"""

from __future__ import annotations

from ragtriage.text.claims import split_claims
from ragtriage.text.declines import declines
from ragtriage.text.language import language_of
from ragtriage.text.questions import split_questions
from ragtriage.text.sentences import split_facts, split_sentences

__all__ = ["declines", "language_of", "split_claims", "split_facts", "split_questions", "split_sentences"]
