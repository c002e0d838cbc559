"""Texts from outside, made safe to stand in a prompt: they are data, and no text can leave its fence."""

import hashlib
import json
import re

SIZE = 5
"""Bytes of a fence's name. A text that holds its own name would have to be found by trying 2^40 texts, and then it is
told apart all the same (`fence`)."""

LABELS = ("source", "query", "response", "conversation")
"""What a fence can hold, a word."""

# characters that a person doesn't see but a model reads: tags, zero-width marks, directions, fillers, controls (but not
# tab and line break), variation selectors beyond those of emoji, halves of characters
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_HIDDEN_ASCII = bytes(code for code in range(128) if _HIDDEN.match(chr(code)))
# joiners and variation selectors, and how many of them scripts and emoji need in a row
_JOINING = re.compile("[\u200c\u200d\ufe00-\ufe0f]+")
_NEEDED = re.compile("[\ufe00-\ufe0f]?[\u200c\u200d]?")
# the marks by which chat templates tell turns apart: <|…|>, <start_of_turn>, [INST], <<SYS>>, …
_TAGS = (
    "start_of_turn end_of_turn start_of_image end_of_image s bos eos pad unk sep sop mask sys system assistant user "
    "human tool think tool_call tool_calls tool_response function_calls function_results"
).split()
_BRACKETS = (
    "INST SYSTEM_PROMPT AVAILABLE_TOOLS TOOL_RESULTS TOOL_CALLS TOOL_CONTENT THINK IMG IMG_END IMG_BREAK AUDIO "
    "BEGIN_AUDIO ARGS CALL_ID PREFIX MIDDLE SUFFIX gMASK CLS SEP MASK PAD"
).split()
_SPECIAL = re.compile(
    r"[<＜\[|｜](?:"  # one of these first, so that a search passes quickly over what has none
    rf"(?<=[<＜])(?=[|｜]|</?SYS>>|/?(?:{'|'.join(_TAGS)})[>＞]|\s{{0,3}}/?\s{{0,3}}(?:{'|'.join(LABELS)})(?![a-z]))"
    rf"|(?<=\[)(?=/?(?:{'|'.join(_BRACKETS)})\])"
    r"|(?<=[|｜])(?=[>＞]))",
    re.IGNORECASE,
)
# the lines that begin a turn: Human: …, ### Instruction: …
_TURN = re.compile(
    r"\n[ \t]*(?:#+[ \t]*(?=(?:Human|Assistant|System|User|Instruction|Input|Response)[ \t]*:)"
    r"|(?=(?:Human|Assistant|System|User)[ \t]*:))",
    re.IGNORECASE,
)
BREAK = "\u200d"
"""A zero-width joiner: put into a special token it changes nothing that a person reads."""


def visible(text: str) -> str:
    """The text without characters that nobody sees, its line breaks all alike."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii():
        return text.encode().translate(None, _HIDDEN_ASCII).decode()
    return _JOINING.sub(_needed, _HIDDEN.sub("", text))


def clean(text: str) -> str:
    """The text as it is visible, with special tokens and tags like ours broken so that none is taken for one."""
    broken = _SPECIAL.sub(lambda found: found[0] + BREAK, visible(text))
    return _TURN.sub(lambda found: found[0] + BREAK, f"\n{broken}")[1:]


def fence(label: str, text: str) -> str:
    """A text between tags whose name is a digest of it, so that the text can't close its own fence.

    The same label and text always give the same bytes, so that providers can keep the beginning of a prompt.
    """
    inside = clean(text)
    name = f"{label}-{_digest(inside)}"
    return f"<{name}>\n{inside}\n</{name}>"


def quoted(text: str) -> str:
    """A short text on one line, as a JSON string: it can neither end itself nor start a line of its own."""
    return json.dumps(clean(text), ensure_ascii=False).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _digest(text: str, size: int = SIZE) -> str:
    """A digest of so many bytes that doesn't stand in the text."""
    lower = text.lower()
    salt = 0
    while True:
        digest = hashlib.blake2b(f"{salt}{text}".encode(), digest_size=size).hexdigest()
        if digest not in lower:
            return digest
        salt += 1


def _needed(found: re.Match[str]) -> str:
    """Of a run of joiners and selectors, what a script or an emoji may need; behind ASCII nothing does."""
    needed = _NEEDED.match(found[0])
    behind = found.string[max(found.start() - 1, 0) : found.start()]
    return needed[0] if needed and not behind.isascii() else ""
