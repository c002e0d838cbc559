"""How counts, lists, amounts of money and users' texts are written in messages and reports.

A text from outside may hold escape sequences that move a terminal's cursor, or characters that turn the reading
direction of what follows. Every such character is replaced one for one, so that spans stay right.
"""

from collections.abc import Sequence


def plural(count: int, one: str, many: str = "") -> str:
    """A count with its noun: `1 case`, `2,000 cases`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


SAME = 6
"""Decimal places of a number up to which two processors agree."""


def settled(value: float, places: int = SAME) -> float:
    """A number as it is ordered, cut and shown: alike wherever it was computed, a border at a tie included."""
    return round(round(value, SAME), places) + 0.0


def told_apart(value: float, limit: float | None) -> str:
    """A score to two places, or as many more as show on which side of a limit it lies."""

    def side(number: float) -> int:
        beyond = settled(number - (number if limit is None else limit))
        return (beyond > 0) - (beyond < 0)

    exact = settled(value)
    places = next((places for places in range(2, SAME) if side(settled(value, places)) == side(exact)), SAME)
    return f"{settled(value, places):.{places}f}"


def listed(parts: Sequence[str], last: str) -> str:
    """Parts as people list them, `last` before the last one: `a`, `a or b`, `a, b or c`."""
    return f" {last} ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def dollars(amount: float) -> str:
    """An amount for people: to the cent, small ones as exactly as it takes."""
    return f"${amount:.2f}" if amount >= 0.1 or not amount else f"${amount:.6f}".rstrip("0").rstrip(".")


def price_of_tokens(tokens: int, price: float | None) -> float | None:
    """What so many tokens cost in US dollars, at a price for a million of them; None if that isn't known."""
    return None if price is None else tokens * price / 1_000_000


MINUS = "\N{MINUS SIGN}"


def signed(value: float, places: int = 3) -> str:
    """A difference with its sign: `−0.096`, `+0.011`; what rounds to nothing is `+0.000`."""
    return f"{round(value, places) + 0.0:+.{places}f}".replace("-", MINUS)


def p_text(p: float) -> str:
    """A p-value as it is shown: `.013`, `<.001`, `1`."""
    if p < 0.001:
        return "<.001"
    return "1" if p >= 0.995 else f"{p:.{2 if p >= 0.1 else 3}f}".removeprefix("0")


STAND_IN = "\N{REPLACEMENT CHARACTER}"

_CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
_TURNS = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_OTHERS = [0x2028, 0x2029, 0xFEFF, *range(0xFFF9, 0xFFFC)]
_TABLE = (
    dict.fromkeys([*_CONTROLS, *_TURNS, *_OTHERS], STAND_IN)
    | dict.fromkeys(range(0xD800, 0xE000), STAND_IN)
    | {0x0A: "\n", 0x09: " ", 0x0D: " ", 0x85: " ", 0x2028: " ", 0x2029: " ", 0xFEFF: " "}
)


def sanitize(text: str) -> str:
    """The text without control characters, overrides of direction and lone surrogates; exactly as long as before."""
    return text.translate(_TABLE)


def one_line(text: str, most: int) -> str:
    """The harmless text on one line, at most `most` characters, cut with an ellipsis."""
    line = " ".join(sanitize(text[: 4 * most]).split())
    return line if len(line) <= most and len(text) <= 4 * most else line[: most - 1].rstrip() + "…"


LONGEST_QUOTE = 120
"""Characters of a text that are quoted."""


def quoted(text: str, around: tuple[int, int] | None = None) -> str:
    """A text on one line in quotes; a long one is cut at words."""
    if around is None or len(text) <= LONGEST_QUOTE:
        return f"“{shortened(text, LONGEST_QUOTE)}”"
    start, end = around
    first = max(0, min((start + end - LONGEST_QUOTE) // 2, len(text) - LONGEST_QUOTE, start))
    if first:
        space = text.find(" ", first - 1, start)
        first = space + 1 if space >= 0 else first
    return f"“{'… ' if first else ''}{shortened(text[first:], LONGEST_QUOTE)}”"


def shortened(text: str, most: int) -> str:
    """A text on one line; one of more than `most` characters is cut at a word."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most].rsplit(" ", 1)[0] + " …"
