"""What is claimed, ready to be compared, and which claims a query needs whatever words they share with it.

A claim without its origin ("Based on the provided passages, …"); a short reply ("In 1912.") with its question; an item
of a list with the words that lead in, since "Eggshells" alone shares no word with the question that asks for it.
"""

import re
from functools import lru_cache

from ragtriage.judges.embedded.readings import RULES, read_sentence
from ragtriage.text.dates import DATE_NAMES
from ragtriage.text.markup import plain_text
from ragtriage.text.pronouns import AUXILIARY_WORD, stands_alone, subject
from ragtriage.text.questions import question_type, split_questions
from ragtriage.text.words import NUMBER_WORDS, STOP, fold, stem, tokens

_NAMED = RULES.regex("named_text")
_LINK = RULES.regex("link")
_SAYS = RULES.regex("text_says")
_LEADS = (
    re.compile(
        rf"^\s*{_LINK}(?:based (?:solely |only )?(?:on|upon)|according to|per"
        r"|as (?:stated|mentioned|noted|described|explained) (?:in|by))\s+"
        rf"(?:(?:the\s+)?information\s+(?:provided\s+|given\s+|contained\s+)?(?:in|from|by)\s+)?{_NAMED}\s*[,:]\s*",
        re.IGNORECASE,
    ),
    re.compile(rf"^\s*{_LINK}{_NAMED}\s+{_SAYS}", re.IGNORECASE),
)


def without_attribution(claim: str) -> str:
    """The claim without marks and phrases of attribution; as it stands if nothing else would be left."""
    text = RULES["attribution_marks"].sub("", claim)
    for lead in _LEADS:
        text = lead.sub("", text, count=1)
    text = text.strip()
    return text if sum(c.isalpha() for c in text) > 2 else claim


WORDS = 12
"""Up to so many words a text without a subject is a short reply."""
NAME = 3
"""Up to so many words with a capital each are a name."""
LONGER = 24
"""Up to so many, if it has no auxiliary either, and no word of the question: a list of things, a reason, a way."""

_TIME = RULES.words("time_words")
_AMOUNT = RULES.words("amount_words")
_DIGIT = re.compile(r"\d")
_NAME = re.compile(r"(?<!^)\b[A-Z]")
_YES_NO = re.compile(r"\W*(?:(yes|yeah|yep|correct|right|true)|no|nope|false|incorrect)\b", re.IGNORECASE)


def is_short_reply(query: str, question: str, claims: str) -> bool:
    """Whether a response is a short reply that can answer a question, or begins with one.

    Of several sub-questions of the query a reply answers those whose kind it is surely of. Of several claims, a line
    each, the first has to be surely of the kind, too, and to have no word of the question.
    """
    said, _, more = claims.partition("\n")
    words = [word.lower() for word in tokens(said)]
    if not words or stands_alone(subject(said.strip())):
        return False
    if ((more or len(words) > WORDS) and not _elliptic(question, said, len(words))) or _names_no_way(question, said):
        return False
    kind = question_type(question)
    numbers = _DIGIT.search(said) is not None or not NUMBER_WORDS.keys().isdisjoint(words)
    named = _NAME.search(said.strip()) is not None
    if kind == "when":
        return numbers or not (_TIME | DATE_NAMES).isdisjoint([*words, *(word.removesuffix("s") for word in words)])
    if kind == "number" or RULES["asks_amount"].search(question):
        return numbers or not _AMOUNT.isdisjoint(words)
    alone = not more and len(split_questions(query)) <= 1
    if kind in {"who", "where"}:
        return (named and alone) if _DIGIT.search(said) else named or alone
    return alone or (kind == "yesno" and _YES_NO.match(said) is not None)


def _names_no_way(question: str, said: str) -> bool:
    """Whether a query that asks how something is done is replied to with a name, which tells no way."""
    words = tokens(said)
    return (
        len(words) <= NAME
        and all(word[:1].isupper() for word in words)
        and RULES["how_to"].search(question) is not None
    )


def share_named(question: str, response: str) -> float:
    """The share of so many things as a question asks for that a response may name: "Which three documents …?"; else 1.

    What is parted by commas, "and", stops or lines counts as several.
    """
    asked = RULES["asks_so_many"].search(question)
    number = NUMBER_WORDS.get(asked["number"].lower(), asked["number"]) if asked else "1"
    wanted = int(number) if number.isdigit() else 1
    return min(1.0, len([part for part in _APART.split(response) if any(map(str.isalnum, part))]) / max(1, wanted))


_APART = re.compile(r"[,;.\n/|·•→>]|\s(?:and|or|plus|then|as well as)\s|\s[-–&+]\s")


def asserted_text(query: str, claim: str) -> str:
    """What a claim says: of a yes alone what was asked, nothing if that is several things, nor of a no alone."""
    yes_no = _YES_NO.match(claim)
    if yes_no is None or read_sentence(claim[yes_no.end() :]).stems:
        return claim
    return query if yes_no[1] and len(split_questions(query)) == 1 else ""


