"""Where a field that wasn't found by its name likely stands, for a hint; never taken without the user's word."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragtriage.readers.field_values import ALIASES, KEYS, normalized
from ragtriage.readers.text_values import unpacked

_DEEPEST = 3
"""Levels of objects and lists that are looked into."""
_WORDS: Mapping[str, frozenset[str]] = {
    field: frozenset(part.removesuffix("s") for name in ALIASES[field] for part in name.split("_")) | frozenset(more)
    for field, more in {
        "query": ("ask", "q"),
        "sources": ("snippet", "hit", "doc", "evidence", "text", "content", "body"),
        "response": ("reply", "generation", "prediction"),
    }.items()
}
"""What the names of a field's columns are made of, without a plural's s."""
_TRUTHS = frozenset("reference truth gold golden expected ideal target correct label true".split())
_KEYS = frozenset(("id", "source", *KEYS["source_id"]))


@dataclass(frozen=True, slots=True)
class _Candidate:
    path: str
    name: str
    """The last key of the path."""
    values: list[Any]

    def named(self, field: str) -> bool:
        """Whether one of the words of its name is one of the field's."""
        return not self._parts.isdisjoint(_WORDS[field])

    @property
    def is_truth(self) -> bool:
        """Whether its name says that people wrote it."""
        return not self._parts.isdisjoint(_TRUTHS)

    @property
    def _parts(self) -> set[str]:
        return {part.removesuffix("s") for part in normalized(self.name).split("_")}

    @property
    def length(self) -> int:
        """Characters of all texts together."""
        return sum(len(text) for value in self.values for text in ([value] if isinstance(value, str) else value))

    @property
    def asks(self) -> bool:
        """Whether most of the texts are questions."""
        return 2 * [value.rstrip().endswith("?") for value in self.values].count(True) > len(self.values)


def likely_places(
    rows: Sequence[Mapping[str, Any]], fields: Iterable[str], taken: Collection[str] = ()
) -> dict[str, str]:
    """The place that likely holds each of these fields, for those of which there is one."""
    wanted, found = set(fields), dict[str, str]()
    texts, lists = _candidates(rows, taken)
    for field, choose in (("sources", _sources), ("query", _query), ("response", _response)):
        if field in wanted and (chosen := choose(texts, lists)) is not None:
            found[field] = chosen.path
            texts = [one for one in texts if one.path != chosen.path]
    return found


def _candidates(rows: Sequence[Mapping[str, Any]], taken: Collection[str]) -> tuple[list[_Candidate], list[_Candidate]]:
    """The places that hold texts, and those that hold lists of texts, in the order of the columns.

    They are texts of several words that aren't named as what people wrote.
    """
    texts: dict[str, _Candidate] = {}
    lists: dict[str, _Candidate] = {}
    for row in rows:
        free = {column: value for column, value in row.items() if column not in taken}
        for path, name, value in _within(free, "", _DEEPEST):
            kind = texts if isinstance(value, str) else lists
            kind.setdefault(path, _Candidate(path, name, [])).values.append(value)
    return (
        [one for one in texts.values() if not one.is_truth and any(" " in value.strip() for value in one.values)],
        [one for one in lists.values() if not one.is_truth and any(" " in t for value in one.values for t in value)],
    )


def _within(value: Mapping[str, Any], way: str, depth: int) -> Iterator[tuple[str, str, Any]]:
    """Path, last key, and what stands there, for texts and lists of texts."""
    for key, packed in value.items():
        path, held = _joined(way, str(key)), unpacked(packed)
        if isinstance(held, str) and held.strip():
            yield path, str(key), held
        elif isinstance(held, Mapping) and depth > 1:
            yield from _within(held, path, depth - 1)
        elif isinstance(held, list | tuple) and held:
            if all(isinstance(item, str) for item in held):
                yield path, str(key), held
            elif all(isinstance(item, Mapping) for item in held):
                yield from _of_objects(held, path)


def _of_objects(items: Sequence[Mapping[str, Any]], path: str) -> Iterator[tuple[str, str, list[str]]]:
    """The texts that all objects of a list have under a key."""
    for key in items[0]:
        texts = [item.get(key) for item in items]
        if key not in _KEYS and all(isinstance(text, str) and text.strip() for text in texts):
            yield f"{path}[*]{_joined('', str(key), dotted=False)}", str(key), [str(text) for text in texts]


def _joined(way: str, key: str, *, dotted: bool = True) -> str:
    if way == "" and dotted:
        return key
    return f"{way}['{key}']" if set(key) & set(".[]*'\"") else f"{way}.{key}"


def _sources(texts: list[_Candidate], lists: list[_Candidate]) -> _Candidate | None:
    """The longest list of texts, one with a fitting name first; else a text with a fitting name."""
    if lists:
        return max(lists, key=lambda one: (one.named("sources"), one.length))
    return next((one for one in texts if one.named("sources")), None)


def _query(texts: list[_Candidate], _lists: list[_Candidate]) -> _Candidate | None:
    """The text with a fitting name, else the one that asks; of two texts the shorter one."""
    named = [one for one in texts if one.named("query")] or [one for one in texts if one.asks]
    if named:
        return named[0]
    return min(texts, key=lambda one: one.length) if len(texts) == 2 else None


def _response(texts: list[_Candidate], _lists: list[_Candidate]) -> _Candidate | None:
    """The text with a fitting name, else the only one that is no question."""
    named = [one for one in texts if one.named("response")]
    if named:
        return named[0]
    left = [one for one in texts if not one.asks]
    return left[0] if len(left) == 1 else None
