"""An altered claim: a number, a month or a name that the sources no longer support."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from ragtriage.core.case import Case
from ragtriage.text import dates
from ragtriage.text.dates import YEAR
from ragtriage.text.sentences import split_sentences
from ragtriage.text.words import NEGATIONS, ONE_TO_TWELVE, fold, tokens
from ragtriage.trust.pair_files import Change
from ragtriage.trust.perturb.changes import CannotPerturb, FileContext, PerturbedCase, coverage
from ragtriage.trust.wording import NUMBER, content_words, name_words, names, numbers

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
    return _denies(re.split(r"[,;:]", before)[-1])


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


def _denies(text: str) -> bool:
    """Whether a word of a text denies something."""
    return any(fold(token) in NEGATIONS or token.lower().endswith(("n't", "n’t")) for token in tokens(text))


def _around(words: Sequence[str], wanted: set[str], far: int) -> list[set[str]]:
    """The words around each place where a detail stands."""
    places = (i for i, word in enumerate(words) if word in wanted)
    return [set(words[max(0, i - far) : i + far + 1]) - wanted for i in places]


SURE = 0.6
"""The share of a sentence's content words that one source has to hold, so that it was surely supported before."""
_COUNTS = ONE_TO_TWELVE[1:]
_MAY_THE_MONTH = re.compile(r"(?:\d|in|of|since|until|mid|early|late) ?$")

Alteration = tuple[str, str, str]
"""(the altered sentence, what stood there, what stands there now)."""


def claim_altered(case: Case, context: FileContext) -> PerturbedCase:
    """Change one detail of a sentence that a source surely supports, so that no source supports it any more.

    Tried in this order: a number, a month or day, a number in words, a name. A number, month or day is only changed
    where a source holds it beside the same words, and where it is no bound (see `may_be_bound`).
    """
    sentences = [one for one in split_sentences(case.response or "") if not one.text.rstrip().endswith("?")]
    sure = [one for one in sentences if _supported(one.text, case)]
    if not sure:
        raise CannotPerturb("no sentence of the response is surely supported")
    ways: tuple[Callable[[str, Case, FileContext], Iterator[Alteration]], ...] = (
        _numbers, partial(_listed, lists=(MONTHS, DAYS)), partial(_listed, lists=(_COUNTS,)), _names,
    )  # fmt: skip
    for way in ways:
        for sentence in sorted(sure, key=lambda one: context.order_key(case.id, one.text)):
            for altered, before, after in way(sentence.text, case, context):
                start, end = sentence.span or (0, 0)
                response = case.response or ""
                worse = replace(case, response=response[:start] + altered + response[end:])
                return worse, Change(f"a claim altered: {before} → {after}", "response", sentence.text, altered)
    raise CannotPerturb("no sentence has a detail that can be changed so that it is surely unsupported")


def _supported(sentence: str, case: Case) -> bool:
    """Whether a source covers a sentence, and all its numbers and names stand in the sources or the query."""
    if max((coverage(sentence, source.text) for source in case.known_sources), default=0.0) < SURE:
        return False
    there = set(content_words(" ".join([*(source.text for source in case.known_sources), case.query])))
    return numbers(re.sub(r"\[[^\]]*\]", "", sentence)) | name_words(sentence) <= there


def _numbers(sentence: str, case: Case, context: FileContext) -> Iterator[Alteration]:
    """Numbers that stand in the sources, not in the query, changed into ones that stand nowhere."""
    there, asked = {value for source in case.known_sources for value in numbers(source.text)}, numbers(case.query)
    for match in NUMBER.finditer(sentence):
        (value,) = numbers(match[0]) or {""}
        after = sentence[match.end() :]
        cited = after.startswith("]") or (match.start() == 0 and after.startswith((". ", ") ")))
        if value not in there or value in asked or cited or match[0].startswith("0"):
            continue
        if not _free(sentence, match.span(), case):
            continue
        for other in _other_numbers(sentence, match.span(), context.order_key(case.id, sentence, match[0])):
            if not numbers(other) & (there | asked | numbers(case.response or "")):
                yield _put(sentence, match.span(), other)
                break


