"""What a pronoun in a later sub-question stands for, where only one name comes into question."""

from __future__ import annotations

import re

from ragtriage.text.interrogatives import INVERTED, WH

_WORD = r"[A-Z0-9][\w'’.&-]*"
_NAME = rf"(?:(?:[Tt]he |an? )?{_WORD}(?: (?:(?:of|de|van|von|der|la|the) )?{_WORD})*)"
_DIRECT = re.compile(
    rf"(?i:{WH})(?: [\w'’-]+){{0,3}}? (?P<verb>(?i:{INVERTED})) (?P<name>{_NAME})(?: (?P<next>[^\s?]+))?"
)
_YES_NO = re.compile(rf"(?P<verb>(?i:{INVERTED})) (?P<name>{_NAME})(?: (?P<next>[^\s?]+))?")
_WHAT_IS = re.compile(
    rf"(?:What|Who)(?: is| are| was| were|['’]s) (?P<name>{_NAME}(?: [a-z-]+){{0,2}}|(?!(?:the|an?|my|your|our|this|"
    rf"that)\b)[a-z][\w-]+(?: [\w-]+)?)\?$"
)
_WHAT_X_IS = re.compile(rf"[^?]*\bwhat (?P<name>{_NAME}|[a-z][\w-]+) (?:is|are|was|were)\??$")
_PROPERTY = re.compile(
    r"What(?: is| are| was| were|['’]s) the (?:main |current |exact |original |overall |primary |key |total |type )*"
    r"(?:purpose|objective|aim|goal|role|function|meaning|definition|taxonomy|status|origin|cause|history|"
    r"significance|location|locality|price|cost|size|population|"
    rf"height|length|mission|format|theme|plot|product|products|idea|purposes|goals|"
    rf"objectives)s? of (?P<name>{_NAME}(?: [a-z-]+){{0,2}})\?$"
)
_PREPOSITIONS = frozenset(
    "in on at to for from by with of under after before during since until between into as per via within and".split()
)
_BASE_VERBS = frozenset(
    """
    take start open begin end become have get use work last happen close die win lose make come go offer cost
    need support include cover aim run pay charge require give provide allow accept ship store handle change do
    say mean write publish release join
    """.split()
)
_COPULA = frozenset("is are was were isn't aren't wasn't weren't".split())
_IRREGULAR = frozenset(
    "built made held known named founded born sold sent written given taken shown found set run won lost based".split()
)
_NOT_NAMES = frozenset("i i'm i'd i've the a an".split())
_UNCLEAR = re.compile(r"\b(?:it|they|he|she|this|that|these|those|you|i|we)\b", re.IGNORECASE)
_IT = re.compile(r"\b(?:it|they|them|he|she|him)\b(?!['’])", re.IGNORECASE)
_ITS = re.compile(r"\b(?:its|their|his)\b|\bher\b(?= [a-z])", re.IGNORECASE)
_EXPLETIVE = re.compile(
    r"\bit (?:\w+ )?(?:take|takes|cost|costs|matter|possible|true|mean|make sense|safe|legal|allowed|necessary|ok|"
    r"okay|worth|better|rain|snow)\b",
    re.IGNORECASE,
)
_LATER_NAME = re.compile(rf"(?<=[ ]){_WORD}")


def _whole(match: re.Match[str]) -> bool:
    """Whether the name ends where it seems to, and isn't the beginning of "the Laoshan tree frog"."""
    following = (match["next"] or "").lower().strip(",;:.")
    verb = match["verb"].lower().replace("’", "'")
    if not following or following in _PREPOSITIONS:
        return True
    if verb in _COPULA or verb in {"has", "have", "had", "been"}:
        return following.endswith("ed") or following in _IRREGULAR or following == "been"
    return following in _BASE_VERBS or not match["name"].lower().startswith(("the ", "a ", "an "))


def named(question: str) -> str:
    """The one thing that a question is about; empty if rules aren't sure."""
    for pattern in (_PROPERTY, _WHAT_IS, _WHAT_X_IS):
        if (match := pattern.match(question)) and not _UNCLEAR.search(match["name"]):
            return match["name"]
    match = _DIRECT.match(question) or _YES_NO.match(question)
    if (
        match
        and match["name"][:1].isalnum()
        and any(c.isupper() or c.isdigit() for c in match["name"])
        and _whole(match)
    ):
        return "" if match["name"].lower() in _NOT_NAMES or match["name"].isdigit() else match["name"]
    return ""


def stand_alone(question: str, topic: str) -> str:
    """The question with its only pronoun replaced by the topic; unchanged where that isn't sure."""
    if not topic or topic.lower() in question.lower():
        return question
    its, it = list(_ITS.finditer(question)), list(_IT.finditer(question))
    if len(it) + len(its) != 1 or _EXPLETIVE.search(question) or _LATER_NAME.search(question, 1):
        return question
    found = (it or its)[0]
    possessive = "" if it else "'" if topic.endswith("s") else "'s"
    return question[: found.start()] + topic + possessive + question[found.end() :]
