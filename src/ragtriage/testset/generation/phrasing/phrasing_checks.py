"""Whether a phrasing, whoever wrote it, has its query's placeholders and is as its criterion says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ragtriage.testset.generation.phrasing import text_measures as m
from ragtriage.testset.generation.phrasing.criteria import LONGEST_SHORT, SHORTEST_LONG, Criterion
from ragtriage.testset.generation.query_templates import QueryTemplate
from ragtriage.testset.generation.schema import Schema

LONGEST = 1_500
"""Characters."""
MOST_EDITS = 8
"""Of a phrasing with typing mistakes: two for each of the four."""
_IDLE = m.WH | m.AUXILIARIES | m.PRONOUNS | {"a", "an", "the"}
CONTEXT = 8
"""Words that distracting context has at least."""


class Refusal(Exception):
    """A phrasing can't be used; the text is the reason, a clause."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What the phrasings of one query template are held against."""

    template: QueryTemplate
    plains: tuple[str, ...] = ()
    """The plain questions, with question marks; typing mistakes are measured against them."""
    usual: Mapping[str, float] = field(default_factory=dict)
    """Placeholder → words of a typical value."""
    leaks: m.Leaks | None = None
    allowed: frozenset[str] = frozenset()
    """Words of the schema that may stand in a phrasing though a value is called so."""

    def verify(self, text: str, criterion: Criterion) -> dict[str, float]:
        """What was measured of a phrasing.

        Args:
            text: with its placeholders.
            criterion: what it is to be like.

        Raises:
            Refusal: it can't be used; says why.
        """
        self._placeholders(text)
        leaked = self.leaks.found(text, self._columns(), self.allowed) if self.leaks else None
        if leaked:
            raise Refusal(f"it says “{leaked}”, which is a value")
        measures: dict[str, float] = {"words": m.words_in(text, self.usual)}
        if criterion.own:
            return measures
        if criterion.name == "typos":
            edits = m.edits_between(text, self.plains)
            if edits is None:
                raise Refusal("there is no plain question to measure its typing mistakes against")
            measures["edits"] = edits
        if criterion.name == "keywords":
            idle = sorted((set(m.plain_words(text)) & _IDLE) - self.allowed)
            if idle:
                raise Refusal(f"it has a word that no search needs: {idle[0]}")
        if criterion.name == "distracting":
            number = next((w for w in m.plain_words(text) if any(c.isdigit() for c in w) and w not in self.allowed), "")
            if number:
                raise Refusal(f"its context has the number {number}, which could be an answer")
        _TESTS[criterion.name](text, measures)
        return measures

    def _placeholders(self, text: str) -> None:
        """Whether exactly the query's placeholders stand in the text.

        Raises:
            Refusal: they don't.
        """
        if not text.strip() or "\n" in text:
            raise Refusal("it is empty" if not text.strip() else "it has more than one line")
        if len(text) > LONGEST:
            raise Refusal(f"it has more than {LONGEST:,} characters")
        said = m.SLOT.findall(text)
        wanted = self.template.placeholders
        for name in wanted:
            if said.count(name) != 1:
                times = "is missing" if name not in said else f"stands there {said.count(name)} times"
                raise Refusal(f"the placeholder [{name}] {times}")
        added = next((name for name in said if name not in wanted), None)
        if added:
            raise Refusal(f"it has a placeholder that the query hasn't: [{added}]")
        if re.search(r"[\[\]]", m.SLOT.sub("", text)):
            raise Refusal("it has a square bracket that belongs to no placeholder")

    def _columns(self) -> tuple[str, ...]:
        shape = self.template.shape
        return (*self.template.placeholders, *([f"{shape.table}.{shape.select}"] if shape else []))


def checked(
    schema: Schema, template: QueryTemplate, plains: Sequence[str], values: Mapping[str, Sequence[str]], leaks: m.Leaks
) -> Checked:
    """What the phrasings of a query template are held against.

    Args:
        schema: the database's.
        template: whose phrasings.
        plains: the plain questions.
        values: placeholder → values.
        leaks: of the same values.
    """
    usual = m.usual_words({name: values[name] for name in template.placeholders if name in values})
    return Checked(template, tuple(plains), usual, leaks, schema_words(schema))


