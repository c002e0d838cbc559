"""Texts that can't answer a question whatever words they share with it.

The models weigh shared words, so a menu, a heading or an empty page that names what is asked about looks like an
answer. Such a text states nothing: each of its lines is what stands around the content of a page, or says no more than
the question does. And a text without any amount, rate or time can't say how much, how many or when. Only clear cases
count: a table, a list of fields, a notice or a path through menus, where a way is asked for, may be all that is needed.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from ragtriage.judges.embedded.readings import RULES
from ragtriage.text import words as vocabulary
from ragtriage.text.markup import visible_text
from ragtriage.text.questions import question_type
from ragtriage.text.sentences import split_sentences
from ragtriage.text.values import MONEY, Value, values
from ragtriage.text.words import NUMBER_WORDS, multiword_numbers_as_figures, normalize_number

_BETWEEN_ITEMS = re.compile(r"\s*(?:[>»›|·•→]|\s/\s)\s*")
_STEPS = re.compile(r"[>»→]")
_FEWEST_ITEMS = 3
_LONGEST_ITEM = 4
"""Words of an item of a menu, at most."""
_LEADERS = re.compile(r"(?:\.\s?){4,}\s*\d+\s*$")
"""The dots between a heading and its page."""
_SPOILED = re.compile(r"[^\W\d_A-Z][0-9!@$|]+[^\W\d_A-Z]")
"""A sign or digit inside a word, as poor text recognition leaves it."""
_LETTERS = 0.65
"""The least share of letters of such a word; codes and checksums have less."""
_FEWEST_SPOILED, _SPOILED_SHARE = 3, 0.15
_YEAR = re.compile(r"(?<![\d.,])\d{3,4}(?![\d.,]\d)|['’]\d\d\b")
_SENTENCE = re.compile(r"(?:\S+\s+){4}.*\S[.!…][\"'”’)\]]*\s*$", re.DOTALL)
_FEWEST_COMMAS = 2
"""Between things that may be counted."""
_TIMES = frozenset(("date", "time", "weekday", "duration"))


def telling_texts(question: str, texts: Iterable[str]) -> tuple[str, ...]:
    """Those of the texts that may hold the answer to a question."""
    of_page = RULES["asks_of_page"].search(question) is not None
    return tuple(text for text in texts if any(_tells(question, one) for one in _statements(text, of_page=of_page)))


def hold_words(texts: Sequence[str]) -> bool:
    """Whether there is anything to read."""
    return any(c.isalnum() for text in texts for c in text)


def state_nothing(query: str, claim: str, texts: Sequence[str]) -> bool:
    """Whether texts are nothing but furniture of pages, so that they support no claim that isn't about that."""
    if not hold_words(texts):
        return False
    of_page = RULES["asks_of_page"].search(f"{query} {claim}") is not None
    return not of_page and not any(_statements(text, of_page=False) for text in texts)


def lacks_what_is_asked(question: str, texts: Iterable[str]) -> bool:
    """Whether texts hold nothing of the kind that a question asks for: no amount, no rate, no time, no number."""
    kind = next((kind for kind in _HOLDS if RULES[f"asks_for_{kind}"].search(question)), None)
    return kind is not None and not any(_HOLDS[kind](question, visible_text(text)) for text in texts)


def asks_to_count(question: str) -> bool:
    """Whether what is asked for may be counted in a text that doesn't state it."""
    return RULES["asks_for_count"].search(question) is not None


def is_prose(sentences: Sequence[str]) -> bool:
    """Whether half or more of a text's pieces are sentences of five words or more, and not fields, rows or notices."""
    return sum(_SENTENCE.match(one) is not None for one in sentences) * 2 >= len(sentences) > 0


@lru_cache(1024)
def _statements(text: str, *, of_page: bool) -> tuple[str, ...]:
    """The sentences and lines of a text that aren't the furniture of a page, unless the question is `of_page`s."""
    if of_page:
        return (text,)
    found: list[str] = []
    for line in visible_text(text).splitlines():
        said = () if _LEADERS.search(line) else split_sentences(line)
        found += [one.text for one in said if not _is_furniture(one.text)]
    return tuple(found)


def _is_furniture(said: str) -> bool:
    """Whether a sentence or line only says where one is on a page, or what can be done with the page."""
    words = said.split()
    spoiled = sum(_SPOILED.search(w) is not None and sum(map(str.isalpha, w)) >= _LETTERS * len(w) for w in words)
    return (
        not any(c.isalnum() for c in said)
        or RULES["furniture"].fullmatch(said.strip()) is not None
        or (spoiled >= _FEWEST_SPOILED and spoiled >= _SPOILED_SHARE * len(words))
    )


