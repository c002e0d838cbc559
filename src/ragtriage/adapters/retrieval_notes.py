"""What was retrieved for one query, noted while its application works, and the reply that it comes to."""

import math
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ragtriage.collect.application import ApplicationReply
from ragtriage.core.case import Source
from ragtriage.readers.text_values import clean
from ragtriage.readers.traces.attributes import FoundDocument

K = TypeVar("K")


@dataclass(slots=True)
class Search:
    """One retrieval."""

    query: str | None
    """What was searched for; None if it isn't told."""
    documents: list[FoundDocument] | None = None
    """None until it ended, also where it failed."""


@dataclass(slots=True)
class RetrievalNotes:
    """Notes on one query: its retrievals, and what else was seen of it."""

    searches: list[Search] = field(default_factory=list)
    """In the order in which they began; of nested retrievers the outermost."""
    given: list[FoundDocument] | None = None
    """What the generator was given, where the framework tells; it stands for what the searches found."""
    tags: dict[str, Any] = field(default_factory=dict)
    lost: bool = False
    """Whether a note couldn't be taken, so that it isn't known what was retrieved."""
    _begun: float = field(default_factory=time.monotonic)

    def begin(self, query: str | None) -> Search:
        """A retrieval begins."""
        search = Search(query)
        self.searches.append(search)
        return search

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Take a note; one that fails must not harm the application, and is remembered."""
        try:
            yield
        except Exception:  # noqa: BLE001  # whatever a framework hands over
            self.lost = True

    def piece_came(self) -> None:
        """A piece of a streamed answer came; remember after how many seconds the first did."""
        self.tags.setdefault("first_seconds", round(time.monotonic() - self._begun, 3))

    @property
    def ended(self) -> list[Search]:
        """The retrievals that gave documents, or none of them."""
        return [search for search in self.searches if search.documents is not None]

    def reply(self, response: str | None) -> ApplicationReply:
        """All of it with the response: each text of an id once, at its first rank; those without a text are counted."""
        ended = self.ended
        found = self.given
        if found is None and ended:
            found = [document for search in ended for document in search.documents or ()]
        if found is None or self.lost:
            return ApplicationReply(response, None, tags=self.tags)
        tags: dict[str, Any] = {}
        if ended:
            tags["retrievals"] = len(ended)
        if searched := [clean(search.query, []) for search in ended if search.query is not None]:
            tags["searched"] = searched
        kept = _kept(found)
        if without := sum(not document.text for document in found):
            tags["sources_left_out"] = without
        sources = tuple(Source(document.text or "", document.id) for document in kept)
        ids = tuple(source.id for source in sources if source.id is not None)
        scores = tuple(document.score for document in kept)
        return ApplicationReply(
            response,
            sources,
            ids if len(ids) == len(sources) else (),
            scores if any(score is not None for score in scores) else (),
            tags | self.tags,
        )


def _kept(found: Iterable[FoundDocument]) -> list[FoundDocument]:
    first: dict[tuple[str | None, str], FoundDocument] = {}
    for document in found:
        if document.text:
            first.setdefault((document.id, document.text), document)
    return list(first.values())


def outer(of: K, parents: Mapping[K, K | None], searches: Collection[K]) -> K | None:
    """The nearest retrieval within which a call is made; None if it is in none."""
    above = parents.get(of)
    while above is not None and above not in searches:
        above = parents.get(above)
    return above


def document(text: Any, name: Any, score: Any) -> FoundDocument:
    """A document as a framework has it; without a text where that is no text or blank, as of an image."""
    number = float(score) if isinstance(score, int | float) or hasattr(score, "__float__") else None
    return FoundDocument(
        clean(text, []) if isinstance(text, str) and text.strip() else None,
        None if name is None or name == "" else clean(str(name), []),
        number if number is not None and math.isfinite(number) else None,
    )
