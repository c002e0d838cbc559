"""What customers wrote is made private before anything of it is written: redacted texts, digests for users."""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ragtriage.core.case import Case, Source
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.files import open_private, private_folder
from ragtriage.readers.named_functions import function_named, names_function
from ragtriage.readers.problems import RowProblem

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
"""It begins only where a word does, so that a long word costs little."""
_CARD = re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?: ?[A-Za-z0-9]){11,29}(?![A-Za-z0-9])")
_SHORTEST_CARD = 13
_IBAN_LENGTHS = {
    country: int(group[:2])
    for group in (
        "15 NO", "16 BE", "18 DK FI FK FO GL NL SD", "19 MK SI", "20 AT BA EE KZ LT LU MN XK", "21 CH HR LI LV",
        "22 BG BH CR DE GB GE IE ME RS VA", "23 AE GI IL IQ OM SO TL", "24 AD CZ ES MD PK RO SA SE SK TN VG",
        "25 LY PT ST", "26 IS TR", "27 BI DJ FR GR IT MC MR SM", "28 AL AZ BY CY DO GT HN HU LB NI PL SV",
        "29 BR EG PS QA UA", "30 JO KW MU YE", "31 MT SC", "32 LC", "33 RU",
    )
    for country in group[3:].split()
}  # fmt: skip
"""Country → how many letters and digits its IBANs have (the registry of ISO 13616)."""


def hide_known_forms(_: str, text: str) -> str:
    """Hide e-mail addresses, numbers of cards (by Luhn's check) and IBANs (by theirs), each behind its name."""
    text = _EMAIL.sub("[e-mail]", text)
    text = _hidden(text, _IBAN, _iban_in, "[IBAN]")
    return _hidden(text, _CARD, _card_in, "[card]")


def _hidden(text: str, form: re.Pattern[str], found_in: Callable[[str], int], name: str) -> str:
    """The text with `name` where `found_in` finds something: how long it is, 0 where a stretch begins with none."""
    parts: list[str] = []
    behind = at = 0
    while stretch := form.search(text, at):
        at = stretch.start() + 1
        if length := found_in(stretch[0]):
            parts += [text[behind : stretch.start()], name]
            behind = at = stretch.start() + length
    return "".join([*parts, text[behind:]])


def _ends(text: str) -> Iterator[tuple[int, int]]:
    """Where a word of a text ends, the last first: how many letters and digits stand before it, and the place."""
    count = sum(one.isalnum() for one in text)
    for at in range(len(text), 0, -1):
        if text[at - 1].isalnum():
            if at == len(text) or not text[at].isalnum():
                yield count, at
            count -= 1


def _card_in(text: str) -> int:
    """The longest beginning whose digits have the check digit of ISO/IEC 7812 (Luhn)."""
    for count, at in _ends(text):
        if count < _SHORTEST_CARD:
            break
        digits = [int(one) for one in reversed(text[:at]) if one.isdigit()]
        doubled = (sum(divmod(2 * one, 10)) for one in digits[1::2])
        if (sum(digits[::2]) + sum(doubled)) % 10 == 0:
            return at
    return 0


def _iban_in(text: str) -> int:
    """The beginning that is as long as its country's IBANs, where its check digits are right (ISO 13616)."""
    length = _IBAN_LENGTHS.get(text[:2].upper())
    for count, at in _ends(text):
        if count == length:
            plain = text[:at].replace(" ", "").upper()
            return at if int("".join(str(int(one, 36)) for one in plain[4:] + plain[:4])) % 97 == 1 else 0
    return 0


CONVERSATION = "conversation"
"""The tag by which cases belong together."""
KEY_FILE = "user.key"
BUILTIN = "builtin"
LONGEST = 0.1
"""Seconds that a function of the user's may take for a text."""
_KEY_BYTES = 32
_DIGEST_BYTES = 12
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_WHOLE_NAMES = (("user",), ("userid",), ("username",), ("enduser",), ("end", "user"))
_LAST_WORDS = (("user", "id"), ("user", "name"), ("user", "email"), ("enduser", "id"), ("trace", "user"))
Redact = Callable[[str, str], str]
"""(What the text is, the text) → the text as it may be stored."""


def names_user(tag: str) -> bool:
    """Whether a tag says whose case it is: `user`, `userId`, `enduser.id`, `langfuse_user_id`; not `score.user`."""
    words = tuple(word.lower() for word in _WORD.findall(tag))
    return words in _WHOLE_NAMES or words[-2:] in _LAST_WORDS


