"""How the terminal's tables, bars and colours look."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from ragtriage.report.marks import Look
from ragtriage.report.words import ASCII, SIGNS, Signs, place_within

if TYPE_CHECKING:
    from rich.console import Console

KIND_STYLE: Mapping[str, str] = MappingProxyType(
    {
        "failure": "bold red",
        "quality": "yellow",
        "doubt": "magenta",
        "waste": "cyan",
        "right": "green",
        "undetermined": "magenta",
        "healthy": "green",
    }
)
LOOK_STYLE: Mapping[Look, str] = MappingProxyType(
    {
        "unsupported": "bold red",
        "dangling": "bold red",
        "uncited": "bold red",
        "misattributed": "bold yellow",
        "unattributed": "bold yellow",
        "check": "yellow",
        "unknown": "magenta",
        "extraneous": "cyan",
        "supported": "green",
        "essential": "green",
        "remark": "italic dim",
        "plain": "",
    }
)


def signs_of(console: Console) -> Signs:
    """The signs that this console can show."""
    return ASCII if console.options.ascii_only else SIGNS


def table(gap: int = 2) -> Table:
    """A table without lines, `gap` blanks between its columns: it reads the same in a log or a pipe."""
    return Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim", expand=False)


def bar(value: float | None, within: tuple[float, float], width: int, signs: Signs, style: str) -> Text:
    """A value as a bar, as long as its place within the range; empty if there is none."""
    if value is None:
        return Text("")
    filled = round(place_within(value, within) * width)
    return Text.assemble((signs.full * filled, style), (signs.empty * (width - filled), "dim"))


def say(console: Console, text: Text, indent: int = 2, hang: int = 0) -> None:
    """Print a text with an indent, further lines `hang` deeper, without blanks at the ends of lines."""
    first = True
    for paragraph in text.split("\n", allow_blank=True):
        for line in paragraph.wrap(console, max(20, console.width - indent - hang)) or [Text("")]:
            line.rstrip()
            console.print(Text(" " * (indent + (0 if first else hang))) + line, soft_wrap=True)
            first = False


def heading(console: Console, title: str) -> None:
    """Print an empty line and a heading."""
    console.print()
    console.print(Text(title, style="bold"))
