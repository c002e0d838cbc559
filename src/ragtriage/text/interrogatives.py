"""What asks and what doesn't: greetings, courtesies, statements, requests, questions."""

from __future__ import annotations

import re
from typing import Literal

Manner = Literal["nothing", "statement", "request", "question"]

WH = (
    r"(?:what(?:['’]s|['’]re|s)?|when(?:['’]s)?|where(?:['’]s|['’]re)?|who(?:['’]s|['’]re)?|whom|whose|why|"
    r"how(?:['’]s)?|which)"
)
INVERTED = (
    r"(?:is|are|was|were|am|do|does|did|has|have|had|can|could|may|might|must|shall|should|will|would|"
    r"isn['’]t|aren['’]t|wasn['’]t|weren['’]t|don['’]t|doesn['’]t|didn['’]t|hasn['’]t|haven['’]t|can['’]t|couldn['’]t|"
    r"shouldn['’]t|won['’]t|wouldn['’]t)"
)
_NOTHING = re.compile(
    r"[\W_]*(?:(?:hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day|night)|dear (?:all|team|"
    r"support|sir|madam)(?: or (?:sir|madam))?|"
    r"thanks?|thank you|thx|ty|cheers|many thanks|much appreciated|appreciate it|"
    r"ok|okay|k|great|cool|nice|perfect|awesome|wonderful|excellent|super|fine|good|got it|i see|understood|right|"
    r"sure|alright|all right|yes|no|yep|yeah|nope|"
    r"bye|goodbye|good bye|see you|later|lol|haha|please|sorry|welcome|test|testing|hmm+|um+|uh+|oh|ah|wow|"
    r"i hope (?:you['’]re|you are|this finds you) (?:doing )?well|hope (?:you['’]re|you are) (?:doing )?well|"
    r"how are you(?: doing)?(?: today)?|how['’]s it going|what['’]s up|nice to meet you|"
    r"that['’]?s (?:all|it|great|helpful|good)|that (?:helps|helped|was helpful|is all|works)|no problem|never ?mind|"
    r"you['’]re welcome|have a (?:good|nice|great) (?:day|one|weekend|evening))"
    r"(?: (?:there|again|so much|very much|a lot|all|everyone|everybody|team|folks|guys|you|in advance|for (?:your|"
    r"the|any|all) (?:[\w-]+ ?){1,4}|then|now|today|to you|and|but|really|just|much|kindly|bot|assistant|"
    r"support))*[\W_]*)+",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    rf"(?:(?:and|but|or|so|also|well|ok|okay|hi|hello|hey|please|then|now|anyway|actually|btw|by the way|"
    rf"quick question|just wondering),?[:]? )*(?:{WH}|{INVERTED})\b(?! to be\b)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"(?:(?:and|also|please|then|kindly|now|so|but|just|could you|can you),? )*(?:list|tell|explain|describe|show|"
    r"give|compare|summari[sz]e|name|write|find|define|outline|provide|"
    r"identify|discuss|state|mention|translate|calculate|check|help|recommend|suggest|walk me|enumerate|quote|look up|"
    r"search|let me know|remind|send|clarify|elaborate|"
    r"(?:i|we)(?:['’]d| would) (?:like|love|want) to (?:know|understand|learn|see|find out|ask|hear)|(?:i|we) (?:want|"
    r"need|wanted|wish) to (?:know|understand|learn|find out|ask)|(?:i['’]m|i am|we['’]re|we are|just) (?:wondering|"
    r"curious|asking)|(?:i|we) wonder)\b",
    re.IGNORECASE,
)


def manner(sentence: str) -> Manner:
    """How a sentence of a query asks: not at all, by stating a problem, by a request, by a question."""
    said = sentence.strip()
    if not any(c.isalnum() for c in said) or (len(said) < 200 and _NOTHING.fullmatch(said)):
        return "nothing"
    if said.rstrip("\"'”’)*_ ").endswith(("?", "？", "؟")):
        return "question"
    if _REQUEST.match(said):
        return "request"
    return "question" if _QUESTION.match(said) else "statement"
