"""Rule-based decomposition: a text into sentences, claims or facts, a query into sub-questions.

English first and harmless on other languages; deterministic, without a model, in time that grows with the text.
When in doubt a sentence stays whole: a wrong split makes claims that nobody made, and those are called unsupported.
"""

from __future__ import annotations

from ragtriage.judges.embedded.decompose import claims, facts, sentences
from ragtriage.judges.embedded.decompose.declines import declines
from ragtriage.judges.embedded.decompose.markup import on_page
from ragtriage.judges.embedded.decompose.questions import split_questions

split_claims = on_page(claims.split_claims)
split_facts = on_page(facts.split_facts)
split_sentences = on_page(sentences.split_sentences)

__all__ = ["declines", "split_claims", "split_facts", "split_questions", "split_sentences"]
