"""A record as plain text: each score with the verdicts that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ragtriage.core.verdicts import Outcome, Part, Score, Undefined

MOST_PARTS = 4
"""Components that are listed for one score, the bad ones first."""
LONGEST = 72
"""Characters of a component that are shown."""
_SIGNS: Mapping[bool | None, str] = {False: "✗", None: "?", True: "✓"}
"""Whether a component speaks for the answer → its sign, the most pressing first."""


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
    shown = list(_parts(outcome.parts))
    yield f"  {name:{width}}  {outcome.value:4.2f}  {shown[0] if shown else ''}"
    yield from (f"  {'':{width}}        {line}" for line in shown[1:])


def _parts(parts: Sequence[Part]) -> Iterator[str]:
    order = list(_SIGNS)
    for part in sorted(parts, key=lambda part: order.index(part.good))[:MOST_PARTS]:
        yield f"{_SIGNS[part.good]} {_cut(part.component.text)}"
    rest = parts[MOST_PARTS:]
    if rest:
        yield f"and {len(rest)} more"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
