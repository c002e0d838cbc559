"""Answers that only their question explains: a yes or no alone, and words that stand for none ("N/A", "null", "-")."""

import re
from collections.abc import Sequence
from functools import lru_cache

from ragtriage.text.lexicon import QUESTIONS, REMARKS
from ragtriage.text.questions import question_type, split_questions
from ragtriage.text.sentences import split_sentences
from ragtriage.text.words import STOP, fold, stem, tokens

_TENSES = QUESTIONS.regex("yes_no_auxiliary")
_ASKS = re.compile(rf"(?i)(?:.{{0,60}}[,:.!]\s+)?({_TENSES})(n['’]t)?\s+(\S.*?)[\s?!.]*\Z", re.DOTALL)
_ALONE = re.compile(QUESTIONS.regex("yes_no_alone"), re.IGNORECASE)
_NOT = re.compile(r"n['’]t\b|\bnot\b", re.IGNORECASE)
_SHORT = {"ca": "can", "wo": "will"}
_PRONOUNS, _DETERMINERS, _VERBS, _PREDICATES, _PLACES = (
    QUESTIONS.words(name)
    for name in ("subject_pronouns", "determiners", "asked_verbs", "asked_predicates", "prepositions")
)
_BE = frozenset("am is are was were".split())
_HAVE = frozenset("has have had".split())
_PARTICIPLE = re.compile(r"\w{2,}(?:ed|en|ing)\Z")


def is_yes(said: str) -> bool | None:
    """Whether a reply that is a yes or no and nothing else says yes; None for any other text."""
    found = _ALONE.fullmatch(said.strip())
    if found is None:
        return None
    if found["yes"] or found["no"]:
        return bool(found["yes"])
    return _NOT.search(said) is None


@lru_cache(256)  # asked for each source and for the claims
def stated(query: str, *, yes: bool) -> str:
    """What a yes, or a no, to a query states; empty where the query asks no such question, or several things."""
    asked = split_questions(query)
    found = _ASKS.fullmatch(asked[0].text.strip()) if len(asked) == 1 else None
    if found is None:
        return ""
    auxiliary = found[1].lower()
    auxiliary = _SHORT.get(auxiliary, auxiliary) if found[2] else auxiliary
    words = found[3].split()
    at = _subject_end(auxiliary, words)
    if not 0 < at < len(words):
        return ""
    subject, rest = words[:at], words[at:]
    if not yes:
        said = [*subject, "cannot" if auxiliary == "can" else f"{auxiliary} not", *rest]
    elif auxiliary == "do":
        said = words
    elif auxiliary == "does":
        said = [*subject, _third_person(rest[0]), *rest[1:]]
    else:
        said = [*subject, auxiliary, *rest]
    text = " ".join(said)
    return f"{text[:1].upper()}{text[1:]}."


def _third_person(verb: str) -> str:
    if verb == "have":
        return "has"
    if verb[-1:] == "y" and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{verb}s"


def _subject_end(auxiliary: str, words: list[str]) -> int:
    """How many words the subject has behind the auxiliary; 0 where nothing tells."""
    low = [word.lower().strip(",") for word in words]
    if low[0] in _PRONOUNS and low[1:2] != ["of"]:
        return 1
    first = 1 if low[0] in _DETERMINERS else 0
    for at in range(max(1, first + 1), len(words)):
        word = low[at]
        if auxiliary in _BE | _HAVE:
            begins = word in _PREDICATES or word in _DETERMINERS or _PARTICIPLE.match(word) is not None
            begins = begins and not (word in _DETERMINERS and low[at - 1] in _PLACES)
        else:
            begins = word in _VERBS and low[at - 1] not in _DETERMINERS and not words[at][:1].isupper()
        if begins:
            return at
    if auxiliary not in _BE:  # a name
        return next((at for at, word in enumerate(words) if not word[:1].isupper()), 0)
    return next((at for at in range(first + 1, len(words)) if low[at] in _PLACES), len(words) - 1)


_LONGEST = 60
_COUNTED = re.compile(r"(?i)\b(?:which|what|how many|any)\b")
_WORD = re.compile(r"\w[\w/ ]*")


def says_no_answer(said: str) -> bool:
    """Whether a text is a word for "no answer", or no word at all."""
    return len(said) <= _LONGEST and REMARKS["no_answer"].fullmatch(said) is not None


def answers_nothing(said: str, query: str, sources: Sequence[str]) -> bool:
    """Whether a response is a word for "no answer", or no word at all.

    It is an answer where a source says as much: "None." if there are no allergens, "Unknown" if nobody knows, "null" if
    a sentence about what is asked has the word. Without sources "none" answers what may be counted.
    """
    if not says_no_answer(said):
        return False
    found = _WORD.search(said)
    return found is None or not _is_said(found[0].strip().lower(), query, sources)


def _is_said(word: str, query: str, sources: Sequence[str]) -> bool:
    """Whether a word for "no answer" is the answer all the same."""
    written = re.compile(rf"(?<![\w/]){re.escape(word)}(?![\w/])", re.IGNORECASE)
    asked = {stem(fold(one)) for one in tokens(query) if fold(one) not in STOP}
    said = [one.text for text in sources if written.search(text) for one in split_sentences(text)]
    about = [one for one in said if written.search(one) and not asked.isdisjoint(stem(fold(w)) for w in tokens(one))]
    if about or written.search(query):
        return True
    first = word.partition(" ")[0]
    if first in {"none", "nil", "nothing"}:
        return any(_says_none(query, text) for text in sources) or (not sources and bool(_COUNTED.search(query)))
    if word == "unknown":
        return any(REMARKS["says_unknown"].search(text) for text in sources)
    return first in {"no", "not"} and question_type(query) == "yesno"


def _says_none(query: str, text: str) -> bool:
    """Whether a source says that there is none of what is asked for."""
    asked = {stem(fold(word)) for word in tokens(query) if fold(word) not in STOP}
    return any(stem(fold(word)) in asked for m in REMARKS["says_none"].finditer(text) for word in tokens(m[1]))
