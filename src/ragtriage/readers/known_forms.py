"""Forms of what names somebody that are known by how they are written: e-mail addresses, numbers of cards, IBANs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

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
