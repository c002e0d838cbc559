"""The hub models that are known, as a document."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from ragtriage.core.display import plural
from ragtriage.judges.hub_models.folder import KnownModel
from ragtriage.report.document import GAP, Block, line, note
from ragtriage.text.language import language_name

_NAMED = 4
"""Languages that are listed by name."""


def readers_document(models: Mapping[str, KnownModel], here: Collection[str], place: str) -> Iterator[Block]:
    """What is known of each model, and which are on this machine.

    Args:
        models: by name.
        here: the names of those that were fetched.
        place: the folder where they lie.
    """
    for name, one in models.items():
        few = len(one.languages) <= _NAMED
        languages = ", ".join(map(language_name, one.languages)) if few else plural(len(one.languages), "language")
        facts = (f"{one.megabytes} MB", one.license, languages, *(["on this machine"] if name in here else []))
        yield line((name, "strong"), "  " + " · ".join(facts))
        yield from (replace(note(told), indent=2) for told in (f"{one.accuracy or 'No figure was found'}:", one.source))
    yield GAP
    yield line(f"{plural(len(here), 'model')} in {place}; `ragtriage readers get NAME` fetches one, nothing else does.")
    yield line("Figures are the authors' own. None of these models was run where this was built.")
