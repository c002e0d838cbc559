"""Where words stand in the ids, queries and responses of a run: made when somebody searches first."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ragtriage.core.display import one_line
from ragtriage.runs.case_row import CaseRow, Columns
from ragtriage.runs.run import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

LONGEST = 20_000
"""Characters of a text that are searched."""
LEAST = 3
"""Letters of a word that the index finds; for shorter ones all texts are gone through."""


class ChangedError(Exception):
    """What was being read isn't wanted any more, since the run has changed."""


class WordIndex:
    """The words of a run, in a temporary file without a name; made by `read`, and asked only when `ready` is set.

    `places` has for a case's position in the run its place in the list of all, None for one that isn't listed; `of` is
    how many are. `count` says how many cases are read so far, `error` what went wrong.
    """

    def __init__(self, run: Run, places: Callable[[int], int | None], of: int) -> None:
        self._run, self._places, self._of = run, places, of
        self._words = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._lock = threading.Lock()
        self.count = 0
        self.ready = threading.Event()
        self.error: Exception | None = None
        self.cancelled = False

    def read(self) -> None:
        """Read the run; never raises, see `error`."""
        try:
            self._words.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize='trigram')")
            self._words.execute("BEGIN")
            self._words.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", self._rows())
            self._words.execute("COMMIT")
        except Exception as error:  # noqa: BLE001  # it is shown by whoever waits for the index
            self.error = error
        self.ready.set()

    def _rows(self) -> Iterator[tuple[int, str]]:
        for row in self._run.place.read(Columns(texts=("query", "response"), digests=False)):
            if self.cancelled:
                raise ChangedError
            place = self._places(row.position)
            if place is not None:
                yield place, _searched(row)
            self.count += 1

    def find(self, words: str) -> NDArray[np.bool_]:
        """Which of the listed cases hold every word somewhere, also within another word, in capitals or not."""
        given = words.split()
        phrases = " ".join(_phrase(word) for word in given if len(word) >= LEAST)
        wanted = [("words MATCH ?", phrases)] if phrases else []
        wanted += [("text LIKE ? ESCAPE '\\'", _like(word)) for word in given if len(word) < LEAST]
        mask = np.ones(self._of, np.bool_)
        with self._lock:
            for condition, value in wanted:
                # as one text: to fetch a million rows takes longer than to find them
                query = f"SELECT coalesce(group_concat(rowid), '') FROM words WHERE {condition}"  # noqa: S608  # as above
                (found,) = self._words.execute(query, (value,)).fetchone()
                own = np.zeros(self._of, np.bool_)
                own[np.fromstring(found, np.int64, sep=",")] = True
                mask &= own
        return mask


def _searched(row: CaseRow) -> str:
    texts = (one.text for one in row.texts if one.role in ("query", "response") and one.text)
    return "\n".join(one_line(text, LONGEST) for text in (row.id, *texts))


def _phrase(word: str) -> str:
    """A word as FTS5 takes it literally."""
    return '"' + word.replace('"', '""') + '"'


def _like(word: str) -> str:
    """A pattern for what holds a word somewhere."""
    return "%" + re.sub(r"([%_\\])", r"\\\1", word) + "%"
