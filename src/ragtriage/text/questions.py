"""Sub-questions of a query: each short and understandable by itself."""

from __future__ import annotations

import re

from ragtriage.core.verdicts import Component, Components
from ragtriage.text.antecedents import named, stand_alone
from ragtriage.text.blocks import blocks
from ragtriage.text.interrogatives import INVERTED, WH, Manner, manner
from ragtriage.text.sentences import sentences_of
from ragtriage.text.transcripts import last_message

_PREPOSITION = "(?:from|at|in|on|to|for|by|with|of|under|after|until|since|about)"
_JOIN = re.compile(
    rf"(?P<comma>,|;)?\s+(?:and|&|plus|or|as well as|but),?\s+(?:also |then |if (?:so|not|yes|no), |secondly,? |"
    rf"finally,? )?"
    rf"(?=(?:{_PREPOSITION} |if [^,?]{{3,120}}, )?(?P<word>{WH}|{INVERTED})\b)|"
    rf"(?P<bare>,|;)\s+(?:also |then )?(?=(?P<bare_word>{WH}|{INVERTED})\b)",
    re.IGNORECASE,
)
_FRONT = re.compile(rf"(?P<word>{WH}|{INVERTED})\b", re.IGNORECASE)
_SUBJECT = (
    r"(?:i|you|we|they|he|she|it|there|this|that|these|those|the|a|an|my|your|our|their|his|her|its|any|all|some|"
    r"someone|somebody|anyone|anybody|people|every|everyone|each|both|either|no|one|"
    r"two|three|several|many|most|other|another|employees|customers|users|guests|members|children|students|staff|visitors)"
)
_CERTAIN = frozenset(
    """
    do does did can could may might must shall should will would am don't doesn't didn't can't couldn't
    shouldn't won't wouldn't
    """.split()
)
_PRONOUN_BEHIND = re.compile(r"[\w'’]+ (?:i|you|we|they|he|she|it|there|this|that|these|those)\b", re.IGNORECASE)
_SUBJECT_BEHIND = re.compile(rf"[\w'’]+ (?:(?i:{_SUBJECT})\b|[A-Z0-9`\"])")
_NAME_BEHIND = re.compile(r"[\w'’]+ (?:[A-Z0-9`\"]|(?:[\w-]+s|buying|\w+ing)\b)")
_WH_ONLY = re.compile(rf"\b{WH}$", re.IGNORECASE)
_AUX_SOON = re.compile(rf"{WH}(?: [^\s?,;]+){{0,6}}? {INVERTED}\b", re.IGNORECASE)
_EMBEDDED = re.compile(
    rf"{WH} (?:(?:the|a|an|my|your|our|their|i|you|we|they|he|she|it|this|that|these|to)\b)", re.IGNORECASE
)
_BETWEEN = re.compile(r"\b(?:between|both|either|whether|depending on|regardless of|no matter)\b", re.IGNORECASE)
_INSERTED = re.compile(
    rf"(?:who|whom|whose|which)\b[^,?]*,\s+(?!(?:and |or |but )?(?:{WH}|{INVERTED})\b)", re.IGNORECASE
)
"""A relative clause between commas, behind which the sentence goes on."""
_GOES_ON = re.compile(rf",?\s+(?:and|or)\s+(?:{WH}|{INVERTED})\b", re.IGNORECASE)
"""A list of questions, of which the last is still to come."""
_IS_WHAT = re.compile(r"(?:what|who|where|when|how)['’]s\b", re.IGNORECASE)
_BEGINS_IS = re.compile(r"(?:is|are|was|were|does|do|did|can) [\w-]+ [\w-]+", re.IGNORECASE)
_NO_VERB_YET = re.compile(rf"(?:which|whose|how (?:many|much))(?: (?!{INVERTED}\b)[\w'’-]+){{0,3}}", re.IGNORECASE)
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
_BEFORE = re.compile(
    r"(?:\(?\d{1,2}[.)]\s+|[-*•]\s+|[a-z]\)\s+)?"
    r"(?:(?:hi|hello|hey|good (?:morning|afternoon|evening)|greetings)"
    r"(?: (?:there|team|all|everyone|everybody|folks|again))?\s?[,!.:-]\s*)?",
    re.IGNORECASE,
)
"""A list marker and a greeting: no part of the question behind them."""
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
        return _AUX_SOON.match(before.lstrip()) is not None and _asks_bare(behind)
    comma = cut["comma"] is not None
    if len(before.split()) < 2 or _NO_VERB_YET.fullmatch(before.strip(" ,")) or (_BETWEEN.search(before) and not comma):
        return False
    alternative = cut[0].strip(" ,;").lower().startswith("or")
    word = cut["word"].lower().replace("’", "'")
    if not behind.lower().replace("’", "'").startswith(word):
        later = re.search(rf"\b{INVERTED}\b", behind, re.IGNORECASE)
        return comma and not alternative and later is not None and behind.count(" ") > 2
    if re.fullmatch(WH, word):
        return _asks_what(before, behind, comma=comma) and (comma or not alternative)
    return not alternative and _asks_whether(behind, word, comma=comma)


