"""Reads texts by rules, without a model: blocks, sentences, claims, facts, questions, numbers, dates, citations.

English first and harmless on other languages; deterministic, without a model, in time that grows with the text.
When in doubt a sentence stays whole: a wrong split makes claims that nobody made, and those are called unsupported.
"""