def _tells(question: str, said: str) -> bool:
    """Whether a statement says more than a question does, and isn't a menu, unless that may be the way asked for."""
    kind = question_type(question)
    if said.rstrip().endswith("?"):
        return False
    way = kind in {"how", "where"} and _STEPS.search(said) and not RULES["home"].match(said)
    if _is_menu(said) and not way:
        return False
    return kind == "yesno" or _adds_to(question, said)


def _is_menu(said: str) -> bool:
    """Whether a line consists of short items with signs between them, and no number or field."""
    items = [item for item in _BETWEEN_ITEMS.split(said) if item]
    return (
        len(items) >= _FEWEST_ITEMS
        and all(len(item.split()) <= _LONGEST_ITEM for item in items)
        and not re.search(r"[\d:=@]", said)
        and not said.lstrip().startswith("|")
    )


def _adds_to(question: str, said: str) -> bool:
    """Whether a statement has a word or number that the question hasn't, small words and marks of headings aside."""
    known = {vocabulary.token_stem(word) for word in vocabulary.tokens(question)}
    words = vocabulary.tokens(RULES["heading_marks"].sub(" ", said))
    return any(
        vocabulary.token_stem(word) not in known and vocabulary.fold(word) not in RULES.words("adds_nothing")
        for word in words
    )


def _numbers(text: str) -> frozenset[str]:
    """Numbers in figures or words, in one form."""
    tokens = vocabulary.tokens(multiword_numbers_as_figures(text))
    figures = {normalize_number(token) for token in tokens if token[0].isdigit()}
    return frozenset(figures | {NUMBER_WORDS[word] for token in tokens if (word := token.lower()) in NUMBER_WORDS})


def _has_number(question: str, text: str, wanted: Callable[[Value], bool]) -> bool:
    """Whether a text has a number that the question hasn't, with a unit that may be wanted or without one."""
    rest = text
    for one in values(text):
        if one.text not in question and wanted(one):
            return True
        rest = rest[: one.span[0]] + " " * (one.span[1] - one.span[0]) + rest[one.span[1] :]
    return bool(_numbers(rest) - _numbers(question))


def _holds_words(name: str, text: str) -> bool:
    words = {vocabulary.fold(word) for word in vocabulary.tokens(text)}
    return not RULES.words(name).isdisjoint({*words, *(word.removesuffix("s") for word in words)})


def _counts_things(one: Value) -> bool:
    """Whether a number is one of things or measures, and so no amount of money."""
    return one.kind != MONEY and (not one.counted or one.text.endswith("s"))


def _holds_price(question: str, text: str) -> bool:
    return _holds_words("price_words", text) or _has_number(question, text, lambda one: not _counts_things(one))


def _holds_rate(question: str, text: str) -> bool:
    in_fields = "|" in text or ":" in text
    return (
        _holds_words("rate_words", text)
        or RULES["rate_signs"].search(text) is not None
        or (in_fields and _holds_price(question, text))
    )


def _holds_time(question: str, text: str) -> bool:
    return _holds_words("time_said_words", text) or _has_number(question, text, lambda one: one.kind in _TIMES)


def _holds_year(question: str, text: str) -> bool:
    figures = set(_YEAR.findall(text)) - set(_YEAR.findall(question))
    return _holds_words("year_words", text) or bool(figures)


def _holds_count(question: str, text: str) -> bool:
    listed = text.count(",") + text.count("\n") >= _FEWEST_COMMAS
    return listed or _holds_words("amount_words", text) or _has_number(question, text, lambda one: not _is_moment(one))


def _holds_measure(question: str, text: str) -> bool:
    return _holds_words("measure_words", text) or _has_number(question, text, lambda one: not _is_moment(one))


def _is_moment(one: Value) -> bool:
    return one.kind in {"date", "time", "weekday"}


_HOLDS: Mapping[str, Callable[[str, str], bool]] = MappingProxyType(
    {
        "price": _holds_price,
        "rate": _holds_rate,
        "year": _holds_year,
        "time": _holds_time,
        "count": _holds_count,
        "measure": _holds_measure,
    }
)
"""What is asked for, the most exact first → whether a text holds it."""
