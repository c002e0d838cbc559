"""Words, numbers and names of a text, as far as rules can tell what it is about, and paraphrases by rules."""

import re
import tomllib
from pathlib import Path

from ragtriage.text.numbers import IN_FIGURES, NUMBER_WORDS, normalize_number
from ragtriage.text.words import STOP, fold, stem, tokens

_EMPTY = frozenset("per much many please tell say get yes".split())
"""Words that say as little about a topic as stop words do."""
NUMBER = re.compile(rf"(?<![\w.,]){IN_FIGURES}(?![\w])|(?<![\w.,]){IN_FIGURES}(?=(?:st|nd|rd|th|km|m|kg|%)\b)")
_NAME = re.compile(r"[A-Z][\w'’-]*[^\W\d_](?:\s+(?:of\s+|de\s+|van\s+|von\s+)?[A-Z][\w'’-]*[^\W\d_])*")


def content_words(text: str) -> list[str]:
    """The words and numbers that carry meaning, each in one form (folded, stemmed), in their order."""
    found = []
    for token in tokens(text):
        if token[0].isdigit():
            found.append(normalize_number(token))
            continue
        word = fold(token)
        if word in NUMBER_WORDS:
            found.append(NUMBER_WORDS[word])
        elif word not in STOP and word not in _EMPTY and len(word) > 1:
            found.append(stem(word))
    return found


def numbers(text: str) -> set[str]:
    """The numbers of a text, in digits or words, each in one form."""
    return {word for word in content_words(text) if word[0].isdigit()}


def names(text: str) -> list[str]:
    """Runs of capitalised words; a single one at the beginning of a sentence isn't taken for a name."""
    found = []
    for match in _NAME.finditer(text):
        before = text[: match.start()].rstrip()
        begins = not before or before[-1] in '.!?:\n#*|-•"“'
        first, _, rest = match[0].partition(" ")
        if rest or not begins:
            found.append(rest if begins and fold(first) in STOP else match[0])
    return found


def name_words(text: str) -> set[str]:
    """The words of a text's names, each in one form."""
    return {word for name in names(text) for word in content_words(name)}


_REWORDINGS: list[tuple[str, str]] = tomllib.loads(
    Path(__file__).with_name("rewordings.toml").read_text(encoding="utf-8")
)["rewordings"]
OPENING = "In other words: "
_LEADING = re.compile(r"^((?:In|On|At|During|Since|After|Before|From|By) [^,;:]{3,60}), (.+)\.$", re.DOTALL)
_TRAILING = re.compile(r"^(.{12,}?) ((?:in|since|during) (?:\d{4}|[A-Z][a-z]+ \d{4}|\d{1,2} [A-Z][a-z]+ \d{4}))\.$")
_LOWERED = re.compile(
    r"^(?:The|A|An|In|On|At|During|Since|After|Before|From|By|If|When|You|Your|There|All|Each|Every)\b"
)


def reworded(sentence: str) -> str:
    """The sentence with words and phrases exchanged or moved; "" where no rule applies.

    Numbers, names and negations stay as they are.
    """
    moved = sentence
    if leading := _LEADING.match(sentence):
        rest = leading[2]
        moved = f"{rest[0].upper()}{rest[1:]} {leading[1][0].lower()}{leading[1][1:]}."
    elif trailing := _TRAILING.match(sentence):
        time = trailing[2]
        moved = f"{time[0].upper()}{time[1:]}, {_lowered(trailing[1])}."
    found = _exchanged(moved)
    return found if found != sentence else ""


def paraphrased(sentence: str) -> str:
    """The sentence repeated, reworded where a rule applies, with an opening that says so."""
    return f"{OPENING}{reworded(sentence) or sentence}"


def is_copy(sentence: str, again: str) -> bool:
    """Whether a repeat has the very words of the sentence, since no rule has others."""
    return bool(sentence) and again.removeprefix(OPENING) == sentence


def _exchanged(text: str) -> str:
    """All words that have another form, exchanged in one pass, so that none undoes another."""
    spans: list[tuple[int, int, str]] = []
    for pattern, words in _REWORDINGS:
        for match in re.finditer(pattern, text):
            if all(match.end() <= start or match.start() >= end for start, end, _ in spans):
                spans.append((match.start(), match.end(), words))
    for start, end, words in sorted(spans, reverse=True):
        text = text[:start] + words + text[end:]
    return text


def _lowered(text: str) -> str:
    """With a small first letter, where the first word is no name."""
    return text[0].lower() + text[1:] if _LOWERED.match(text) else text