def _asks_bare(behind: str) -> bool:
    """Whether what stands behind a comma alone is a question: worded as one, or one of several with another to come."""
    if _INSERTED.match(behind):
        return False
    listed = _IS_WHAT.match(behind) or _SUBJECT_BEHIND.match(behind) or _BEGINS_IS.match(behind)
    if _GOES_ON.search(behind) and listed:
        return True
    return _AUX_SOON.match(behind) is not None and _EMBEDDED.match(behind) is None


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
    named = _SUBJECT_BEHIND.match(behind) or _NAME_BEHIND.match(behind)
    return comma and named is not None


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


def _split(query: str, start: int, end: int, asks: Manner, topic: str) -> tuple[list[Component], str]:
    """The sub-questions of one sentence, and the one thing that the query is about so far."""
    said = query[start:end]
    cuts = _joins(said) if len(said) <= _LONGEST else []
    if not cuts:
        if both := _both_of(said, start):
            return [Component(text, span) for text, span in both], topic
        return [Component(stand_alone(said, topic), (start, end))], topic or named(_question(said))
    frame = _FRAME.match(said)
    found: list[Component] = []
    bounds = zip([0, *(c.end() for c in cuts)], [*(c.start() for c in cuts), len(said)], strict=True)
    for number, (a, b) in enumerate(bounds):
        part = said[a:b]
        if number and frame and not _AUX_SOON.match(part):
            part = frame["frame"] + part
        part = _question(part) if asks == "question" else part.strip(" ,;")
        part = stand_alone(part, topic)
        topic = topic or named(part)
        found.append(Component(part[:1].upper() + part[1:], (start + a, start + b)))
    return found, topic


def _sentences(query: str) -> list[tuple[int, int, Manner]]:
    """The sentences of a query without list markers and greetings before them, and how each asks."""
    found: list[tuple[int, int, Manner]] = []
    began = last_message(query)
    said = "\n" * began + query[began:]  # spans stay those of the query
    for block in blocks(said):
        for a, b in sentences_of(said, block):
            before = _BEFORE.match(query, a, b)
            start = before.end() if before and before.end() < b else a
            found.append((start, b, manner(query[start:b])))
    return found


def split_questions(query: str) -> Components:
    """Break a query into stand-alone short sub-questions; `()` only if it asks nothing.

    Compound questions are split, pronouns replaced where one name is surely meant; greetings are dropped, and
    statements where a question or request stands beside them. Keywords, a request or a stated problem are one
    sub-question, unchanged. Of a conversation that is written out only the last message asks.
    """
    pieces = [piece for piece in _sentences(query) if piece[2] != "nothing"]
    asking = [piece for piece in pieces if piece[2] != "statement"]
    if any(how == "question" for *_, how in asking) or len(asking) > 1 or len(asking) == len(pieces) == 1:
        found: list[Component] = []
        topic = ""
        for a, b, how in asking:
            components, topic = _split(query, a, b, how, topic)
            found.extend(components)
        return tuple(found)
    if not pieces:
        return ()
    span = (pieces[0][0], pieces[-1][1])
    return (Component(query[slice(*span)], span),)
