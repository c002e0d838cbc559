"""What the card of a model says in its head: the languages."""

from __future__ import annotations

import re
from pathlib import Path

ANY = "*"
"""Stands for every language, where a card says only that there are many."""
UNNAMED = ("en",)
"""What is taken for the languages of a folder whose card names none."""
_HEAD = re.compile(r"\A---\s*\n(.*?)\n---\s*$", re.DOTALL | re.MULTILINE)
_LANGUAGE = re.compile(r"^language:[ \t]*(.*)\n((?:[ \t]*-[ \t].*\n?)*)", re.MULTILINE)
_CODE = re.compile(r"[a-z]{2}\b")


def languages_of_card(folder: Path) -> tuple[str, ...]:
    """The ISO 639-1 codes that `README.md` lists under `language`; `*` where it says only multilingual.

    English alone where there is no card, or none is named there.
    """
    card = folder / "README.md"
    if not card.is_file():
        return UNNAMED
    head = _HEAD.search(card.read_text(encoding="utf-8", errors="replace"))
    found = _LANGUAGE.search(head[1] + "\n") if head else None
    if not found:
        return UNNAMED
    named = [part.strip(" \t-'\"[],") for part in re.split(r"[\n,]", found[1] + "\n" + found[2])]
    codes = tuple(dict.fromkeys(name for name in named if _CODE.fullmatch(name)))
    return codes or ((ANY,) if "multilingual" in named else UNNAMED)
