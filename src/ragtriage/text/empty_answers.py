"""Words that stand for an answer and are none: "N/A", "null", "None", "Unknown", "-"."""

import re
from collections.abc import Sequence

from ragtriage.text.lexicon import REMARKS
from ragtriage.text.questions import question_type
from ragtriage.text.sentences import split_sentences
from ragtriage.text.words import STOP, fold, stem, tokens

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
