"""One reading of the reader with its labels: what `readings.py` makes and `packed.py` turns into arrays."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Pair:
    """One reading."""

    first: str
    second: str
    targets: list[tuple[str, int, int, float, float]] = field(default_factory=list)
    """Head, a span of `second`, label and weight."""
    marks: Any = None
    """Of a response: the kind of each part, and where claims begin; see `marks.parsed`."""
    altered: list[tuple[int, int]] | None = None
    """Where the first text says what the second doesn't; None where that isn't known."""
    twin: int = -1
    """Two readings with the same number are twins: the one with the higher label must be likelier."""
    origin: str = ""
    split: str = ""
    kind: str = ""