def redaction_named(spec: str) -> Redact:
    """`builtin`, or the function that `path/to/file.py:function` names; importing it runs the file.

    A function that takes more than 100 ms for a text, and again when it is called once more, raises SlowRedaction.
    """
    if spec == BUILTIN:
        return hide_known_forms
    if not names_function(spec):
        raise ConfigError(f"--redact {spec}: write builtin, or path/to/file.py:function")
    function = function_named(spec, "--redact")

    def in_time(key: str, text: str) -> str:
        for _ in range(2):  # what a busy machine, or loading at the first call, held up is quick the second time
            began = time.perf_counter()
            made: str = function(key, text)
            if time.perf_counter() - began <= LONGEST:
                return made
        raise SlowRedaction

    return in_time


class SlowRedaction(Exception):
    """A redaction took too long for a text, twice."""


class UserDigests:
    """Digests for users and ids, by a key that is made when it is first needed and that only its owner may read."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / KEY_FILE
        self._key: bytes | None = None

    def __call__(self, named: Any) -> str:
        """24 hexadecimal digits, the same for the same name as long as the key is there."""
        if self._key is None:
            self._key = self._read()
        return hmac.new(self._key, str(named).encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[
            : 2 * _DIGEST_BYTES
        ]

    def _read(self) -> bytes:
        try:
            with suppress(FileNotFoundError):
                if key := self._path.read_bytes():
                    return key
            private_folder(self._path.parent)
            with open_private(self._path) as file:
                file.write(key := secrets.token_bytes(_KEY_BYTES))
        except OSError as error:
            raise InputError(f"{self._path}: the key for digests can't be used: {error.strerror}") from error
        return key


@dataclass(frozen=True, slots=True)
class Privacy:
    """What is done to a case before anything of it is written.

    Args:
        digest: user or id → what is stored for it; None where there is no key.
        redact: applied to every text of a case, and to the texts in its tags; None leaves them. A conversation, or a
            source's id, that it would change becomes a digest instead, so that those that differ stay apart.
        plain_users: tags that name a user are stored as they are; else as digests.
    """

    digest: Callable[[Any], str] | None = None
    redact: Redact | None = None
    plain_users: bool = False

    def of(self, case: Case) -> Case:
        """The case as it may be stored.

        Raises:
            RowProblem: its redaction failed: it is never let through.
        """
        try:
            tags = {tag: self._within(tag, value, tag) for tag, value in case.tags.items()}
            if self.redact is None:
                return case if tags == case.tags else replace(case, tags=tags)
            return replace(self._redacted(case), tags=tags)
        except InputError:
            raise
        except Exception as error:  # noqa: BLE001  # the user's code may raise anything
            slow = isinstance(error, SlowRedaction)
            why = f"took more than {LONGEST * 1000:.0f} ms for a text" if slow else f"failed ({type(error).__name__})"
            raise RowProblem(None, f"its redaction {why}: it isn't used") from None

    def reason(self, reason: str) -> str:
        """Why a row can't be used, which may quote it."""
        try:
            return self._text("reason", reason)
        except Exception as error:  # noqa: BLE001  # as above
            return f"can't be used, and the redaction of the reason failed ({type(error).__name__})"

    def _redacted(self, case: Case) -> Case:
        def told(key: str, text: str | None) -> str | None:
            return None if text is None else self._text(key, text)

        def source(one: Source) -> Source:
            return replace(one, text=self._text("source", one.text), id=one.id and self._id("source_id", one.id))

        relevant = case.relevant_ids
        return replace(
            case,
            query=self._text("query", case.query),
            sources=None if case.sources is None else tuple(map(source, case.sources)),
            response=told("response", case.response),
            reference=told("reference", case.reference),
            history=tuple(replace(one, text=self._text("history", one.text)) for one in case.history),
            samples=tuple(self._text("sample", one) for one in case.samples),
            relevant_ids=None if relevant is None else tuple(self._id("source_id", one) for one in relevant),
        )

    def _within(self, tag: str, value: Any, name: str) -> Any:
        """A value in a tag, which has a name of its own where it stands deeper in it."""
        if names_user(name):
            stays = self.plain_users or value is None or value == ""
            return value if stays or self.digest is None else self.digest(value)
        if isinstance(value, str):
            return self._id(tag, value) if tag == CONVERSATION else self._text(tag, value)
        if isinstance(value, Mapping):
            return {key: self._within(tag, inner, str(key)) for key, inner in value.items()}
        return [self._within(tag, inner, "") for inner in value] if isinstance(value, list | tuple) else value

    def _text(self, key: str, text: str) -> str:
        if self.redact is None:
            return text
        made: Any = self.redact(key, text)
        if not isinstance(made, str):
            raise TypeError(f"redaction gave {type(made).__name__}, not a text")
        return made

    def _id(self, key: str, value: str) -> str:
        made = self._text(key, value)
        return made if made == value or self.digest is None else self.digest(value)


AS_IT_IS = Privacy()
