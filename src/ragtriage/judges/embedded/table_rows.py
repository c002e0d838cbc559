"""Values of a claim beside those that the evidence tells, and those that it takes from another row of a table."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from ragtriage.core.verdicts import Span
from ragtriage.judges.embedded.readings import RULES, Sentence
from ragtriage.text.blocks import result_rows
from ragtriage.text.differences import agree, differ, differing_values
from ragtriage.text.value_relations import relation
from ragtriage.text.values import MOMENTS, Value, values
from ragtriage.text.words import (
    NEGATION,
    PlacedWord,
    content_words,
    fold,
    number_in,
    placed_figures,
    placed_words,
    shared_words,
    stem,
)

OTHER = 0.08
"""The chance, at most, that a claim with another value is supported."""
UNSURE = 0.35
"""The same where only a bound, or how far a number is rounded, isn't told so."""
_NEARLY = 0.75
"""The share of a claim's words, values aside, that a sentence about the same thing has."""
_FEWEST = 2
"""Words beside its values that a claim has at least, unless a sentence has the very same."""
_NEARER = 0.3
"""How much less of the claim's words may stand near its own value."""
_NEARER_THAN_ALL = 0.15
"""The same where the sentence with another value has all words of a claim, and these are some."""
_SOME = 4
_PART = re.compile(r"[;:]\s|,\s(?:but|while|whereas|although|though|who|which|including|of which|and|plus)\s")
_NO_MORE = re.compile(r"\bno(?:t)? \w+ than\b", re.IGNORECASE)


def in_told_notation(claim: str, sentences: Sequence[str]) -> str:
    """The claim with each value as the sentence that shares most of its words writes the same one."""
    own = values(claim)
    if not own:
        return claim
    words = _words(claim)
    out, end = claim, len(claim)
    for one in reversed(own):
        told = [(other, text) for text in sentences for other in values(text) if relation(one, other) == "same"]
        if not told or one.whole[1] > end or any(_is_written(one, claim, *found) for found in told):
            continue
        other, text = max(told, key=lambda found: shared_words(words, _words(found[1])))
        start, stop = _place(one)
        out = out[:start] + _notation(one, other, text) + out[stop:]
        end = one.whole[0]
    return out


def _place(one: Value) -> Span:
    """Where a value is written; a date or time keeps the bound that it has."""
    return one.span if one.kind in MOMENTS else one.whole


def _is_written(one: Value, claim: str, other: Value, text: str) -> bool:
    """Whether two values are written in the same words: "8-day", "8 days"."""
    own, there = (
        placed_words(said[slice(*_place(value))].replace("-", " ")) for said, value in ((claim, one), (text, other))
    )
    return [word.key for word in own] == [word.key for word in there]


def _notation(one: Value, other: Value, text: str) -> str:
    """The other value as it is written; what is counted keeps its own form."""
    written = text[slice(*_place(other))]
    if not one.counted or not written.endswith(other.text):
        return written
    return (
        f"{written.rpartition(' ')[0]} {one.text.rpartition(' ')[2]}"
        if " " in written and " " in one.text
        else one.text
    )


@lru_cache(2048)
def _words(text: str) -> tuple[PlacedWord, ...]:
    """The content words of a text but for those of its values."""
    return tuple(content_words(text, (one.whole for one in values(text))))


@dataclass(frozen=True, slots=True)
class OtherValue:
    """What a sentence tells instead of a claim's value."""

    sentence: str
    chance: float
    """That the claim is supported all the same, at most."""


def other_value(claim: str, sentences: Sequence[Sentence]) -> OtherValue | None:
    """The other value that a sentence about the same thing tells; None if there is none, or another has the claim's."""
    own = values(claim)
    words = _words(claim)
    if not own or not words:
        return None
    found: OtherValue | None = None
    best, negated = 0.0, _is_negated(claim, (0, len(claim)))
    for sentence in sentences:
        if not any(differ(one, other) for other in values(sentence.text) for one in own):
            continue
        share = _share(words, sentence.text)
        few = len(words) < _FEWEST and len(_words(sentence.text)) > len(words)
        if few or sentence.text.rstrip().endswith("?") or share < _NEARLY or share <= best:
            continue
        for one, other in differing_values(claim, sentence.text):
            denied = _is_negated(sentence.text, other.span) != negated
            if not denied and not _told_elsewhere(one, words, sentences, sentence, share):
                found = OtherValue(sentence.text, OTHER if relation(one, other) == "other" else UNSURE)
                best = share
                break
    return found


def _is_negated(text: str, place: Span) -> bool:
    """Whether the part of a text that holds a place has a negation that is no part of a bound."""
    start = max((cut.end() for cut in _PART.finditer(text) if cut.end() <= place[0]), default=0)
    end = min((cut.start() for cut in _PART.finditer(text) if cut.start() >= place[1]), default=len(text))
    return any(NEGATION.fullmatch(word.text) for word in placed_words(_NO_MORE.sub(" ", text[start:end])))


