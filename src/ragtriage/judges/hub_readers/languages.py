"""Texts of other languages than English, broken into sentences by the same marks: what is done, and where it isn't."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

from ragtriage.core.questions import Kind, Question
from ragtriage.core.validation import STRICT, validated
from ragtriage.core.verdicts import Component, Components
from ragtriage.text import split_claims, split_facts, split_questions, split_sentences
from ragtriage.text.language import language_name

VERSION = 1
"""Of these rules; part of the fingerprint of what they answer."""
RULES: Mapping[Kind, Callable[[Question], Components]] = {
    "claims": lambda q: split_claims(q.subject, q.query),
    "facts": lambda q: split_facts(q.subject),
    "questions": lambda q: split_questions(q.subject),
    "sentences": lambda q: split_sentences(q.subject),
}
"""The kinds that are answered by where sentences end."""
_LETTER = re.compile(r"(?:^|[\s(])[^\W\d_]\.$")
_NUMBER = re.compile(r"(?:^|[\s(])\d{1,2}\.$")
_WORD = re.compile(r"([^\W_]+°?)\.$")


@dataclass(frozen=True, slots=True)
class LanguageRules:
    """Where a full stop ends no sentence."""

    abbreviations: tuple[str, ...] = ()
    """In small letters, without the full stop."""
    ordinals: bool = False
    """Whether a number of one or two digits with a full stop is an ordinal."""

    __pydantic_config__: ClassVar[dict[str, str]] = STRICT


@cache
def languages() -> Mapping[str, LanguageRules]:
    """ISO 639-1 code → rules, of the languages that end sentences as English does."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {code: validated(LanguageRules, row, "rule") for code, row in table.items()}


def undivided_reason(language: str) -> str | None:
    """None where texts of this language are broken into sentences, else the reason why not."""
    if language in languages():
        return None
    return (
        f"claims, facts and sentences are told apart by full stops with a space behind them, which "
        f"{language_name(language)} isn't known to be written with"
    )


def components_in(kind: Kind, question: Question, language: str) -> Components:
    """The components of a text in another language than English.

    Sentences stay whole: claims are told apart within a sentence, and remarks recognised, in English only.
    """
    found = RULES[kind](question)
    return _joined(question.subject, found, languages().get(language, LanguageRules()))


def _joined(text: str, found: Components, rules: LanguageRules) -> Components:
    """Components with those put together between which no sentence ends."""
    joined: list[Component] = []
    for one in found:
        last = joined[-1] if joined else None
        if last and last.span and one.span and _goes_on(text[slice(*last.span)], rules.abbreviations, rules.ordinals):
            between = text[last.span[1] : one.span[0]]
            if not between.strip() and "\n" not in between:
                span = (last.span[0], one.span[1])
                joined[-1] = replace(last, text=text[slice(*span)], span=span, remark=False)
                continue
        # what looks like an English remark may be a claim here
        joined.append(replace(one, remark=one.remark and text[slice(*(one.span or (0, 0)))].rstrip().endswith("?")))
    return tuple(joined)


def _goes_on(said: str, abbreviations: Collection[str], ordinals: bool) -> bool:  # noqa: FBT001 - a rule's own field
    """Whether a sentence goes on behind this part of it."""
    word = _WORD.search(said)
    if not word:
        return False
    return (
        _LETTER.search(said) is not None
        or (ordinals and _NUMBER.search(said) is not None)
        or word[1].lower() in abbreviations
    )
