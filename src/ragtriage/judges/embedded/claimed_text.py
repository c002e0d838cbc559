"""What is claimed, ready to be compared: a claim without its origin, a short reply with the question.

"Based on the provided passages, the fee is 5 euros (Passage 2) [3]" claims that the fee is 5 euros; no passage contains
the words about passages.

Short replies ("In 1912.", "Yes.", "Your line manager") that only make sense after the question.

They share no word with the question and answer nothing when read alone. A reply that is this brief, doesn't decline and
is no sentence about something else counts as an answer if it can be of the kind that is asked for.
"""

from __future__ import annotations

import re

from ragtriage.judges.embedded.passages import read_sentence
from ragtriage.judges.embedded.rules import RULES
from ragtriage.text import split_questions
from ragtriage.text.dates import DATE_NAMES
from ragtriage.text.numbers import NUMBER_WORDS
from ragtriage.text.pronouns import AUXILIARY_WORD, stands_alone, subject
from ragtriage.text.questions import question_type
from ragtriage.text.words import tokens

_NAMED = RULES.regex("named_text")
_LINK = RULES.regex("link")
_SAYS = RULES.regex("text_says")
_LEADS = (
    re.compile(
        rf"^\s*{_LINK}(?:based (?:solely |only )?(?:on|upon)|according to|per"
        r"|as (?:stated|mentioned|noted|described|explained) (?:in|by))\s+"
        rf"(?:(?:the\s+)?information\s+(?:provided\s+|given\s+|contained\s+)?(?:in|from|by)\s+)?{_NAMED}\s*[,:]\s*",
        re.IGNORECASE,
    ),
    re.compile(rf"^\s*{_LINK}{_NAMED}\s+{_SAYS}", re.IGNORECASE),
)


def without_attribution(claim: str) -> str:
    """The claim without marks and phrases of attribution; as it stands if nothing else would be left."""
    text = RULES["attribution_marks"].sub("", claim)
    for lead in _LEADS:
        text = lead.sub("", text, count=1)
    text = text.strip()
    return text if sum(c.isalpha() for c in text) > 2 else claim


WORDS = 12
"""Up to so many words a text without a subject is a short reply."""
LONGER = 24
"""Up to so many, if it has no auxiliary either, and no word of the question: a list of things, a reason, a way."""

_TIME = RULES.words("time_words")
_AMOUNT = RULES.words("amount_words")
_DIGIT = re.compile(r"\d")
_NAME = re.compile(r"(?<!^)\b[A-Z]")
_YES_NO = re.compile(r"\W*(?:(yes|yeah|yep|correct|right|true)|no|nope|false|incorrect)\b", re.IGNORECASE)


def is_short_reply(query: str, question: str, claims: str) -> bool:
    """Whether a response is a short reply that can answer a question, or begins with one.

    Args:
        query: what the user asked; of several sub-questions a reply answers those whose kind it is surely of.
        question: one of its sub-questions.
        claims: what the response claims, a line a claim. The first of several has to be surely of the kind, too,
            and to have no word of the question.
    """
    said, _, more = claims.partition("\n")
    words = [word.lower() for word in tokens(said)]
    if not words or stands_alone(subject(said.strip())):
        return False
    if (more or len(words) > WORDS) and not _elliptic(question, said, len(words)):
        return False
    kind = question_type(question)
    numbers = _DIGIT.search(said) is not None or not NUMBER_WORDS.keys().isdisjoint(words)
    named = _NAME.search(said.strip()) is not None
    if kind == "when":
        return numbers or not (_TIME | DATE_NAMES).isdisjoint([*words, *(word.removesuffix("s") for word in words)])
    if kind == "number":
        return numbers or not _AMOUNT.isdisjoint(words)
    alone = not more and len(split_questions(query)) <= 1
    if kind in {"who", "where"}:
        return (named and alone) if _DIGIT.search(said) else named or alone
    return alone or (kind == "yesno" and _YES_NO.match(said) is not None)


def asserted_text(query: str, claim: str) -> str:
    """What a claim says: of a yes alone what was asked, nothing if that is several things, nor of a no alone."""
    yes_no = _YES_NO.match(claim)
    if yes_no is None or read_sentence(claim[yes_no.end() :]).stems:
        return claim
    return query if yes_no[1] and len(split_questions(query)) == 1 else ""


def _elliptic(question: str, said: str, words: int) -> bool:
    shared = read_sentence(said).stemset & read_sentence(question).stemset
    return words <= LONGER and not shared and AUXILIARY_WORD.search(said) is None
