"""Texts of other languages than English, broken into sentences by the same marks: what is done, and where it isn't."""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import ClassVar

from ragtriage.core.questions import Kind, Question
from ragtriage.core.validation import STRICT, validated
from ragtriage.core.verdicts import Component, Components
from ragtriage.text.claims import split_claims
from ragtriage.text.language import language_name
from ragtriage.text.markup import plain_text
from ragtriage.text.questions import split_questions
from ragtriage.text.sentences import TOGETHER, split_facts, split_sentences

VERSION = 2
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
_BEGINS = ("¿", "¡")
_SPACED = re.compile(r"\s[!?]+(?P<gap>\s+)(?=[\"'«“(]?\s?(?P<next>\w))")
_INVERTED = re.compile(r"(?<=[.!?…])(?P<gap>\s*)(?=[¿¡])")
_STOP = re.compile(r"[.!?…]+[\"'”’»)\]]*\s+[\"'«“(¿¡]?\s?(?P<next>\w)")
_CLAUSE = re.compile(r"\s?;\s|(?P<short>\s?:\s|\s[–—]\s|\s¿)")
_STATEMENT = 3
"""Words from which on what stands before a colon, a dash or "¿" may state something."""


@dataclass(frozen=True, slots=True)
class LanguageRules:
    """Where a full stop ends no sentence, and where a question mark asks nothing."""

    abbreviations: tuple[str, ...] = ()
    """In small letters, without the full stop."""
    ordinals: bool = False
    """Whether a number of one or two digits with a full stop is an ordinal."""
    conditions: tuple[str, ...] = ()
    """With what a clause before "¿" begins that states nothing, in small letters."""
    tags: tuple[str, ...] = ()
    """What makes a statement ask for consent at its end, in small letters, without marks: `n'est-ce pas`."""

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

    Sentences stay whole: claims are told apart within a sentence, and remarks recognised, in English only. A sentence
    that only asks is a remark all the same.
    """
    found, rules = RULES[kind](question), languages().get(language, LanguageRules())
    # of a query only what asks is kept, by rules that read it as a whole
    parts = found if kind == "questions" else [part for one in found for part in _cut(question.subject, one)]
    return _joined(question.subject, parts, rules)


def _cut(text: str, one: Component) -> Iterator[Component]:
    """A component in pieces: unlike in English, a mark with a space before it ends a sentence, and "¿" begins one."""
    begin, end = one.span or (0, 0)
    raw = text[begin:end]
    together = [m.span() for m in TOGETHER.finditer(raw)]
    ends = [m for m in _SPACED.finditer(raw) if not m["next"].islower()] + [*_INVERTED.finditer(raw)]
    cuts = sorted(m.span("gap") for m in ends if not any(a < m.start("gap") < b for a, b in together))
    said = plain_text(raw)
    if not cuts or not one.text.endswith(said):
        yield one
        return
    before = one.text.removesuffix(said)
    for a, b in zip([0, *(b for _, b in cuts)], [*(a for a, _ in cuts), len(raw)], strict=True):
        piece = plain_text(raw[a:b])
        yield replace(one, text=piece if a else before + piece, span=(begin + a, begin + b))


def _joined(text: str, found: Iterable[Component], rules: LanguageRules) -> Components:
    """Components with those put together between which no sentence ends."""
    joined: list[Component] = []
    for one in found:
        last = joined[-1] if joined else None
        said = text[slice(*(one.span or (0, 0)))]
        # what looks like an English remark may be a claim here
        remark = one.remark and only_asks(said, rules)
        if (
            last
            and last.span
            and one.span
            and not said.startswith(_BEGINS)
            and _goes_on(text[slice(*last.span)], rules)
        ):
            between = text[last.span[1] : one.span[0]]
            if not between.strip() and "\n" not in between:
                span = (last.span[0], one.span[1])
                whole = text[slice(*span)]
                joined[-1] = replace(last, text=whole, span=span, remark=remark and only_asks(whole, rules))
                continue
        joined.append(replace(one, remark=remark))
    return tuple(joined)


def only_asks(said: str, rules: LanguageRules) -> bool:
    """Whether a sentence asks and surely states nothing: where it might, it isn't lost as a remark.

    A statement may stand before a full stop that wasn't taken for an end ("99 Mio. Haben Sie …?"), before a semicolon,
    before a "¿" within the sentence, or before one of the `tags` that ask for consent ("Es kostet 99 Euro, oder?").
    """
    said = said.strip()
    if not said.endswith("?"):
        return False
    asked = said.rstrip("?! \u00a0\u202f")
    head, _, tail = asked.rpartition(",")
    if head and tail.strip().lstrip("¿").replace("’", "'").lower() in rules.tags:
        return False
    if said.startswith("¿") and said.count("¿") == 1 and "?" not in asked:
        return True
    for stop in _STOP.finditer(asked):
        numbered = stop["next"].isdigit() and _goes_on(asked[: stop.start() + 1], rules)
        if not numbered and not stop["next"].islower():
            return False
    for clause in _CLAUSE.finditer(asked):
        words = asked[: clause.start()].lower().split()
        conditional = clause[0].endswith("¿") and words and words[0] in rules.conditions
        if clause["short"] is None or (len(words) >= _STATEMENT and not conditional):
            return False
    return True


def _goes_on(said: str, rules: LanguageRules) -> bool:
    """Whether a sentence goes on behind this part of it."""
    word = _WORD.search(said)
    if not word:
        return False
    return (
        _LETTER.search(said) is not None
        or (rules.ordinals and _NUMBER.search(said) is not None)
        or word[1].lower() in rules.abbreviations
    )
