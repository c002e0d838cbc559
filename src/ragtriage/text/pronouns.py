"""The subject of a clause or question, and the pronouns that may safely be replaced by it."""

import re
from dataclasses import dataclass

from ragtriage.text.lexicon import PRONOUNS, WORDS
from ragtriage.text.words import INVERTED, WH

AUXILIARY = WORDS.regex("auxiliary")
AUXILIARY_WORD = re.compile(rf"\b{AUXILIARY}\b", re.IGNORECASE)
_SINGULAR = frozenset({"is", "was", "has", "does", "isn't", "wasn't", "hasn't", "doesn't"})
_PLURAL = frozenset({"are", "were", "have", "do", "aren't", "weren't", "haven't", "don't"})

_SUBJECT = re.compile(
    rf"((?:[A-Z0-9`][^\s,;:]{{0,40}}|the|a|an|this|these|its|"
    rf"their)(?:[ ][^\s,;:]{{1,40}}){{0,7}}?)[ ]({AUXILIARY})(?![\w'’])"
)
_NO_SUBJECT = PRONOUNS.words("no_subject")
_OTHER = re.compile(r"\b(?:the|an?|this|that|its|their|his|her|my|your|our|[A-Z][\w'’-]*)[ ]\w|[ ][A-Z][a-z]")
_TWO_THINGS = re.compile(r"['’]s?[ ]| (?:of|and|or|with|for|in|on) ")
"""A subject that names two things: either may be meant by "it"."""
PRONOUN_WORDS = PRONOUNS.words("pronouns")
"""A sentence that begins with one of them leans on the one before."""
_PERSON = re.compile(r"[A-Z][\w'’.-]*(?: (?:[A-Z][\w'’.-]*|de|van|von|der|la|al|bin|I{1,3}|IV|V))+$")
_START = re.compile(rf"(It|They|He|She)[ ]({AUXILIARY})(?![\w'’])|(Its)[ ](?=[a-z])")


@dataclass(frozen=True, slots=True)
class Subject:
    """Who or what a clause is about."""

    text: str
    end: int
    verb: str
    """The auxiliary behind it, in lower case with a straight apostrophe."""
    sole: bool = True
    """Whether nothing else in the clause could be meant by "its"."""

    @property
    def number(self) -> str:
        """`sg`, `pl`, or empty where the verb doesn't tell."""
        if self.verb in _SINGULAR:
            return "sg"
        return "pl" if self.verb in _PLURAL else ""

    @property
    def person(self) -> bool:
        """Whether it looks like the name of one person."""
        return self.number != "pl" and _PERSON.match(self.text) is not None


def subject(clause: str) -> Subject | None:
    """The subject at the beginning of a clause, if rules find it surely."""
    match = _SUBJECT.match(clause)
    if match is None:
        return None
    said = match[1]
    words = said.lower().split()
    if (
        words[0] in _NO_SUBJECT
        or said.endswith(("'s", "’s"))
        or PRONOUNS["clause_words"].search(said)
        or words[0].endswith("ly")
    ):
        return None
    return Subject(said, match.end(1), match[2].lower().replace("’", "'"), _OTHER.search(clause, match.end(2)) is None)


def stands_alone(found: Subject | None) -> bool:
    """Whether the subject is understood without the sentence before it."""
    return found is not None and found.text.split()[0].lower() not in PRONOUN_WORDS


def resolve(clause: str, topic: Subject | None) -> str:
    """The clause with the pronoun at its beginning replaced by the topic, where both agree; else unchanged."""
    if topic is None or not clause.startswith(("It", "They", "He ", "She ")):
        return clause
    start = _START.match(clause)
    if _TWO_THINGS.search(topic.text) and clause.startswith("It"):
        return clause
    if start is None or PRONOUNS["expletive"].match(clause):
        return clause
    if start[3]:
        fits = topic.number == "sg" and topic.sole
        return f"{topic.text}'s {clause[start.end() :]}" if fits else clause
    pronoun = start[1]
    verb = start[2].lower().replace("’", "'")
    if pronoun == "They":
        fits = topic.number == "pl" and verb not in _SINGULAR
    elif pronoun == "It":
        fits = topic.number == "sg" and verb not in _PLURAL
    else:
        fits = topic.number == "sg" and topic.person
    return f"{topic.text}{clause[start.end(1) :]}" if fits else clause


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
_PREPOSITIONS = PRONOUNS.words("prepositions")
_BASE_VERBS = PRONOUNS.words("base_verbs")
_COPULA = PRONOUNS.words("copula")
_IRREGULAR = PRONOUNS.words("irregular_participles")
_NOT_NAMES = PRONOUNS.words("not_names")
_IT = re.compile(r"\b(?:it|they|them|he|she|him)\b(?!['’])", re.IGNORECASE)
_ITS = re.compile(r"\b(?:its|their|his)\b|\bher\b(?= [a-z])", re.IGNORECASE)
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


def topic_of(question: str) -> str:
    """The one thing that a question is about; empty if rules aren't sure."""
    for pattern in (_PROPERTY, _WHAT_IS, _WHAT_X_IS):
        if (match := pattern.match(question)) and not PRONOUNS["unclear"].search(match["name"]):
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


def with_topic(question: str, topic: str) -> str:
    """The question with its only pronoun replaced by the topic; unchanged where that isn't sure."""
    if not topic or topic.lower() in question.lower():
        return question
    its, it = list(_ITS.finditer(question)), list(_IT.finditer(question))
    if len(it) + len(its) != 1 or PRONOUNS["asks_expletive"].search(question) or _LATER_NAME.search(question, 1):
        return question
    found = (it or its)[0]
    possessive = "" if it else "'" if topic.endswith("s") else "'s"
    return question[: found.start()] + topic + possessive + question[found.end() :]
