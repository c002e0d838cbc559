"""How counts, lists and amounts of money are written in messages and reports."""

from __future__ import annotations

from collections.abc import Sequence


def plural(count: int, one: str, many: str = "") -> str:
    """A count with its noun: `1 case`, `2,000 cases`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def about(count: int) -> str:
    """An estimated count, to three digits: `about 98,700`."""
    return f"about {float(f'{count:.3g}'):,.0f}"


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