def _share(words: Sequence[PlacedWord], text: str) -> float:
    return shared_words(words, _words(text)) / len(words)


def _told_elsewhere(
    one: Value, words: Sequence[PlacedWord], sentences: Sequence[Sentence], but: Sentence, share: float
) -> bool:
    """Whether another sentence with nearly as many of the claim's words has its value; what heads it counts as well."""
    nearer = _NEARER_THAN_ALL if share == 1 and len(words) >= _SOME else _NEARER
    for at, sentence in enumerate(sentences):
        if sentence is not but and any(agree(one, other) for other in values(sentence.text)):
            beside = [s.text for s in (*sentences[max(0, at - 1) : at], *sentences[at + 1 : at + 2])]
            heads = [text for text in beside if not any(relation(one, other) for other in values(text))]
            if _share(words, " ".join((sentence.text, *heads))) > share - nearer:
                return True
    return False


KeyedRow = tuple[str, ...]
"""The cells of a row."""

_ABOUT_A_TABLE = 0.6
"""The share of a claim's words that stand in the table that it is about, at least."""
_LONGEST_CELL = 60
_FEWEST_ROWS = 2
_CELL = re.compile(r"(?:(?P<name>[^:;]{1,80}):\s+)?(?P<cell>[^;]*)$")


@dataclass(frozen=True, slots=True)
class _Table:
    names: KeyedRow
    rows: tuple[KeyedRow, ...]
    texts: tuple[str, ...]
    """The rows as sentences."""


def named_result(text: str, question: str) -> str:
    """The result of a query without names of columns, each row behind the question that was asked; else the text.

    Only where it may answer: amounts are given to who asks for amounts, and names to who asks for names.
    """
    rows = result_rows(text)
    if not rows:
        return text
    amounts = any(number_in(cell) is not None for row in rows for cell in row)
    named = any(cell and number_in(cell) is None for row in rows for cell in row)
    asks_amount = RULES["asks_value"].search(question) is not None
    if amounts != asks_amount and not (asks_amount is False and not amounts and named):
        return text
    asked = question.strip().rstrip("?").replace(":", " ").replace(";", ",")
    return "\n".join(f"- {asked}: {'; '.join(cell for cell in row if cell)}" for row in rows)


def row_with_other_value(claim: str, texts: Sequence[str]) -> str:
    """The row that a claim is about where it tells the value of another row or none of the column; empty if none."""
    for table in _tables(tuple(texts)):
        if _share_in(table, claim) >= _ABOUT_A_TABLE and (at := _contradicting(claim, table)) is not None:
            return table.texts[at]
    return ""


def _share_in(table: _Table, claim: str) -> float:
    """The share of a claim's words that stand anywhere in a table; of prose that only names a row it is low."""
    own = content_words(claim)
    return shared_words(own, content_words("\n".join(table.texts))) / len(own) if own else 0.0


@lru_cache(64)
def _tables(texts: tuple[str, ...]) -> tuple[_Table, ...]:
    return tuple(_read(texts))


def _read(texts: Sequence[str]) -> Iterator[_Table]:
    names: KeyedRow = ()
    rows: list[KeyedRow] = []
    said: list[str] = []
    for text in (*texts, ""):
        own, cells = _cells(text)
        if rows and own != names:
            first = int(not any(names) and not any(map(_measures, rows[0])))  # names of columns, not marked as such
            if len(rows) - first >= _FEWEST_ROWS:
                yield _Table(names, tuple(rows[first:]), tuple(said[first:]))
            rows, said = [], []
        if cells:
            names = own
            rows.append(cells)
            said.append(text)


def _cells(text: str) -> tuple[KeyedRow, KeyedRow]:
    """The names and cells of a row that was read as a sentence; empty if it is none."""
    parts = [_CELL.match(part.strip()) for part in text.split(";")]
    found = [part for part in parts if part and len(part["cell"]) <= _LONGEST_CELL]
    if len(found) < 2 or len(found) != len(parts):
        return (), ()
    return tuple(part["name"] or "" for part in found), tuple(part["cell"].strip() for part in found)


def _keys(text: str) -> list[str]:
    """The words of a text in the form that is compared; a grade "A" is no article."""
    return [word if len(word) == 1 else stem(fold(word)) for word in re.findall(r"\w+", text)]


def _at(cell: str, claim: Sequence[str]) -> int:
    """Where a cell of words stands among the words of a claim; -1 if it doesn't."""
    own = _keys(cell)
    if not own:
        return -1
    return next((at for at in range(len(claim) - len(own) + 1) if list(claim[at : at + len(own)]) == own), -1)


