"""One way of asking, before any style."""

from __future__ import annotations

from dataclasses import dataclass

from ragtriage.testset.making.phrasing.idioms import About


@dataclass(frozen=True, slots=True)
class Wording:
    """One way of asking."""

    direct: str
    """Without its question mark: "When was Ann hired"."""
    embedded: str
    """Behind "I wonder": "when Ann was hired"."""
    noun: str
    """What is asked for: "Ann's hire date"; empty where no noun says it (yes or no)."""
    keys: str
    """For a search box: "Ann hire date"."""
    about: About

    @property
    def told(self) -> str:
        """Behind "tell me": the noun where the clause would only say "what … is"."""
        plain = self.embedded.startswith("what ") and self.embedded.endswith((" is", " are"))
        return self.noun if self.noun and plain else self.embedded