def schema_words(schema: Schema) -> frozenset[str]:
    """The words by which people call tables, columns and what they refer to, in small letters."""
    said = [
        text
        for table in schema.tables
        for text in (table.words, *(c.words for c in table.columns), *(key.words for key in table.foreign_keys))
    ]
    singles = {word.lower() for text in said for word in m.WORD.findall(text)}
    return frozenset(singles | {f"{word}s" for word in singles})


def _short(text: str, measures: Mapping[str, float]) -> None:
    if measures["words"] > LONGEST_SHORT:
        raise Refusal(f"it has more than {LONGEST_SHORT} words ({measures['words']:g})")
    if m.sentences_in(text) > 1:
        raise Refusal("it has more than one sentence")


def _long(text: str, measures: Mapping[str, float]) -> None:  # noqa: ARG001  # every test gets both
    if measures["words"] < SHORTEST_LONG:
        raise Refusal(f"it has fewer than {SHORTEST_LONG} words ({measures['words']:g})")


def _question(text: str, measures: Mapping[str, float]) -> None:  # noqa: ARG001
    if not text.endswith("?"):
        raise Refusal("it doesn't end with a question mark")
    if m.sentences_in(text) > 1:
        raise Refusal("it has more than one sentence")
    if not m.WH & set(m.plain_words(text)) and m.first_word(text) not in m.AUXILIARIES:
        raise Refusal("it has no question word, and no verb at its beginning")


def _directive(text: str, measures: Mapping[str, float]) -> None:  # noqa: ARG001
    if "?" in m.SLOT.sub("", text):
        raise Refusal("it has a question mark")
    first = m.first_word(text.lower().removeprefix("please").lstrip(" ,"))
    if not first or first in m.FUNCTION - {"tell", "please"}:
        raise Refusal("it doesn't begin with a command")


def _formal(text: str, measures: Mapping[str, float]) -> None:  # noqa: ARG001
    if m.casual_in(text):
        raise Refusal("it has a contraction or a casual word")
    if not m.formal_in(text):
        raise Refusal("it has no polite word")


def _casual(text: str, measures: Mapping[str, float]) -> None:  # noqa: ARG001
    if not m.casual_in(text):
        raise Refusal("it has neither a contraction nor a casual word")


def _keywords(text: str, measures: Mapping[str, float]) -> None:  # noqa: ARG001
    if re.search(r"[.?!](?:\s|$)", m.SLOT.sub("x", text)):
        raise Refusal("it has the end of a sentence")


def _typos(text: str, measures: Mapping[str, float]) -> None:  # noqa: ARG001
    edits = measures["edits"]
    if not 1 <= edits <= MOST_EDITS:
        raise Refusal(f"it doesn't differ from the plain question by 1 to {MOST_EDITS} letters ({edits:g})")


def _indirect(text: str, measures: Mapping[str, float]) -> None:  # noqa: ARG001
    if "?" in m.SLOT.sub("", text):
        raise Refusal("it has a question mark")
    if m.first_word(text) in m.WH | m.AUXILIARIES:
        raise Refusal("it begins like a direct question")


def _distracting(text: str, measures: Mapping[str, float]) -> None:
    said = m.SLOT.sub("x", text)
    if m.sentences_in(text) < 2 or measures["words"] < 2 * CONTEXT:
        raise Refusal("it has no context around the question")
    if "?" not in said:
        raise Refusal("it has no question in it")


_TESTS: Mapping[str, Callable[[str, Mapping[str, float]], None]] = {
    "short": _short,
    "long": _long,
    "question": _question,
    "directive": _directive,
    "formal": _formal,
    "casual": _casual,
    "keywords": _keywords,
    "typos": _typos,
    "indirect": _indirect,
    "distracting": _distracting,
}