def _free(sentence: str, span: tuple[int, int], case: Case) -> bool:
    """Whether a detail may be changed: it is no bound, and a source surely says it of the same."""
    sources = [source.text for source in case.known_sources]
    return not may_be_bound(sentence, span) and held_in_context(sentence, sentence[slice(*span)], sources)


def _dated(written: str, most: int | None) -> bool:
    """Whether a number is a time (a day, an hour, a year), which isn't more or less of anything."""
    return most in {LAST_DAY, 12} or ":" in written or re.fullmatch(YEAR, written) is not None


def _other_numbers(sentence: str, span: tuple[int, int], draw: bytes) -> Iterator[str]:
    """Other numbers of the same form that surely don't follow: the leading digits changed, the first ones drawn."""
    written, most = sentence[slice(*span)], largest_possible(sentence, span)
    whole = re.split(r"\D", written, maxsplit=1)[0]
    value, rest = int(whole), written[len(whole) :]
    if ":" in rest:
        steps = [value + n for n in range(1, 12) if value + n < 24] + list(range(1, value))
    elif len(whole) == 4 and 1000 <= value <= 2100 and not rest:
        steps = [value + n for n in (*range(-19, -2), *range(3, 20))]
    elif value <= 31:
        steps = [n for n in range(2, 60) if abs(n - value) > max(1, value // 4)]
    else:
        steps = [value + value * n // 10 for n in (3, 4, 5, 6, 7, 9, -3, -4, -5)]
    larger = smaller_still_follows(sentence, span) and not _dated(written, most)
    start = draw[0] % len(steps)
    for step in (*steps[start:], *steps[:start]):
        if not (larger and step <= value) and not (most and value <= most < step):
            yield f"{step}{rest}"


def _listed(
    sentence: str, case: Case, context: FileContext, lists: tuple[tuple[str, ...], ...]
) -> Iterator[Alteration]:
    """Words of these lists that stand in the sources, not in the query, changed into others of the same list."""
    there, asked = _known_words(case), set(content_words(case.query))
    for words, match in ((some, m) for some in lists for m in re.finditer(rf"\b({'|'.join(some)})s?\b", sentence)):
        if match[0] == "May" and not _MAY_THE_MONTH.search(sentence[: match.start()]):
            continue  # the verb at the beginning of a question or wish
        free = [word for word in words if not set(content_words(word)) & there]
        if words is _COUNTS and smaller_still_follows(sentence, match.span()):
            free = [word for word in free if words.index(word) > words.index(match[1])]
        if free and _free(sentence, match.span(), case) and not set(content_words(match[0])) & asked:
            other = free[context.order_key(case.id, sentence, match[0])[0] % len(free)]
            plural = "s" if match[0].endswith("s") and match[0] not in words else ""
            yield _put(sentence, match.span(), other + plural)


def _names(sentence: str, case: Case, context: FileContext) -> Iterator[Alteration]:
    """Names of two words or more that stand in the sources, changed into one that a source of another case holds."""
    known, asked = _known_words(case), set(content_words(case.query))
    for name in names(sentence):
        size = len(name.split())
        if (
            size < 2
            or set(content_words(name)) & asked
            or not any(name in source.text for source in case.known_sources)
        ):
            continue
        for text in context.unrelated_sources(case):
            others = [n for n in names(text) if len(n.split()) == size and not set(content_words(n)) & known]
            if others:
                start = sentence.index(name)
                yield _put(sentence, (start, start + len(name)), others[0])
                break


def _known_words(case: Case) -> set[str]:
    return set(
        content_words(" ".join([*(source.text for source in case.known_sources), case.query, case.response or ""]))
    )


def _put(sentence: str, span: tuple[int, int], other: str) -> Alteration:
    start, end = span
    return sentence[:start] + other + sentence[end:], sentence[start:end], other
