"""Sub-questions of a query: each short and understandable by itself."""

from __future__ import annotations

import re

from ragtriage.judges.embedded.decompose.antecedents import named, stand_alone
from ragtriage.judges.embedded.decompose.asking import INVERTED, WH, manner
from ragtriage.judges.embedded.decompose.sentences import spans
from ragtriage.verdicts import Component, Components

_PREPOSITION = "(?:from|at|in|on|to|for|by|with|of|under|after|until|since|about)"
_JOIN = re.compile(
    rf"(?P<comma>,|;)?\s+(?:and|&|plus|or|as well as|but)\s+(?:also |then |if (?:so|not|yes|no), |secondly,? |"
    rf"finally,? )?"
    rf"(?=(?:{_PREPOSITION} |if [^,?]{{3,120}}, )?(?P<word>{WH}|{INVERTED})\b)|"
    rf"(?P<bare>,|;)\s+(?:also |then )?(?=(?P<bare_word>{WH})\b)",
    re.IGNORECASE,
)
_FRONT = re.compile(rf"(?P<word>{WH}|{INVERTED})\b", re.IGNORECASE)
_SUBJECT = (
    r"(?:i|you|we|they|he|she|it|there|this|that|these|those|the|a|an|my|your|our|their|his|her|its|any|all|some|"
    r"someone|somebody|anyone|anybody|people|every|everyone|each|both|either|no|one)"
)
_CERTAIN = frozenset(
    """
    do does did can could may might must shall should will would am don't doesn't didn't can't couldn't
    shouldn't won't wouldn't
    """.split()
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
    rf"(?P<frame>(?:(?:can|could|would|will) you (?:please )?|please |kindly )?(?:tell me|explain(?: to me)?|describe|"
    rf"show me|let me know|find out|know|clarify|i(?:['’]d| would) like to know|i want to know|i need to know|"
    rf"i wonder|i['’]m wondering|do you know|summari[sz]e|list|outline|state)(?: about)? )(?={WH}\b)",
    re.IGNORECASE,
)
_OF_BOTH = re.compile(
    r"(?P<head>what(?:['’]s| is| was)) the (?P<first>[a-z-]+) and (?:the )?(?P<second>[a-z-]+) of (?P<of>[^?,;]+)\??$",
    re.IGNORECASE,
)
_ONE_THING = frozenset(
    """
    pros cons advantages disadvantages terms conditions research development cause effect supply demand rise
    fall size shape name time date purpose relationship difference history culture life work role function
    meaning origin
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
    if _FRONT.search(before) is None or behind.count(" ") < 1 or _WH_ONLY.search(before.rstrip(" ,")):
        return False
    if cut["bare"]:
        direct = _AUX_SOON.match(before.lstrip()) and _AUX_SOON.match(behind)
        return direct is not None and _EMBEDDED.match(behind) is None
    comma = cut["comma"] is not None
    if len(before.split()) < 2 or _NO_VERB_YET.fullmatch(before.strip(" ,")) or (_BETWEEN.search(before) and not comma):
        return False
    alternative = cut[0].strip(" ,;").lower().startswith("or")
    word = cut["word"].lower().replace("’", "'")
    if not behind.lower().replace("’", "'").startswith(word):
        later = behind.count(" ") > 2 and re.search(rf"\b{INVERTED}\b", behind, re.IGNORECASE)
        return comma and not alternative and later is not None
    if re.fullmatch(WH, word):
        return _asks_what(before, behind, comma=comma) and (comma or not alternative)
    return not alternative and _asks_whether(behind, word, comma=comma)


def _asks_what(before: str, behind: str, *, comma: bool) -> bool:
    """Whether "… and how …" goes on with a question of its own, not with a second object of the first."""
    if _FRAME.match(before):
        return True
    if not comma and re.match(rf"(?!{WH}){INVERTED}\b", before, re.IGNORECASE):
        return _AUX_SOON.match(behind) is not None
    return comma or _EMBEDDED.match(behind) is None


def _asks_whether(behind: str, word: str, *, comma: bool) -> bool:
    """Whether "… and does …" goes on with a question of its own, not with a second verb of the first."""
    if _PRONOUN_BEHIND.match(behind):
        return True
    if word in _CERTAIN:
        return comma or _SUBJECT_BEHIND.match(behind) is not None
    return comma and (_SUBJECT_BEHIND.match(behind) or _NAME_BEHIND.match(behind)) is not None


def _both_of(said: str, at: int) -> list[tuple[str, tuple[int, int]]]:
    """Two questions for "What is the A and B of C?"; empty for any other."""
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
    return (text[:1].upper() + text[1:]).rstrip(".? ") + "?"


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

    Compound questions are split, pronouns replaced where one name is surely meant; greetings are dropped, and
    statements where a question or request stands beside them. Keywords, a request or a stated problem are one
    sub-question, unchanged.
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
