"""Splits a query into sub-questions, each short and understandable by itself."""

import re
from typing import Literal

from ragtriage.core.verdicts import Component, Components
from ragtriage.text.blocks import blocks
from ragtriage.text.lexicon import QUESTIONS
from ragtriage.text.pronouns import topic_of, with_topic
from ragtriage.text.sentences import sentences_of
from ragtriage.text.words import INVERTED, WH

QuestionForm = Literal["nothing", "statement", "request", "question"]

_PLACE = re.compile(r"\b(?:in|at|near|from|on)\s+(?:the\s+)?[A-Z]")
_SIGNS = {"when": QUESTIONS["time"], "why": QUESTIONS["cause"], "how": QUESTIONS["manner"]}

QuestionType = Literal["who", "when", "where", "number", "why", "how", "yesno", "what"]
QUESTION_TYPES: tuple[QuestionType, ...] = ("who", "when", "where", "number", "why", "how", "yesno", "what")
_TRIED: tuple[QuestionType, ...] = ("number", "when", "who", "where", "why", "how", "yesno")
_TYPES = tuple((kind, QUESTIONS[f"asks_{kind}"]) for kind in _TRIED)


def question_form(sentence: str) -> QuestionForm:
    """How a sentence of a query asks: not at all, by stating a problem, by a request, by a question."""
    said = sentence.strip()
    if not any(c.isalnum() for c in said) or (len(said) < 200 and QUESTIONS["nothing"].fullmatch(said)):
        return "nothing"
    if said.rstrip("\"'”’)*_ ").endswith(("?", "？", "؟")):
        return "question"
    if QUESTIONS["request"].match(said):
        return "request"
    return "question" if QUESTIONS["question"].match(said) else "statement"


def question_type(question: str) -> QuestionType:
    """What kind of answer a question wants; `what` if nothing more exact is known."""
    return next((kind for kind, pattern in _TYPES if pattern.search(question)), "what")


def holds_type(kind: QuestionType, text: str, *, names: bool, numbers: bool) -> bool:
    """Whether a text holds something of the kind that a question wants; always true for `what` and `yesno`.

    `names` and `numbers` say whether it holds one that the question lacks.
    """
    if kind in _SIGNS:
        return (numbers if kind == "when" else False) or _SIGNS[kind].search(text) is not None
    return {"who": names, "number": numbers, "where": names and _PLACE.search(text) is not None}.get(kind, True)


_SUBJECT = QUESTIONS.regex("subject")
_CERTAIN = QUESTIONS.words("certain")
_SUBJECT_BEHIND = re.compile(rf"[\w'’]+ (?:(?i:{_SUBJECT})\b|[A-Z0-9`\"])")
_NAME_BEHIND = re.compile(r"[\w'’]+ (?:[A-Z0-9`\"]|(?:[\w-]+s|buying|\w+ing)\b)")
_WH_ONLY = re.compile(rf"\b{WH}$", re.IGNORECASE)
_AUX_SOON = re.compile(rf"{WH}(?: [^\s?,;]+){{0,6}}? {INVERTED}\b", re.IGNORECASE)
_GOES_ON = re.compile(rf",?\s+(?:and|or)\s+(?:{WH}|{INVERTED})\b", re.IGNORECASE)
"""A list of questions, of which the last is still to come."""
_IS_WHAT = re.compile(r"(?:what|who|where|when|how)['’]s\b", re.IGNORECASE)
_BEGINS_IS = re.compile(r"(?:is|are|was|were|does|do|did|can) [\w-]+ [\w-]+", re.IGNORECASE)
_NO_VERB_YET = re.compile(rf"(?:which|whose|how (?:many|much))(?: (?!{INVERTED}\b)[\w'’-]+){{0,3}}", re.IGNORECASE)
_ONE_THING = QUESTIONS.words("one_thing")
_LONGEST = 2000


def _joins(said: str) -> list[re.Match[str]]:
    """Where one question ends and the next begins, as far as rules are sure."""
    found: list[re.Match[str]] = []
    begin = 0
    for cut in QUESTIONS["join"].finditer(said):
        before, behind = said[begin : cut.start()], said[cut.end() :]
        if _asks_again(before, behind, cut):
            found.append(cut)
            begin = cut.end()
    return found


