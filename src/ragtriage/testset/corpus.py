"""Is the answer of a gap group in the corpus at all? If so it was never retrieved, if not the knowledge is missing."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from ragtriage.core.errors import InputError
from ragtriage.readers.files import raw_rows
from ragtriage.testset.answered_rows import Row
from ragtriage.text.dates import clock_beside, clock_in, clocks, date_in, moments
from ragtriage.text.words import OPENERS, STOP, figures, fold, number_in, tokens

Presence = Literal["found", "absent", "unknown"]
SUFFIXES = (".md", ".markdown", ".txt", ".rst")
"""Files of a folder that are read."""
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*+•|]|\d+[.)])\s)")
"""Between paragraphs, items of a list and rows of a table."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """What an application could retrieve from."""

    texts: Mapping[str, str]
    """Id → text."""
    skipped: int
    """Files or rows that can't be used."""


@dataclass(frozen=True, slots=True)
class GapLookup:
    """What the corpus says about one gap group."""

    group: str
    presence: Presence
    documents: tuple[str, ...]
    """Ids of documents that state the answer, or may."""
    why: str
    question: str = ""
    """Its shortest phrasing."""
    retrieved: bool = False
    """Whether one of them was retrieved for a phrasing of the group, and the answer was wrong all the same."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines, which stands under the group's name."""
        return {name: getattr(self, name) for name in ("presence", "documents", "retrieved", "why")}


def read_corpus(path: Path) -> Corpus:
    """The documents of a folder (Markdown and text files, by their names without the ending), or of a JSONL file.

    Files of one name in several folders go by their paths below the folder. A row of a file has `id` and `text`.
    """
    found, skipped = _folder(path) if path.is_dir() else _file(path)
    if not found:
        what = f"a folder with {', '.join(SUFFIXES)} files" if path.is_dir() else "rows with `id` and `text`"
        raise InputError(f"{path}: holds no document: give {what}")
    return Corpus(found, skipped)


def look_up_gaps(rows: Sequence[Row], gaps: Sequence[str], corpus: Corpus) -> list[GapLookup]:
    """Look for the answers of gap groups.

    An answer is *found* where a paragraph holds it together with what the question is about: the values of the column
    `parameters`, else the capitalised names that all phrasings of the group have. The title counts for every paragraph.
    It is *unknown* where a document has both apart from each other, where nothing tells what the question is about, or
    where the answer is of a kind that can't be looked for (yes or no, a count that any digit may be). Else it is
    *absent*, also if it could be put together from two documents. A date or number counts in every form in which it is
    written.
    """
    members: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        members[row.group].append(row)
    paragraphs = [(name, _paragraphs(text)) for name, text in corpus.texts.items()]
    index = _index(corpus.texts.values())
    return [_look(group, members[group], paragraphs, index) for group in gaps]


def _look(
    group: str, rows: Sequence[Row], paragraphs: Sequence[tuple[str, tuple[str, ...]]], index: Mapping[str, set[int]]
) -> GapLookup:
    queries = sorted({row.query for row in rows if row.query}, key=lambda query: (len(query), query))
    question = next(iter(queries), "")
    # the order of the rows doesn't matter
    known = min((row for row in rows if row.answer not in {None, ()}), key=lambda row: row.id, default=None)
    if known is None:
        return GapLookup(group, "unknown", (), "the true answer isn't known, or there is none", question)
    values = known.answer if isinstance(known.answer, tuple) else (known.answer,)
    if any(isinstance(value, bool) or str(value).lower() in {"yes", "no", "true", "false"} for value in values):
        return GapLookup(group, "unknown", (), "yes or no can't be looked for", question)
    about = _about(known, queries)
    if not about:
        return GapLookup(group, "unknown", (), "nothing tells what the question is about", question)
    beside: list[str] = []
    apart: list[str] = []
    for at in sorted(_candidates(about, index)):
        name, parts = paragraphs[at]
        whole = " ".join(parts)
        if not all(_stands(one, whole) for one in (*about, *values)):
            continue
        near = any(all(_stands(one, part) or _stands(one, parts[0]) for one in (*about, *values)) for part in parts[1:])
        (beside if near else apart).append(name)
    told = ", ".join(about)
    presence: Presence = "unknown"
    retrieved = False
    if not beside and not apart:
        presence, why = "absent", f"no text that names {told} has it"
    elif not beside:
        why = f"it stands in a text about {told}, but not beside it"
    elif any(_is_common(value) for value in values):
        why = "a small number stands there, but it may count something else"
    else:
        presence, why = "found", f"it stands beside {told}"
        retrieved = any(name in beside for row in rows for name in row.retrieved or ())
    return GapLookup(group, presence, tuple(beside or apart), why, question, retrieved)


