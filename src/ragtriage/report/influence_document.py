"""How far a decision model is moved by what must not matter, for people."""

from __future__ import annotations

from collections.abc import Iterator

from ragtriage.core.display import one_line
from ragtriage.judges.decisions.influence import MOVED, Influence
from ragtriage.report.document import DocumentBlock, line, note
from ragtriage.report.words import two_places


def influence_document(found: Influence) -> Iterator[DocumentBlock]:
    """How far a decision model's answers are moved by what must not matter, and what to do about it."""
    beside = (
        ("alone", found.alone),
        ("reversed", found.reversed),
        ("renamed", found.renamed),
        ("repeated", found.repeated),
    )
    said = ", ".join(f"{name} {_share(moved)}" for name, moved in beside)
    yield line(f"model {one_line(found.model, 80)} · {said} · orders inside a text {_share(found.orders)}")
    if found.moved > MOVED:
        yield note(f"over {_share(MOVED)}: its answers hang on what is asked beside them: try --batch-size 1")
    if found.repeated > MOVED:
        yield note("it doesn't agree with itself: judge several times (--repeat), or choose another model")
    if found.orders > MOVED:
        yield note("a text can talk it into yes: don't let it judge texts that others may have written")


def _share(moved: float) -> str:
    return two_places(moved).removeprefix("0")
