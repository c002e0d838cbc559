"""How counts and amounts of money are written in messages and reports."""

from __future__ import annotations


def plural(count: int, one: str, many: str = "") -> str:
    """A count with its noun: `1 case`, `2,000 cases`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def dollars(amount: float) -> str:
    """An amount for people: to the cent, small ones as exactly as it takes."""
    return f"${amount:.2f}" if amount >= 0.1 or not amount else f"${amount:.6f}".rstrip("0").rstrip(".")
