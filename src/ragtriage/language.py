"""Which language a case is in, decided on its whole text so that a short query isn't misread."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from ragtriage.case import Case

UNDECIDED = "en"
"""What a text without enough letters is taken for: there is nothing in it that another language would change."""

_SAMPLE = 4000
_ENGLISH = frozenset(
    "the of and to in is that for it with as was on are be this by or from at an have has not you your can will which "
    "if when what how who where do does there their they we our all any may must should been were but no".split()
)
_LATIN_END = 0x250
_WORD = re.compile(r"[^\W\d_]+")


def text_of(case: Case) -> str:
    """The case's text, response and sources first, cut to what is enough to decide."""
    parts = [case.query, case.response or "", *(source.text[:_SAMPLE] for source in case.sources[:8])]
    return "\n".join(part[:_SAMPLE] for part in parts)


def language_of(case: Case) -> str:
    """The ISO 639-1 code of the case's language.

    English wherever enough of the words are common English ones, which is certain and quick; else what a classifier of
    97 languages finds most probable among the words (Lui and Baldwin 2012, `py3langid`). Tables and code, which have
    few words of any language, are left undecided and taken for English.
    """
    text = text_of(case)
    words = _WORD.findall(text)
    letters = "".join(words)
    if sum(ord(letter) >= _LATIN_END for letter in letters) > len(letters) / 2:
        return _ranked(text)[0]
    common = sum(word.lower() in _ENGLISH for word in words) / max(1, len(words))
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
