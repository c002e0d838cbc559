"""Rows of tables: values that a claim takes from another row; results of queries, which don't name their columns."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from ragtriage.judges.embedded.rules import RULES
from ragtriage.text.numbers import number_in, placed_figures
from ragtriage.text.tables import result_rows
from ragtriage.text.value_relations import relation
from ragtriage.text.values import values
from ragtriage.text.words import fold, stem

KeyedRow = tuple[str, ...]
"""The cells of a row."""

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
        if (at := _contradicting(claim, table)) is not None:
            return table.texts[at]
    return ""


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


def _place(cell: str, claim: Sequence[str]) -> int:
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
        cells = {row[c] for row in table.rows if row[c] and _place(row[c], words) >= 0}
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
    named = [c for c, name in enumerate(table.names) if name and _place(name, claim) >= 0]
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
