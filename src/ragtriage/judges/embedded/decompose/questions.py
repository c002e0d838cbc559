"""Sub-questions of a query: each short and understandable by itself."""

from __future__ import annotations

import re

from ragtriage.judges.embedded.decompose.asking import INVERTED, WH, manner
from ragtriage.judges.embedded.decompose.antecedents import named, stand_alone
from ragtriage.judges.embedded.decompose.sentences import spans
from ragtriage.verdicts import Component, Components

_PREPOSITION = "(?:from|at|in|on|to|for|by|with|of|under|after|until|since|about)"
_JOIN = re.compile(
    rf"(?P<comma>,|;)?\s+(?:and|&|plus|or|as well as|but)\s+(?:also |then |if (?:so|not|yes|no), |secondly,? |finally,? )?"
    rf"(?=(?:{_PREPOSITION} |if [^,?]{{3,120}}, )?(?P<word>{WH}|{INVERTED})\b)|"
    rf"(?P<bare>,|;)\s+(?:also |then )?(?=(?P<bare_word>{WH})\b)",
    re.IGNORECASE,
)
_FRONT = re.compile(rf"(?P<word>{WH}|{INVERTED})\b", re.IGNORECASE)
_SUBJECT = r"(?:i|you|we|they|he|she|it|there|this|that|these|those|the|a|an|my|your|our|their|his|her|its|any|all|some|someone|somebody|anyone|anybody|people|every|everyone|each|both|either|no|one)"
_CERTAIN = frozenset(
    "do does did can could may might must shall should will would am don't doesn't didn't can't couldn't shouldn't won't wouldn't".split()
)
_PRONOUN_BEHIND = re.compile(r"[\w'’]+ (?:i|you|we|they|he|she|it|there|this|that|these|those)\b", re.IGNORECASE)
_SUBJECT_BEHIND = re.compile(rf"[\w'’]+ (?:{_SUBJECT}\b|[A-Z0-9`\"])", re.IGNORECASE)
_NAME_BEHIND = re.compile(r"[\w'’]+ (?:[A-Z0-9`\"]|(?:[\w-]+s|buying|\w+ing)\b)")
_WH_ONLY = re.compile(rf"\b{WH}$", re.IGNORECASE)
_AUX_SOON = re.compile(rf"{WH}(?: [^\s?,;]+){{0,6}}? {INVERTED}\b", re.IGNORECASE)
_EMBEDDED = re.compile(
    rf"{WH} (?:(?:the|a|an|my|your|our|their|i|you|we|they|he|she|it|this|that|these|to)\b)", re.IGNORECASE
)
_BETWEEN = re.compile(r"\b(?:between|both|either|whether|depending on|regardless of|no matter)\b", re.IGNORECASE)
_NO_VERB_YET = re.compile(r"(?:which|whose|how (?:many|much))(?: [\w'’-]+){0,3}", re.IGNORECASE)
_FRAME = re.compile(
    rf"(?P<frame>(?:(?:can|could|would|will) you (?:please )?|please |kindly )?(?:tell me|explain(?: to me)?|describe|show me|let me know|find out|know|clarify|i(?:['’]d| would) like to know|i want to know|i need to know|i wonder|i['’]m wondering|do you know|summari[sz]e|list|outline|state)(?: about)? )(?={WH}\b)",
    re.IGNORECASE,
)
_OF_BOTH = re.compile(
    r"(?P<head>what(?:['’]s| is| was)) the (?P<first>[a-z-]+) and (?:the )?(?P<second>[a-z-]+) of (?P<of>[^?,;]+)\??$",
    re.IGNORECASE,
)
_ONE_THING = frozenset(
    """
    pros cons advantages disadvantages terms conditions research development cause effect supply demand rise fall size shape
    name time date purpose relationship difference history culture life work role function meaning origin
    """.split()
)
_LONGEST = 2000


def _joins(said: str) -> list[re.Match[str]]:
    """Where one question ends and the next begins, as far as rules are sure."""
    found: list[re.Match[str]] = []
    begin = 0
    for cut in _JOIN.finditer(said):
        before, behind = said[begin : cut.start()], said[cut.end() :]
        if _asks_again(before, behind, cut):
            found.append(cut)
            begin = cut.end()
    return found