def _about(row: Row, queries: Sequence[str]) -> tuple[str, ...]:
    """What a question is about, as texts.

    Names are taken from the first of its phrasings, if the others have them too: a word may have its capital from
    beginning a sentence.
    """
    parameters = row.columns.get("parameters")
    if isinstance(parameters, Mapping) and parameters:
        return tuple(str(value) for value in parameters.values() if str(value).strip())
    names = re.findall(r"[A-Z][\w\'’-]*(?: (?:(?:of|and|the) )?[A-Z][\w\'’-]*)*", next(iter(queries), ""))
    telling = [name for name in names if not {fold(word) for word in tokens(name)} <= STOP | OPENERS]
    return tuple(name for name in telling if all(name in query for query in queries)) or tuple(telling)


def _is_common(value: object) -> bool:
    """A number below 100 stands in many a text by chance."""
    number = number_in(str(value))
    return number is not None and abs(number) < 100


@lru_cache(maxsize=200_000)
def _stands(value: object, text: str) -> bool:
    """Whether a text holds a value, in whatever form a date or a number is written."""
    written = str(value)
    day = date_in(written)
    if time := clock_in(written) or (clock_beside(written) if day else None):
        if not any(one.is_same(time) for one in _clocks(text)):
            return False
        if not day:
            return True
    if day:
        return any(all(day[0] <= first and last <= day[1] for first, last in one) for one in _moments(text))
    if (number := number_in(written)) is not None:
        return any(one.value == number for one in _figures(text))
    wanted, words = [fold(word) for word in tokens(written)], _folded(text)
    size = len(wanted)
    return bool(size) and any(
        words[i] == wanted[0] and list(words[i : i + size]) == wanted for i in range(len(words) - size + 1)
    )


_clocks = lru_cache(maxsize=20_000)(clocks)
_moments = lru_cache(maxsize=20_000)(moments)
_figures = lru_cache(maxsize=20_000)(figures)


@lru_cache(maxsize=20_000)
def _folded(text: str) -> tuple[str, ...]:
    return tuple(fold(word) for word in tokens(text))


def _candidates(about: Sequence[str], index: Mapping[str, set[int]]) -> set[int]:
    """Documents that have every word of what the question is about; dates and numbers are told later."""
    named = (one for one in about if not date_in(one) and not clock_in(one) and number_in(one) is None)
    words = {fold(word) for one in named for word in tokens(one)}
    if not words:
        return set().union(*index.values())
    return set.intersection(*(index.get(word, set()) for word in words))


def _index(texts: Iterable[str]) -> dict[str, set[int]]:
    found: dict[str, set[int]] = defaultdict(set)
    for at, text in enumerate(texts):
        for word in _folded(text):
            found[word].add(at)
    return found


def _paragraphs(text: str) -> tuple[str, ...]:
    """The title, empty if there is none, and then every paragraph."""
    parts = [part for part in _PARAGRAPH.split(text.strip()) if part.strip()]
    titled = bool(parts) and (parts[0].startswith("#") or parts[0][-1] not in ".!?:")
    return tuple(parts) if titled and len(parts) > 1 else ("", *parts)


def _folder(path: Path) -> tuple[dict[str, str], int]:
    files = sorted(one for one in path.rglob("*") if one.suffix.lower() in SUFFIXES and one.is_file())
    stems = [one.stem for one in files]
    found, skipped = {}, 0
    for one in files:
        name = one.stem if stems.count(one.stem) == 1 else str(one.relative_to(path).with_suffix(""))
        try:
            found[name] = one.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            skipped += 1
    return found, skipped


def _file(path: Path) -> tuple[dict[str, str], int]:
    found, skipped = {}, 0
    for record in raw_rows(str(path)):
        values = record.values or {}
        name, text = values.get("id"), values.get("text")
        if isinstance(name, str | int) and isinstance(text, str):
            found[str(name)] = text
        else:
            skipped += 1
    return found, skipped
