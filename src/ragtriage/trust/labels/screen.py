"""One item as a person sees it: query, component and what it is held against, on one screen, without the verdict."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence

from ragtriage.core.display import plural
from ragtriage.core.record import Record
from ragtriage.metrics import metric_named
from ragtriage.text import split_sentences
from ragtriage.text.blocks import blocks
from ragtriage.trust.baselines import words
from ragtriage.trust.labels.sampling import PROMPTS, Item

LINES = 24
WIDTH = 80
_QUERY_LINES, _COMPONENT_LINES = 3, 5
_HEADER_LINES = 1
"""Lines that the names of a table's columns may take above its rows."""
_FRAME_LINES = 6
"""Lines of a screen that the head, blank lines and the keys take."""
KEYS = "y yes · n no · s skip · b back · e everything · q quit"


def screen(item: Item, record: Record, place: str, *, whole: bool = False, lines: int = LINES) -> list[str]:
    """The lines of one item; none is longer than 80 characters.

    Args:
        item: what is asked about.
        record: its case.
        place: which item it is, as `3 of 20`.
        whole: show everything that it is held against, however long, instead of the passages nearest to the component.
        lines: how many the screen has.
    """
    prompt, metric = PROMPTS[item.metric], metric_named(item.metric)
    found = [f"{place} · {metric.title if metric else item.metric}", "", "Question"]
    found += _wrapped(record.case.query, None if whole else _QUERY_LINES)
    if whole and record.case.history:
        found += ["Before it", *(line for t in record.case.history for line in _wrapped(f"{t.role}: {t.text}"))]
    component = [prompt.component, *_wrapped(item.text, None if whole else _COMPONENT_LINES)]
    texts = _evidence(item, record)
    left = lines - _FRAME_LINES - len(found) - len(component)
    evidence = _whole(texts) if whole else _nearest(item, texts, max(3, left))
    return [*found, *component, "", *evidence, "", prompt.question]


def _evidence(item: Item, record: Record) -> list[tuple[str, str]]:
    """What a component is held against: (name, text)."""
    case, prompt = record.case, PROMPTS[item.metric]
    if prompt.against == "sources":
        return [(f"Source {i}", source.text) for i, source in enumerate(case.sources, 1)]
    if prompt.against == "reference":
        return [("True answer", case.reference or "")]
    # of a claim that is held against the query its response is shown
    shown = prompt.against == "response" or ("Claim" in prompt.component and case.response)
    return [("Response", case.response or "")] if shown else []


def _wrapped(text: str, most: int | None = None) -> list[str]:
    """A text in lines with an indent, safe to print; cut with an ellipsis."""
    clean = "".join(char if char.isprintable() else " " for char in text)
    wrapper = textwrap.TextWrapper(
        WIDTH, initial_indent="  ", subsequent_indent="  ", max_lines=most, placeholder=" …", break_on_hyphens=False
    )
    return wrapper.wrap(clean) or ["  (empty)"]


def _whole(texts: Sequence[tuple[str, str]]) -> list[str]:
    """Every line of the texts on its own, so that tables can be read."""
    found = []
    for name, text in texts:
        found += [name, *(row for own in text.splitlines() if own.strip() for row in _wrapped(own))]
    return found


def _nearest(item: Item, texts: Sequence[tuple[str, str]], lines: int) -> list[str]:
    """The passages that share most with the component, the nearest first, as many as there is room for.

    By rare words alone, and never by what the judge has found: a passage that the judge chose would give it away. Above
    a table's row stand the names of its columns.
    """
    if not texts:
        return []
    passages = [passage for name, text in texts for passage in _passages(name, text)]
    counts = Counter(word for *_, text in passages for word in set(words(text)))
    wanted = set(words(item.text))

    def shared(text: str) -> float:
        return sum(math.log(1 + len(passages) / counts[word]) for word in wanted & set(words(text)))

    order = sorted(range(len(passages)), key=lambda i: (-shared(passages[i][2]), i))
    shown: list[str] = []
    count = 0
    for i in order:
        name, columns, text = passages[i]
        last = passages[order[count - 1]] if count else ("", "", "")
        block = [name] if name != last[0] else []
        if columns and (name, columns) != last[:2]:
            block += _wrapped(columns, _HEADER_LINES)
        block += _wrapped(text)
        if count and len(shown) + len(block) > lines - 1:
            break
        shown += block[: max(_HEADER_LINES + 2, lines - 1)]
        count += 1
    if left := len(passages) - count:
        shown.append(f"({plural(left, 'more sentence')}: e shows everything)")
    return shown or ["(nothing to hold it against)"]


def _passages(name: str, text: str) -> Iterator[tuple[str, str, str]]:
    """(the text's name, the columns of the table that it is a row of, itself) of every sentence and row."""
    rows = [block for block in blocks(text) if block.shape == "row" and any(block.header)]
    for one in split_sentences(text):
        at = one.span[0] if one.span else -1
        columns = next((row.header for row in rows if row.start <= at < row.end), ())
        yield name, " | ".join(columns), one.text
