"""The names that a citation mark may hold beside the ids of a case's sources."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ragtriage.text.brackets import numbers_in

_SEPARATORS = tuple(re.compile(p) for p in (r"\s*;\s*\^?", r"\s*[,;&]\s*\^?", r"\s*(?:[,;&]|,?\s\band\b)\s*\^?"))
_PREFIX = re.compile(r"(?:sources?|references?|refs?\.?|documents?|docs?|citations?|ids?)[ \t]*:[ \t]*", re.IGNORECASE)
_PAGE = re.compile(r"\s*(?:,\s*(?:pp?\.|pages?|sec(?:tion|\.)|§)|#page=)\s*\d+(?:\s*[-–]\s*\d+)?$", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_EXTENSION = re.compile(r"[^\s/][^/\n]{0,100}\.[A-Za-z][A-Za-z0-9]{0,4}")


class Ids:
    """The ids of a case's sources, and what else looks like one of them.

    Args:
        ids: one a source, None where it has none.
    """

    def __init__(self, ids: Sequence[str | None]) -> None:
        self.count = len(ids)
        """Of the sources, with and without an id."""
        self._known = frozenset(filter(None, ids))
        self._alike = frozenset(name.casefold() for name in self._known)
        self._shapes = frozenset(_shape(n) for n in self._known if _DIGITS.search(n) and not n.isdigit())
        self._files = frozenset(_ending(name) for name in self._known if _EXTENSION.fullmatch(name))
        self._spaced = any(" " in name for name in self._known)

    def holds_any(self, names: Iterable[str]) -> bool:
        """Whether one of these names is an id."""
        return any(name in self._known for name in names)

    def named(self, said: str) -> tuple[str, ...]:
        """The names that a bracket holds: ids, what looks like one, or numbers; none if it is no mark."""
        for text in dict.fromkeys((said, _PREFIX.sub("", said, count=1) if _PREFIX.match(said) else said)):
            for name in (text, _PAGE.sub("", text)):
                if name in self._known:
                    return (name,)
            if numbers := numbers_in(text):
                return numbers
            for separator in _SEPARATORS:
                parts = tuple(part for part in separator.split(text) if part)
                if parts and all(map(self._looks_like_one, parts)):
                    return tuple(dict.fromkeys(parts))
        return ()

    def parts(self, said: str) -> tuple[str, ...]:
        """The names that a mark of a user's own pattern holds, whatever they look like."""
        return tuple(filter(None, _SEPARATORS[1].split(said))) or (said,)

    def _looks_like_one(self, part: str) -> bool:
        if part in self._known or part.casefold() in self._alike or _shape(part) in self._shapes:
            return True
        file = _EXTENSION.fullmatch(part) is not None and (self._spaced or " " not in part)
        return file and _ending(part) in self._files


def _shape(name: str) -> str:
    """What an id with numbers in it looks like, so that one that no source has is seen as such."""
    return _DIGITS.sub("#", name).casefold()


def _ending(name: str) -> str:
    return name.rpartition(".")[2].casefold()