def _asks_again(before: str, behind: str, cut: re.Match[str]) -> bool:
    """Whether what stands behind a conjunction is a question of its own."""
    if QUESTIONS["front"].search(before) is None or behind.count(" ") < 1 or _WH_ONLY.search(before.rstrip(" ,")):
        return False
    if cut["bare"]:
        return _AUX_SOON.match(before.lstrip()) is not None and _asks_bare(behind)
    comma = cut["comma"] is not None
    if (
        len(before.split()) < 2
        or _NO_VERB_YET.fullmatch(before.strip(" ,"))
        or (QUESTIONS["between"].search(before) and not comma)
    ):
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
    if QUESTIONS["inserted"].match(behind):
        return False
    listed = _IS_WHAT.match(behind) or _SUBJECT_BEHIND.match(behind) or _BEGINS_IS.match(behind)
    if _GOES_ON.search(behind) and listed:
        return True
    return _AUX_SOON.match(behind) is not None and QUESTIONS["embedded"].match(behind) is None


def _asks_what(before: str, behind: str, *, comma: bool) -> bool:
    """Whether "… and how …" goes on with a question of its own, not with a second object of the first."""
    if QUESTIONS["frame"].match(before):
        return True
    if not comma and re.match(rf"(?!{WH}){INVERTED}\b", before, re.IGNORECASE):
        return _AUX_SOON.match(behind) is not None
    return comma or QUESTIONS["embedded"].match(behind) is None


def _asks_whether(behind: str, word: str, *, comma: bool) -> bool:
    """Whether "… and does …" goes on with a question of its own, not with a second verb of the first."""
    if QUESTIONS["pronoun_behind"].match(behind):
        return True
    if word in _CERTAIN:
        return comma or _SUBJECT_BEHIND.match(behind) is not None
    named = _SUBJECT_BEHIND.match(behind) or _NAME_BEHIND.match(behind)
    return comma and named is not None


def _both_of(said: str, at: int) -> list[tuple[str, tuple[int, int]]]:
    """Two questions for "What is the A and B of C?"; empty for any other."""
    match = QUESTIONS["of_both"].match(said)
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


def _split(query: str, start: int, end: int, asks: QuestionForm, topic: str) -> tuple[list[Component], str]:
    """The sub-questions of one sentence, and the one thing that the query is about so far."""
    said = query[start:end]
    cuts = _joins(said) if len(said) <= _LONGEST else []
    if not cuts:
        if both := _both_of(said, start):
            return [Component(text, span) for text, span in both], topic
        return [Component(with_topic(said, topic), (start, end))], topic or topic_of(_question(said))
    frame = QUESTIONS["frame"].match(said)
    found: list[Component] = []
    bounds = zip([0, *(c.end() for c in cuts)], [*(c.start() for c in cuts), len(said)], strict=True)
    for number, (a, b) in enumerate(bounds):
        part = said[a:b]
        if number and frame and not _AUX_SOON.match(part):
            part = frame["frame"] + part
        part = _question(part) if asks == "question" else part.strip(" ,;")
        part = with_topic(part, topic)
        topic = topic or topic_of(part)
        found.append(Component(part[:1].upper() + part[1:], (start + a, start + b)))
    return found, topic


def _sentences(query: str) -> list[tuple[int, int, QuestionForm]]:
    """The sentences of a query without list markers and greetings before them, and how each asks."""
    found: list[tuple[int, int, QuestionForm]] = []
    began = last_message(query)
    said = "\n" * began + query[began:]  # spans stay those of the query
    for block in blocks(said):
        for a, b in sentences_of(said, block):
            before = QUESTIONS["before"].match(query, a, b)
            start = before.end() if before and before.end() < b else a
            found.append((start, b, question_form(query[start:b])))
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


def last_message(query: str) -> int:
    """Where the last message of a written-out conversation begins; 0 if none is written out.

    It is told by a line that begins with the user's name behind one that begins with the assistant's. The assistant's
    name at the very end, where the reply was to be written, is none.
    """
    replies = [reply.end() for reply in QUESTIONS["reply"].finditer(query) if query[reply.end() :].strip()]
    if not replies:
        return 0
    asked = [message.end() for message in QUESTIONS["asked"].finditer(query, replies[-1])]
    return asked[-1] if asked and query[asked[-1] :].strip() else 0
