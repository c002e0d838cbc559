"""Which details of a sentence may be changed so that it surely says something else: none that is, or may be, a bound.

What holds "within 14 days" holds within 20 days too, and "120 minutes or more" includes 156 minutes. Whether a changed
claim still follows depends on the direction, which rules can't tell for sure, so such details aren't changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragtriage.text import dates, split_sentences
from ragtriage.text.words import NEGATIONS, fold, tokens
from ragtriage.trust.content_words import content_words

MONTHS = tuple(map(str.title, dates.MONTHS))
DAYS = tuple(map(str.title, dates.WEEKDAYS))
LAST_DAY = 28
"""The last day that every month has."""
_NEAR, _AROUND = 3, 6
"""Content words to each side of a detail in the sentence, and in a source."""
_MORE = (
    "more|less|fewer|greater|higher|lower|longer|shorter|older|younger|later|earlier|larger|bigger|smaller|better|worse|"
    "over|under|above|below|upwards?|up|beyond|after|before|further"
)
_BOUNDS = (
    rf"at\s+(?:the\s+)?(?:least|most|latest|earliest)|up\s+to|within|under|over|above|below|beyond|inside|(?:{_MORE})\s+"
    r"than|as\s+(?:much|many|few|little|long|short|early|late|high|low|far)\s+as|between"
)
_TIMES = r"by|before|after|until|till|since|from|to|through|starting"
_CLOSE = r"ages?|aged|age\s+of|first|last|next|past|previous|following|initial|coming|reach(?:es|ed)?|during|throughout"
_BEFORE = re.compile(
    rf"(?:\b(?:{_BOUNDS})\s+(?:[\w'’-]+\s+){{0,3}}|"
    rf"\b(?:{_TIMES})\s+(?:[\w'’-]+\s+){{0,2}}|\b(?:{_CLOSE})\s+|[<>≤≥])[^\w\s]{{0,2}}$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    rf"^[^\w\s,;.]{{0,2}}(?:\s*\+|\s*(?:[\w'’%-]+\s+){{0,3}}?(?:(?:or|and)\s+(?:{_MORE})|at\s+(?:the\s+)?(?:least|most|"
    rf"latest|earliest)|before|after|until|prior|ahead|beforehand|in\s+advance|(?:{_MORE})\s+than)\b)|^\s*%?\s*(?:or|and)"
    rf"\s+(?:{_MORE})\b",
    re.IGNORECASE,
)
_EDGED = re.compile(r"\b(?:minim\w+|maxim\w+|limit\w*|capped|exceed\w*|thresholds?)\b", re.IGNORECASE)
_CONDITION = re.compile(r"\b(?:if|unless|whenever|when|once|provided|as long as)\b[^,;:.]*$", re.IGNORECASE)
_ITEM = rf"(?:[^\w\s]?\d|(?:{'|'.join((*MONTHS, *DAYS))})\b)"
_TO = r"(?:\s*[-–—/]\s*|\s+(?:to|through|till|until|or|and)\s+)"
_GOES_ON = re.compile(rf"^(?:st|nd|rd|th)?(?:\s?%|\s[^\W\d_.]+)?{_TO}{_ITEM}", re.IGNORECASE)
_CAME_FROM = re.compile(
    rf"(?:\d(?:st|nd|rd|th)?(?:\s?%|\s[^\W\d_.]+)?|\b(?:{'|'.join((*MONTHS, *DAYS))})s?){_TO}[^\w\s]?$"
    r"|[-–—/]\s*[^\w\s]?$",
    re.IGNORECASE,
)
_NAMED_MONTH = "|".join(map(str.title, dates.MONTH_NUMBERS))
_DAY_BEFORE = re.compile(rf"^(?:st|nd|rd|th)?(?:\s+of)?\s+(?:{_NAMED_MONTH})\b")
_DAY_AFTER = re.compile(rf"\b(?:{_NAMED_MONTH})\.?\s+(?:the\s+)?$")
_CLOCK = re.compile(r"^\s*(?:[ap]\.?m\b|o['’]clock)", re.IGNORECASE)
_PERCENT = re.compile(r"^\s*(?:%|per\s?cent\b)", re.IGNORECASE)
_UNIT_OF_TIME = re.compile(r"^\s+(?:working\s+|business\s+|calendar\s+)?(?:second|minute|hour|day|week|month|year)s?\b")
_GIVEN = re.compile(
    r"\b(?:can|may|could|might|must|should|has to|have to|needs?|requires?|required|allowed|permitted|entitled|valid|"
    r"free|have|has|gets?|keeps?|lasts?|stays?|remains?|for)\b",
    re.IGNORECASE,
)


def may_be_bound(sentence: str, span: tuple[int, int]) -> bool:
    """Whether a detail is, or may be, one end of what a sentence says, or stands in a condition or a denial."""
    before, after = sentence[: span[0]], sentence[span[1] :]
    if _EDGED.search(sentence) or _BEFORE.search(before) or _AFTER.search(after):
        return True
    if _GOES_ON.search(after) or _CAME_FROM.search(before) or _CONDITION.search(before):
        return True
    if re.search(r"\b(?:in)\s+$", before, re.IGNORECASE) and _UNIT_OF_TIME.search(after):
        return True  # done in 3 days, done in 5
    return negation_count(re.split(r"[,;:]", before)[-1]) > 0


def smaller_still_follows(sentence: str, span: tuple[int, int]) -> bool:
    """Whether a smaller number may still follow: who may take two may take one, what lasts 14 days lasts 3."""
    return bool(_GIVEN.search(sentence[: span[0]]))


def largest_possible(sentence: str, span: tuple[int, int]) -> int | None:
    """The largest number that can stand there: a day of a month, an hour, a percentage; None if any can."""
    before, after = sentence[: span[0]], sentence[span[1] :]
    if _DAY_BEFORE.search(after) or _DAY_AFTER.search(before):
        return LAST_DAY
    if re.fullmatch(r"\d{1,2}\.\d{1,2}\.\d{2,4}", sentence[slice(*span)]):
        return 12
    if _CLOCK.search(after):
        return 12
    return 100 if _PERCENT.search(after) else None


def held_in_context(sentence: str, detail: str, sources: Sequence[str]) -> bool:
    """Whether a source holds a detail of a sentence next to the words that it stands next to there."""
    said = content_words(sentence)
    wanted = set(content_words(detail))
    near = {word for around in _around(said, wanted, _NEAR) for word in around}
    if not near:
        return False
    held = (one.text for source in sources for one in split_sentences(source))
    found = (around for text in held for around in _around(content_words(text), wanted, _AROUND))
    return any(len(near & around) >= min(2, len(near)) for around in found)


def negation_count(text: str) -> int:
    """How many words of a text deny something."""
    return sum(fold(token) in NEGATIONS or token.lower().endswith(("n't", "n’t")) for token in tokens(text))


def _around(words: Sequence[str], wanted: set[str], far: int) -> list[set[str]]:
    """The words around each place where a detail stands."""
    places = (i for i, word in enumerate(words) if word in wanted)
    return [set(words[max(0, i - far) : i + far + 1]) - wanted for i in places]
