"""The grammatical subject of a clause, and pronouns that may safely be replaced by it."""

from __future__ import annotations

import re
from dataclasses import dataclass

AUXILIARY = (
    r"(?:is|are|was|were|has|have|had|can|could|may|might|must|shall|should|will|would|does|do|did|"
    r"isn['’]t|aren['’]t|wasn['’]t|weren['’]t|hasn['’]t|haven['’]t|hadn['’]t|can['’]t|cannot|couldn['’]t|mustn['’]t|"
    r"shouldn['’]t|won['’]t|wouldn['’]t|doesn['’]t|don['’]t|didn['’]t)"
)
_SINGULAR = frozenset({"is", "was", "has", "does", "isn't", "wasn't", "hasn't", "doesn't"})
_PLURAL = frozenset({"are", "were", "have", "do", "aren't", "weren't", "haven't", "don't"})

_SUBJECT = re.compile(
    rf"((?:[A-Z0-9`][^\s,;:]{{0,40}}|the|a|an|this|these|its|"
    rf"their)(?:[ ][^\s,;:]{{1,40}}){{0,7}}?)[ ]({AUXILIARY})(?![\w'’])"
)
_NO_SUBJECT = frozenset(
    """
    in on at by for from with to of into onto during under over between among without within through via per
    about when while if as after before since until unless although though because however but and or so then
    also there here yes no not none nothing nobody neither few only never what which who whom whose where why
    how that please note both either each once despite instead according given based even it they he she we you
    i one another others today now
    """.split()
)
_CLAUSE_WORDS = re.compile(
    r"\b(?:that|which|who|whom|whose|where|when|if|what|how|why|to|because|but|or|than|as)\b", re.IGNORECASE
)
_OTHER = re.compile(r"\b(?:the|an?|this|that|its|their|his|her|my|your|our|[A-Z][\w'’-]*)[ ]\w|[ ][A-Z][a-z]")
_TWO_THINGS = re.compile(r"['’]s?[ ]| (?:of|and|or|with|for|in|on) ")
"""A subject that names two things: either may be meant by "it"."""
_PRONOUNS = frozenset(
    {
        "it",
        "they",
        "he",
        "she",
        "we",
        "you",
        "i",
        "this",
        "that",
        "these",
        "those",
        "its",
        "their",
        "his",
        "her",
        "my",
        "your",
        "our",
    }
)
_PERSON = re.compile(r"[A-Z][\w'’.-]*(?: (?:[A-Z][\w'’.-]*|de|van|von|der|la|al|bin|I{1,3}|IV|V))+$")
_START = re.compile(rf"(It|They|He|She)[ ]({AUXILIARY})(?![\w'’])|(Its)[ ](?=[a-z])")
_EXPLETIVE = re.compile(
    r"It[ ](?:is|was|isn['’]t|wasn['’]t|will be|may be|can be|would be|might be|has been|could be|should be|"
    r"must be)[ ](?:[\w'’-]+[ ]){0,4}?(?:that|to|who|whether|if|when|where|because|how|why|not until|only)\b"
    r"|It[ ](?:does|did|would|may|might|can|will|has|doesn['’]t|didn['’]t)[ ](?:not )?(?:seem|appear|take|taken|"
    r"depend|follow|turn|matter|mean|make sense|look|rain)\b"
)


@dataclass(frozen=True, slots=True)
class Subject:
    """Who or what a clause is about."""

    text: str
    end: int
    """Where the subject ends in the clause."""
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
    if words[0] in _NO_SUBJECT or said.endswith(("'s", "’s")) or _CLAUSE_WORDS.search(said) or words[0].endswith("ly"):
        return None
    return Subject(said, match.end(1), match[2].lower().replace("’", "'"), _OTHER.search(clause, match.end(2)) is None)


def stands_alone(found: Subject | None) -> bool:
    """Whether the subject is understood without the sentence before it."""
    return found is not None and found.text.split()[0].lower() not in _PRONOUNS


def resolve(clause: str, topic: Subject | None) -> str:
    """The clause with the pronoun at its beginning replaced by the topic, where both agree; else unchanged."""
    if topic is None or not clause.startswith(("It", "They", "He ", "She ")):
        return clause
    start = _START.match(clause)
    if _TWO_THINGS.search(topic.text) and clause.startswith("It"):
        return clause
    if start is None or _EXPLETIVE.match(clause):
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
