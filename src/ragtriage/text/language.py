"""Which language a case is in, decided on its whole text so that a short query isn't misread."""

import re
from functools import cache
from typing import Any

from ragtriage.core.case import Case
from ragtriage.text.lexicon import LANGUAGES, WORDS
from ragtriage.text.prepared import prepared

UNDECIDED = "en"
"""What a text without enough letters is taken for: there is nothing in it that another language would change."""

_SAMPLE = 4000
_ENGLISH = WORDS.words("common_english")
_LATIN = re.compile("[\0-\u024f]+")
_WORD = re.compile(r"[^\W\d_]+")
_PART = 12
"""Words that a part of a case must have to be of another language than the whole."""


def language_name(code: str) -> str:
    """The English name of a language; its code if it isn't known."""
    return str(LANGUAGES.entries.get(code, code))


def text_for_detection(case: Case) -> str:
    """The case's text, response and sources first, cut to what is enough to decide."""
    parts = [case.query, prepared(case).text, *(source.text[:_SAMPLE] for source in case.known_sources[:8])]
    return "\n".join(part[:_SAMPLE] for part in parts)


def language_of(case: Case) -> str:
    """The ISO 639-1 code of the case's language; of sources or an exchange in another language than the rest, theirs.

    The reason is that a claim can't be looked up by a judge that doesn't understand one of the two.

    English wherever enough of the words are common English ones, which is certain and quick; else what a classifier of
    97 languages finds most probable among the words (Lui and Baldwin 2012, `py3langid`). Tables and code, which have
    few words of any language, are left undecided and taken for English.
    """
    code = _language(text_for_detection(case))
    if code != UNDECIDED:
        return code
    said = f"{case.query}\n{prepared(case).text}"[:_SAMPLE]
    found = "\n".join(source.text[:_SAMPLE] for source in case.known_sources[:8])
    return next((other for part in (found, said) if (other := _of_part(part)) != UNDECIDED), UNDECIDED)


def language_of_text(text: str) -> str:
    """The ISO 639-1 code of one text's language; English where a short one leaves it open."""
    return _language(text[:_SAMPLE])


def _of_part(text: str) -> str:
    """The language of sources or of an exchange, where it is surely another one than English."""
    words = _WORD.findall(text)
    if _in_another_script(words):
        return _ranked(text)[0]
    if len(words) < _PART or _common(words) >= 0.08:
        return UNDECIDED
    code, probability = _ranked(" ".join(words))
    return code if probability >= 0.97 else UNDECIDED


def _in_another_script(words: list[str]) -> bool:
    letters = "".join(words)
    return 2 * len(_LATIN.sub("", letters)) > len(letters)


def _common(words: list[str]) -> float:
    return sum(word.lower() in _ENGLISH for word in words) / max(1, len(words))


def _language(text: str) -> str:
    words = _WORD.findall(text)
    if _in_another_script(words):
        return _ranked(text)[0]
    common = _common(words)
    if len(words) < 4 or common >= 0.2:
        return UNDECIDED
    code, probability = _ranked(" ".join(words))
    if (common >= 0.08 and probability < 0.999) or (len(words) < 12 and probability < 0.95):
        return UNDECIDED
    return code


def _ranked(text: str) -> tuple[str, float]:
    code, probability = _classifier().classify(text)
    return str(code), float(probability)


@cache
def _classifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # noqa: PLC0415  # it loads a model

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