def _contradicting(claim: str, table: _Table) -> int | None:
    """The row of a table that a claim contradicts."""
    words = _keys(claim)
    columns = range(len(table.names))
    wordy = [c for c in columns if c == 0 or not any(_measures(row[c]) for row in table.rows)]
    met: dict[int, str] = {}
    for c in wordy:
        cells = {row[c] for row in table.rows if row[c] and _at(row[c], words) >= 0}
        longest = [one for one in cells if not any(one != other and one in other for other in cells)]
        if len(longest) > 1:
            return None  # about several rows
        if longest:
            met[c] = longest[0]
    if not met:
        return None
    key = next((c for c in met if len({row[c] for row in table.rows}) == len(table.rows)), min(met))
    about = [at for at, row in enumerate(table.rows) if row[key] == met[key]]
    for c, cell in met.items():
        fitting = [at for at in about if table.rows[at][c] == cell]
        if c != key and not fitting:
            asked = len(about) == 1 and _distinct(table, c) and not _of_column(cell, table, about[0], words)
            return about[0] if asked else None
        about = fitting
    if len(about) != 1:
        return None
    if _tells_otherwise(claim, set(met.values()), table, about[0]):
        return about[0]
    rivals = [at for at, row in enumerate(table.rows) if all(row[c] == cell for c, cell in met.items() if c != key)]
    return _outdone(words, table, about[0], rivals) if rivals else None


def _of_column(cell: str, table: _Table, at: int, claim: Sequence[str]) -> bool:
    """Whether a row has a cell in a column that a claim may be about: one that it names, if it names any."""
    named = [c for c, name in enumerate(table.names) if name and _at(name, claim) >= 0]
    return any(table.rows[at][c] == cell for c in [c for c in named if c] or range(len(table.names)))


def _distinct(table: _Table, c: int) -> bool:
    return len({row[c] for row in table.rows}) > 1


def _tells_otherwise(claim: str, met: set[str], table: _Table, at: int) -> bool:
    """Whether a claim about a row has an amount of a column that isn't the row's."""
    row = table.rows[at]
    rest = claim
    for cell in sorted(met, key=len, reverse=True):
        rest = re.sub(rf"\b{re.escape(cell)}\b", " ", rest, flags=re.IGNORECASE)
    if RULES["of_several_rows"].search(rest):
        return False
    bounded = [one.span for one in values(rest) if one.bound]
    told = [cell for c, cell in enumerate(row) if cell not in met or c]
    for figure, (start, end) in placed_figures(rest):
        pairs = zip(row, table.names, strict=True)
        if any(a <= start < b for a, b in bounded) or any(_holds(*pair, figure.value, rest) for pair in pairs):
            continue
        unit = {stem(fold(word)) for word in re.findall(r"[^\W\d_]+", rest[end : end + 30])[:1]}
        for c, name in enumerate(table.names):
            if row[c] not in told or row[c] in met or not _measures(row[c]):
                continue
            others = [other[c] for n, other in enumerate(table.rows) if n != at]
            if any(_holds(other, name, figure.value, rest) for other in others) or unit & set(_keys(name)):
                return True
    return False


def _outdone(words: Sequence[str], table: _Table, at: int, rivals: Sequence[int]) -> int | None:
    """The row that has more, or less, where a claim says that its row has most, or least, of a column."""
    said = " ".join(words)
    most, least = (RULES[name].search(said) is not None for name in ("most_of_all", "least_of_all"))
    amounts = {c: [number_in(table.rows[n][c]) for n in rivals] for c in range(len(table.names))}
    columns = [c for c, found in amounts.items() if None not in found]
    named = [c for c in columns if not set(_keys(table.names[c])).isdisjoint(words)]
    if most == least or len(columns := named or columns) != 1:
        return None
    found = {n: amount for n, amount in zip(rivals, amounts[columns[0]], strict=True) if amount is not None}
    best = (max if most else min)(found, key=lambda n: found[n])
    return best if found[best] != found[at] else None


def _measures(cell: str) -> bool:
    """Whether a cell has an amount, or a date or time in figures; names of months and days are words."""
    return number_in(cell) is not None or any(
        one.kind not in ("date", "weekday") or any(map(str.isdigit, one.text)) for one in values(cell)
    )


def _holds(cell: str, name: str, number: Decimal, claim: str) -> bool:
    """Whether a cell has a number, or the same value as the claim in another notation."""
    if any(figure.value == number for figure, _ in placed_figures(cell)):
        return True
    unit = name.replace("_", " ").split()[-1:] or [""]
    there = values(cell) or values(f"{cell} {unit[0].strip('()')}")
    return any(relation(one, other) in ("same", "within") for one in values(claim) for other in there)
