"""A record as plain text: each score with the verdicts that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ragtriage.core.chances import is_doubtful
from ragtriage.core.verdicts import Outcome, Part, Score, Undefined, Verdict

MOST_PARTS = 4
"""Components that are listed for one score, the bad ones first."""
LONGEST = 72
"""Characters of a component that are shown."""
_SIGNS: Mapping[bool | None, str] = {False: "✗", None: "?", True: "✓"}
"""Whether a component speaks for the answer → its sign, the most pressing first."""
CHECK_SIGN = "!"
"""The sign of a component whose verdict speaks against the answer, and isn't sure."""


def scores_text(outcomes: Mapping[str, Outcome]) -> str:
    """A line for each score and each of the components that it rests on."""
    width = max(map(len, outcomes), default=0)
    return "\n".join(line.rstrip() for name, outcome in outcomes.items() for line in _lines(name, outcome, width))


def scores_in_short(outcomes: Mapping[str, Outcome]) -> str:
    """The scores on one line."""
    values = (f"{outcome.value:.2f}" if isinstance(outcome, Score) else "undefined" for outcome in outcomes.values())
    return ", ".join(f"{name} {value}" for name, value in zip(outcomes, values, strict=True))


def _lines(name: str, outcome: Outcome, width: int) -> Iterator[str]:
    if isinstance(outcome, Undefined):
        yield f"  {name:{width}}     –  {outcome}"
        return
    shown = [*filter(None, [counted_text(outcome.parts)]), *_parts(outcome.parts)]
    yield f"  {name:{width}}  {outcome.value:4.2f}  {shown[0] if shown else ''}"
    yield from (f"  {'':{width}}        {line}" for line in shown[1:])


def counted_text(parts: Sequence[Part]) -> str:
    """What an expected share is made of, as a person counts it: `2 ✓ 1 ! of 3`; empty where no verdict has a chance.

    `!` is a no that isn't sure, to be checked; `?` an unknown.
    """
    if not any(isinstance(part.cell, Verdict) and part.cell.chance is not None for part in parts):
        return ""
    signs = [_sign(part) for part in parts]
    counts = " ".join(f"{signs.count(sign)} {sign}" for sign in ("✓", CHECK_SIGN, "?", "✗") if sign in signs)
    return f"{counts} of {len(parts)}"


def _sign(part: Part) -> str:
    return CHECK_SIGN if part.good is False and is_doubtful(part) else _SIGNS[part.good]


def _parts(parts: Sequence[Part]) -> Iterator[str]:
    order = list(_SIGNS)
    for part in sorted(parts, key=lambda part: order.index(part.good))[:MOST_PARTS]:
        yield f"{_sign(part)} {_cut(part.component.text)}"
    rest = parts[MOST_PARTS:]
    if rest:
        yield f"and {len(rest)} more"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
