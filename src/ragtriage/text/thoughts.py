"""What a reasoning model thinks before it answers: `<think>…</think>` and the like, which is no part of its answer."""

import re
from collections.abc import Iterator, Sequence

from ragtriage.core.verdicts import Span
from ragtriage.text.citation_marks import code_spans, overlaps_any

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
