"""One way of asking, before any style."""

from __future__ import annotations

from dataclasses import dataclass

from ragtriage.testset.generation.phrasing.idioms import About


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
    def trailing(self) -> bool:
        """Whether the clause ends with a verb far behind its subject: "what the length of the track Blue is"."""
        about = self.embedded.startswith("what ") or (self.embedded.startswith("who ") and " whose " in self.embedded)
        return about and self.embedded.endswith((" is", " are"))

    @property
    def given(self) -> str:
        """Behind "give me": the noun, of a person the name."""
        person = self.about == "person" and self.noun and not self.noun.startswith("the name of ")
        return f"the name of {self.noun}" if person else self.noun

    @property
    def told(self) -> str:
        """Behind "tell me": the noun where the clause would only say "what … is"."""
        return self.given if self.noun and self.trailing else self.embedded
