"""The prompts by which a language model writes phrasings and query templates.

A file starts with a line `version: N`, then an empty line, then the text.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Literal

Name = Literal["phrasings", "templates"]


def prompt_text(name: Name) -> str:
    """The text of a prompt, without its version line."""
    header, _, text = files(__package__).joinpath(f"{name}.md").read_text("utf-8").partition("\n\n")
    del header
    return text.strip()
