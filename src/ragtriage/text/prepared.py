"""What of a response is judged: without thoughts, citation marks and the syntax of JSON; and what was taken away.

Claims, sentences, segments, language and every judge read a response as it is prepared here. Places are those of the
response as it was given.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ragtriage.core.case import Case
from ragtriage.core.verdicts import Component, Span
from ragtriage.text.citation_marks import (
    CitationMark,
    References,
    code_spans,
    find_marks,
    find_references,
    overlaps_any,
)
from ragtriage.text.json_answers import json_as_text
from ragtriage.text.short_answers import answers_nothing
from ragtriage.text.without_marks import Removal, TextWithoutMarks, line_breaks, removals

_NAME = r"(?:[a-z]{1,20}:)?(?:think(?:ing)?|thoughts?|reasoning)"
_TAG = re.compile(rf"<(/?){_NAME}\s*>|\[(/?)think(?:ing)?\]|◁(/?)think▷", re.IGNORECASE)
_BEGINS = re.compile(r"(?:\A|\n)[ \t]*\Z")
_ENDS = frozenset(".!?…:;)]}\"'”’*`>")
_GOES_ON = re.compile(r"[ \t]*[a-z.,;:!?)]")
_SAID = re.compile(r"\w+\W+\w+\W+\w+")


def thought_spans(text: str) -> list[Span]:
    """Where the thoughts stand in a response, tags included, in order and apart.

    Behind a tag that opens and is never closed all is thought; before one that only closes, too: its partner stood in
    the prompt. A tag in code, or in a sentence that speaks of it ("between <think> and </think>"), is text.
    """
    return list(_spans(text)) if _TAG.search(text) else []


def _spans(text: str) -> Iterator[Span]:
    code = code_spans(text)
    tags = list(_TAG.finditer(text))
    opened: re.Match[str] | None = None
    at = 0
    for number, tag in enumerate(tags):
        inside = overlaps_any(*tag.span(), code)
        if not any(tag.groups()):
            opened = opened or (tag if not inside and _begins(text, tag, tags[number + 1 :]) else None)
        elif opened is not None:  # in code too: thoughts break off within it
            yield opened.start(), tag.end()
            opened, at = None, tag.end()
        elif not inside and _closes(text, at, tag):
            yield at, tag.end()
            at = tag.end()
    if opened is not None:
        yield opened.start(), len(text)


def _begins(text: str, tag: re.Match[str], later: Sequence[re.Match[str]]) -> bool:
    """Whether a tag opens thoughts: it begins a line, or stands behind a sentence, with words up to one that closes."""
    before = text[max(0, tag.start() - 40) : tag.start()]
    if _BEGINS.search(before):
        return True
    closing = next((one for one in later if any(one.groups())), None)
    ended = before.rstrip()[-1:] in set(".!?…:")
    return ended and closing is not None and _SAID.search(text, tag.end(), closing.start()) is not None


def _closes(text: str, at: int, tag: re.Match[str]) -> bool:
    """Whether thoughts end with a tag without a partner: no sentence goes on with it."""
    if not text[tag.end() :].strip():
        before = text[at : tag.start()]
        said = before.rstrip()
        return not said or said[-1] in _ENDS or "\n" in before[len(said) :]
    return not text[tag.start() - 1 : tag.start()].isspace() or _GOES_ON.match(text, tag.end()) is None


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A response, made ready to be judged."""

    answer: str
    """Without thoughts, else as it was given."""
    marked: TextWithoutMarks
    """The answer, JSON read as text, without its marks and references; `marked.original` has them."""
    marks: tuple[CitationMark, ...]
    """In `marked.original`."""
    references: References
    thoughts: tuple[Span, ...] = ()
    """Places of the response."""
    origins: Sequence[int] = field(default=(), repr=False)
    """Where each character of `marked.original` stands in the response."""

    @property
    def text(self) -> str:
        """What is judged: what is left beside the marks, or the marks where they are all that there is."""
        return self.marked.text if self._says_something else self.marked.original

    def placed(self, component: Component) -> Component:
        """A component of `text` with its span in the response."""
        if component.span is None or not self.text[slice(*component.span)]:
            return component
        start, end = component.span
        if self._says_something:
            start, end = self.marked.origins[start], self.marked.origins[end - 1] + 1
        return replace(component, span=self.span(start, end))

    @property
    def _says_something(self) -> bool:
        return any(map(str.isalnum, self.marked.text))

    def span(self, start: int, end: int) -> Span:
        """A span of `marked.original` in the response."""
        places = self.origins[start:end]
        return (min(places), max(places) + 1) if places else (0, 0)


def prepared(case: Case) -> Prepared:
    """A case's response, made ready to be judged; a missing one is read as an empty one."""
    ids = tuple(source.id for source in case.known_sources)
    found = _prepared(case.response or "", case.query, ids, case.citation_mark)
    empty = answers_nothing(found.text, case.query, [source.text for source in case.known_sources])
    return _emptied(found) if empty else found


@lru_cache(256)
def _emptied(response: Prepared) -> Prepared:
    """A response that answers nothing, as an empty one."""
    return replace(response, marked=TextWithoutMarks("", ()), marks=(), references=References(), origins=())


@lru_cache(256)  # every step on a response asks
def _prepared(response: str, query: str, ids: tuple[str | None, ...], own: str | None) -> Prepared:
    thoughts = thought_spans(response)
    places = _kept(response, thoughts)
    answer = "".join(response[at] for at in places) if thoughts else response
    if (said := json_as_text(answer, query)) is not None:
        text, places = "".join(char for char, _ in said), [places[at] for _, at in said]
    else:
        text = answer
    marks = find_marks(text, ids, own)
    references = find_references(text, marks)
    inside = [m for m in marks if not any(start <= m.start < end for start, end in references.spans)]
    cuts = [*removals(text, inside), *(Removal(start, end) for start, end in references.spans)]
    stripped = TextWithoutMarks(text, cuts)
    if breaks := line_breaks(stripped, inside):
        stripped = TextWithoutMarks(text, cuts, breaks)
    return Prepared(answer, stripped, marks, references, tuple(thoughts), places)


def _kept(response: str, thoughts: Sequence[Span]) -> Sequence[int]:
    """The places of a response that aren't thought, without blanks at its ends."""
    if not thoughts:
        return range(len(response))
    kept: list[int] = []
    at = 0
    for start, end in [*thoughts, (len(response), len(response))]:
        kept += range(at, start)
        at = end
    while kept and response[kept[-1]].isspace():
        kept.pop()
    first = next((i for i, place in enumerate(kept) if not response[place].isspace()), 0)
    return kept[first:]
