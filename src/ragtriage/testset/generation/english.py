"""The little English grammar that questions need: plurals, singulars, articles, lists, capitals, contractions."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

_WORDS = tomllib.loads(files(__package__).joinpath("english.toml").read_text("utf-8"))
_UNCOUNTABLE = frozenset(_WORDS["uncountable"].split())
_PLURALS: dict[str, str] = _WORDS["plurals"]
_SINGULARS: dict[str, str] = {many: one for one, many in _PLURALS.items()} | _WORDS["singulars"]
_SINGULAR_ENDINGS = {"ies": "y", "sses": "ss", "xes": "x", "ches": "ch", "shes": "sh", "zzes": "zz"}
_PREPOSITION = re.compile(r"(?<=\w) (?:in|of|per|by|for|from|to|at|on|with) ", re.IGNORECASE)


def plural(noun: str) -> str:
    """The plural of a noun in the singular: "invoice line" → "invoice lines", "head of state" → "heads of state"."""
    head, behind = _split(noun)
    if behind:
        return plural(head) + behind
    before, space, last = noun.rpartition(" ")
    small = last.lower()
    if small in _UNCOUNTABLE:
        return noun
    if small in _PLURALS:
        return before + space + _PLURALS[small]
    if small.endswith("y") and small[-2:-1] not in {"a", "e", "i", "o", "u", ""}:
        return f"{noun[:-1]}ies"
    return f"{noun}es" if small.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"


def singular(words: str) -> str:
    """The last word in its singular: "media types" is "media type"."""
    rest, space, last = words.rpartition(" ")
    if last in _SINGULARS:
        return rest + space + _SINGULARS[last]
    for ending, instead in _SINGULAR_ENDINGS.items():
        if last.endswith(ending) and len(last) > len(ending) + 1:
            return words.removesuffix(ending) + instead
    return words[:-1] if last.endswith("s") and not last.endswith(("ss", "us", "is")) and len(last) > 3 else words


def is_plural(noun: str) -> bool:
    """Whether a noun looks like a plural: "credits", "hours per week"; not "address", nor "fee in euros"."""
    last = _split(noun)[0].rpartition(" ")[2].lower()
    if last in _PLURALS.values():
        return True
    return len(last) > 3 and last.endswith("s") and not last.endswith(("ss", "us", "is", "gps")) and last != "series"


def _split(noun: str) -> tuple[str, str]:
    """What the noun is about, and the rest from its preposition on: "fee", " in euros"."""
    found = _PREPOSITION.search(noun)
    return (noun[: found.start()], noun[found.start() :]) if found else (noun, "")


def article(noun: str) -> str:
    """The noun with "a" or "an" before it, by its first letter and the common exceptions."""
    small = noun.lower()
    vowel = small[:1] in {"a", "e", "i", "o", "u"} and not small.startswith(("uni", "use", "usa", "eu", "one", "uk"))
    return f"an {noun}" if vowel or small.startswith(("hour", "honest", "heir")) else f"a {noun}"


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def small(text: str) -> str:
    """A sentence's text as it stands inside another: its first letter small, unless the word is all capitals or I."""
    first = text.partition(" ")[0]
    return text if first.isupper() or first.startswith("I'") else text[:1].lower() + text[1:]


def contracted(text: str) -> str:
    """The question as it is spoken: "What's", "Who's"."""
    return re.sub(r"\A(What|Who|Where|When) is ", r"\1's ", text)
