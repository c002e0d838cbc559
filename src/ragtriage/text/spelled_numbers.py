"""Numbers of several words, as contracts and chronicles write them: "one hundred and forty-six" → 146."""

from __future__ import annotations

import re

_UNITS = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
}
_TENS = {
    word: 10 * value
    for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
_WORD = "|".join(sorted([*_UNITS, *_TENS, *_SCALES], key=len, reverse=True))
_AND = "".join(rf"|(?<={scale}) and (?:{_WORD})\b" for scale in _SCALES)
_RUN = re.compile(rf"\b(?:a (?=hundred|thousand))?(?:{_WORD})\b(?:[- ](?:{_WORD})\b{_AND})*", re.IGNORECASE)
_ANY = re.compile(r"(?:ty[- ]|\b(?:hundred|thousand|[mb]illion)\b)", re.IGNORECASE)


def in_figures(text: str) -> str:
    """The text with numbers of several words in figures; those of one word, and what is no number, stay."""
    return _RUN.sub(_written, text) if _ANY.search(text) else text


def _written(found: re.Match[str]) -> str:
    words = re.findall(r"[a-z]+", found[0].lower())
    if len(words) < 2:
        return found[0]
    value = _value([word for word in words if word not in {"and", "a"}], bare="a" in words[:1])
    return found[0] if value is None else str(value)


def _value(words: list[str], *, bare: bool) -> int | None:
    """What the words amount to; None if they are no one number ("two three", "nineteen sixty")."""
    total, part, smallest = 0, 1 if bare else 0, 10**12
    for word in words:
        if word in _SCALES:
            scale = _SCALES[word]
            if part == 0 or (scale == 100 and part > 99) or (scale > 100 and scale >= smallest):
                return None
            if scale == 100:
                part *= 100
            else:
                total, part, smallest = total + part * scale, 0, scale
        elif word in _TENS:
            if part % 100:
                return None
            part += _TENS[word]
        elif part % 10 or (part % 100 and _UNITS[word] > 9) or (part and not _UNITS[word]):
            return None
        else:
            part += _UNITS[word]
    return total + part