def _asks_again(before: str, behind: str, cut: re.Match[str]) -> bool:
    """Whether what stands behind a conjunction is a question of its own."""
    first = _FRONT.search(before)
    if first is None or len(behind.split()) < 2 or _WH_ONLY.search(before.rstrip(" ,")):
        return False
    if cut["bare"]:
        return (
            _AUX_SOON.match(before.lstrip()) is not None
            and _AUX_SOON.match(behind) is not None
            and _EMBEDDED.match(behind) is None
        )
    if (
        len(before.split()) < 2
        or _NO_VERB_YET.fullmatch(before.strip(" ,"))
        or (_BETWEEN.search(before) and not cut["comma"])
    ):
        return False
    word = cut["word"].lower().replace("’", "'")
    comma = cut["comma"] is not None
    joiner = cut[0].strip(" ,;").split()[0].lower()
    if behind[: len(word)].lower().replace("’", "'") != word:
        return comma and joiner != "or" and len(behind.split()) > 3 and re.search(rf"\b{INVERTED}\b", behind, re.IGNORECASE) is not None
    if re.fullmatch(WH, word):
        if _FRAME.match(before) or (re.match(WH, first[0], re.IGNORECASE) is None and first.start() == 0 and not comma):
            return _AUX_SOON.match(behind) is not None or _FRAME.match(before) is not None
        if joiner == "or" and not comma:
            return False
        return comma or _EMBEDDED.match(behind) is None
    if joiner == "or":
        return False
    if _PRONOUN_BEHIND.match(behind):
        return True
    if word in _CERTAIN:
        return _SUBJECT_BEHIND.match(behind) is not None or comma
    return comma and (_SUBJECT_BEHIND.match(behind) is not None or _NAME_BEHIND.match(behind) is not None)


def _both_of(said: str, at: int) -> list[tuple[str, tuple[int, int]]]:
    """ "What is the A and B of C?" as two questions."""
    match = _OF_BOTH.match(said)
    if match is None or {match["first"].lower(), match["second"].lower()} & _ONE_THING:
        return []
    if match["first"].endswith("s") or match["second"].endswith("s") or re.search(r"\b(?:and|or)\b", match["of"]):
        return []
    of = match["of"].strip()
    return [
        (f"{match['head']} the {match[part]} of {of}?", (at + match.start(part), at + match.end(part)))
        for part in ("first", "second")
    ]


def _question(text: str) -> str:
    """The words as a question: a capital first, a question mark last."""
    text = text.strip(" ,;")
    return (text[:1].upper() + text[1:]).rstrip(".?? ") + "?"


def _split(query: str, start: int, end: int, asks: str) -> list[Component]:
    """The sub-questions of one sentence."""
    said = query[start:end]
    cuts = _joins(said) if len(said) <= _LONGEST else []
    if not cuts:
        if both := _both_of(said, start):
            return [Component(text, span) for text, span in both]
        return [Component(said, (start, end))]
    frame = _FRAME.match(said)
    topic = ""
    found: list[Component] = []
    bounds = list(zip([0, *(c.end() for c in cuts)], [*(c.start() for c in cuts), len(said)], strict=True))
    for number, (a, b) in enumerate(bounds):
        part = said[a:b]
        if number and frame and not _AUX_SOON.match(part):
            part = frame["frame"] + part
        part = _question(part) if asks == "question" else part.strip(" ,;")
        if number:
            part = stand_alone(part, topic)
        topic = topic or named(part)
        found.append(Component(part[:1].upper() + part[1:], (start + a, start + b)))
    return found


def _trim(text: str) -> tuple[int, int]:
    """The span of a text without white space around it."""
    start = len(text) - len(text.lstrip())
    return start, max(start, len(text.rstrip()))


def split_questions(query: str) -> Components:
    """Break a query into stand-alone short sub-questions; `()` only if it asks nothing.

    Compound questions are split, pronouns replaced where one name is surely meant; greetings are dropped, and statements
    where a question or request stands beside them. Keywords, a request or a stated problem are one sub-question, unchanged.
    """
    start, end = _trim(query)
    pieces = [(a, b, manner(query[a:b])) for a, b in spans(query, start, end)]
    asking = [(a, b, how) for a, b, how in pieces if how in {"question", "request"}]
    if any(how == "question" for *_, how in asking) or len(asking) > 1:
        found: list[Component] = []
        for a, b, how in asking:
            found.extend(_split(query, a, b, how))
        return tuple(found)
    if any(how != "nothing" for *_, how in pieces):
        kept = [(a, b) for a, b, how in pieces if how != "nothing"]
        a, b = kept[0][0], kept[-1][1]
        return (
            tuple(_split(query, a, b, "request")) if len(asking) == 1 == len(kept) else (Component(query[a:b], (a, b)),)
        )
    return ()