def _elliptic(question: str, said: str, words: int) -> bool:
    shared = read_sentence(said).stemset & read_sentence(question).stemset
    return words <= LONGER and not shared and AUXILIARY_WORD.search(said) is None


_STEP = re.compile(r"^[ \t>]*(?:#+ )?(?:\*\*)?(?:step )?(\d{1,2})[.):]\s", re.IGNORECASE | re.MULTILINE)
_END = re.compile(r"\n[ \t]*\n(?=[^\s\d#>`*-])")
"""Where a paragraph follows that is neither a step nor part of one."""
_ITEM = re.compile(r"[ \t>]*(?:[-*•–+]|\(?(?:\d{1,2}|[a-z])[.)])\s*\S")
_ENDING = 6
"""Words by which a claim is found again: what it begins with may have been filled in."""
_NAMES_IT = 0.5
"""The share of the query's words that the words before a list have, if it is what was asked for."""
_CAPTION = 4
"""Words of a line that heads a part of a list, at most."""


def is_step(query: str, claim: str, response: str) -> bool:
    """Whether a claim stands in the numbered steps of a response to a query that asks how something is done."""
    return RULES["how_to"].search(query) is not None and _stands_in(claim, _steps(response))


def is_item(query: str, claim: str, response: str) -> bool:
    """Whether a claim stands in a list whose lead-in names what the query asks for."""
    return any(_names(lead, query) and _stands_in(claim, items) for lead, items in _lists(response))


def is_field(claim: str, response: str) -> bool:
    """Whether a claim is a field of a response in JSON, as that is prepared: a row of one cell."""
    return f"| {claim} |" in response


def listed_item(claim: str, response: str) -> str:
    """The item that a claim was made of, with the words before its list, or a field's value; empty for any other."""
    lead, colon, item = claim.partition(": ")
    if colon and is_field(claim, response):
        return claim.rpartition(": ")[2]
    said = _plain(response)
    at = said.lower().find(lead.lower())  # what led to it may stand before: "Here is what to bring: …"
    if not colon or "\n" in claim or at < 0:
        return ""
    behind = said[at + len(lead) :]
    return item if behind.lstrip("*_").startswith(":") and item in behind and _SEVERAL_ITEMS.search(behind) else ""


def listed_items(response: str) -> tuple[str, ...]:
    """The items of a response's lists, a line each."""
    lines = _plain(response).splitlines()
    return tuple(line[mark.end() - 1 :].strip() for line in lines if (mark := _ITEM.match(line)))


@lru_cache(256)
def _plain(response: str) -> str:
    return "\n".join(plain_text(line) for line in response.splitlines())


_SEVERAL_ITEMS = re.compile(
    r"\A\W*:\W*\n(?:.*\n)?\W*(?:[-*•–+]|\(?\w{1,2}[.)])\s|\A\W*:[^\n]*[,;][^\n]*(?:[,;]| and | or )"
)
"""What stands behind a colon before a list, a line an item or in one line."""


def is_open_ended(query: str) -> bool:
    """Whether a query asks for all that there is to say: a summary, a comparison, a story, a letter."""
    return RULES["open_request"].search(query) is not None


def _stands_in(claim: str, words: str) -> bool:
    ending = " ".join(_words(claim)[-_ENDING:])
    return bool(ending) and f" {ending} " in words


def _names(lead: str, query: str) -> bool:
    """Whether the words before a list hold at least two, and half, of those that a query asks with."""
    asked, there = ({stem(word) for word in map(fold, tokens(text)) if word not in STOP} for text in (query, lead))
    return len(asked & there) > 1 and len(asked & there) >= _NAMES_IT * len(asked)


@lru_cache(256)  # each claim of a response asks
def _steps(response: str) -> str:
    """The words of a response from its first numbered step to the end of its last; empty if it has no two."""
    marks = list(_STEP.finditer(response))
    if len({mark[1] for mark in marks}) < 2 or marks[0][1] != "1":
        return ""
    end = _END.search(response, marks[-1].end())
    return f" {' '.join(_words(response[marks[0].start() : end.start() if end else None]))} "


@lru_cache(256)
def _lists(response: str) -> tuple[tuple[str, str], ...]:
    """The lists of a response: the line with a colon before one, and the words of all its items.

    What stands between items and is no longer than a caption heads a part of the same list.
    """
    found: list[tuple[str, list[str]]] = []
    for line in filter(str.strip, response.splitlines()):
        words = _words(line)
        if line.rstrip(" *_").endswith(":") and not _ITEM.match(line) and len(words) > _CAPTION:
            found.append((line, []))
        elif found and (_ITEM.match(line) or line[:2].isspace() or len(words) <= _CAPTION):
            found[-1][1].extend(words)
        elif found and found[-1][0]:
            found.append(("", []))
    return tuple((lead, f" {' '.join(words)} ") for lead, words in found)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
