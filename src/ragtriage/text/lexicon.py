"""Word lists and patterns, kept as data in TOML files beside the modules that use them, and the forms of one thing."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_DATA = Path(__file__).parent / "data"
_PIECE = re.compile(r"\{([a-z_]+)(\|?)\}")


class Lexicon:
    """The entries of one file.

    A word list is a string of words. A regular expression may be broken into lines, whose breaks and indentation don't
    count. In both, `{name}` stands for another entry of the same file or of `words.toml`; in a regular expression
    `{name|}` stands for any word of a list.
    """

    def __init__(self, path: Path) -> None:
        self.entries: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        self._compiled: dict[str, re.Pattern[str]] = {}

    def words(self, name: str) -> frozenset[str]:
        """A list of words."""
        return frozenset(self.ordered(name))

    def ordered(self, name: str) -> tuple[str, ...]:
        """A list of words in its order."""
        text = _PIECE.sub(lambda piece: " ".join(self.ordered(piece[1])), self._entry(name))
        return tuple(text.split())

    def lines(self, name: str) -> list[str]:
        """The lines of an entry."""
        return str(self.entries[name]).strip().splitlines()

    def regex(self, name: str) -> str:
        """The text of a regular expression, its pieces filled in."""
        return self.filled(self._entry(name))

    def __getitem__(self, name: str) -> re.Pattern[str]:
        """A regular expression, compiled on first use."""
        found = self._compiled.get(name)
        if found is None:
            found = self._compiled[name] = re.compile(self.regex(name))
        return found

    def filled(self, text: str) -> str:
        """A regular expression as it is written in the file, its pieces filled in."""
        joined = "".join(line.lstrip() for line in text.splitlines())
        return _PIECE.sub(lambda piece: "|".join(self.ordered(piece[1])) if piece[2] else self.regex(piece[1]), joined)

    def _entry(self, name: str) -> str:
        return str(self.entries[name] if name in self.entries else WORDS.entries[name])


CITATIONS, DETAILS, JSON, LANGUAGES, PRONOUNS, QUESTIONS, REMARKS, WORDS = (
    Lexicon(_DATA / f"{name}.toml")
    for name in ("citations", "details", "json", "languages", "pronouns", "questions", "remarks", "words")
)


Forms = tuple[re.Pattern[str], ...]
"""Ways of writing something, the most exact first."""


def forms(*written: str) -> Forms:
    """Compile the forms of something; capital letters may stand for small ones."""
    return tuple(re.compile(form, re.IGNORECASE) for form in written)


def read_by(some: Forms, text: str) -> Iterator[re.Match[str]]:
    """What a text has in any of these forms: the first form takes what it finds from the next, and so on."""
    for form in some:
        found = list(form.finditer(text))
        yield from found
        if found:
            text = form.sub(blank, text)


def blank(match: re.Match[str]) -> str:
    """As many blanks as what was read has characters, so that all else keeps its place."""
    return " " * len(match[0])
