"""The hub readers that are known, as a document."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from ragtriage.core.display import listed, plural
from ragtriage.judges.hub_readers.families import FAMILIES
from ragtriage.judges.hub_readers.known import KnownReader
from ragtriage.judges.hub_readers.model_card import ANY
from ragtriage.report.document import GAP, Block, line, note
from ragtriage.text.language import language_name

_NAMED = 4
"""Languages that are listed by name."""


def readers_document(readers: Mapping[str, KnownReader], here: Collection[str], place: str) -> Iterator[Block]:
    """What is known of each reader, and which are on this machine.

    Args:
        readers: by name.
        here: the names of those that were fetched.
        place: the folder where they lie.
    """
    for name, one in readers.items():
        family = FAMILIES[one.family]
        facts = (family.title, size_text(one.megabytes), one.license, languages_text(one))
        yield line((name, "strong"), "  " + " · ".join(facts) + (" · on this machine" if name in here else ""))
        told = [f"for {listed(family.kinds, 'and')}; {one.accuracy or 'no figure was found'}:", one.source]
        told += [] if one.revision else ["Its revision isn't pinned yet: `readers get` wants --revision."]
        told += [f"{one.note[:1].upper()}{one.note[1:]}."] if one.note else []
        yield from (replace(note(said), indent=2) for said in told)
    yield GAP
    yield line(
        f"{plural(len(here), 'reader')} in {place}; `ragtriage readers get NAME` fetches one, nothing else does."
    )
    yield line("Figures are the authors' own. None of these models was run where this was built.")


def size_text(megabytes: int) -> str:
    """`440 MB`, `3.1 GB`."""
    return f"{megabytes:,} MB" if megabytes < 1000 else f"{megabytes / 1000:.1f} GB"


def languages_text(reader: KnownReader) -> str:
    """The languages by name; many by their number."""
    if ANY in reader.languages:
        return "many languages"
    if len(reader.languages) > _NAMED:
        return plural(len(reader.languages), "language")
    return ", ".join(map(language_name, reader.languages))
