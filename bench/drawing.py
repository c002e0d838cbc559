"""Panels with axes, as SVG."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

GREY, FRAME, BLUE, RED = "#57606a", "#d0d7de", "#1f6feb", "#cf222e"


def text(x: float, y: float, words: str, colour: str = GREY, anchor: str = "start") -> str:
    """Words at a point."""
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}" text-anchor="{anchor}">{words}</text>'


def picture(width: float, height: float, parts: Iterable[str]) -> str:
    """A whole file."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
    font = 'font-family="sans-serif" font-size="12">'
    ground = f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>'
    return "\n".join([head, font, ground, *parts, "</svg>"]) + "\n"


@dataclass(frozen=True)
class Panel:
    """A square with two axes from 0 to `most`."""

    left: float
    top: float
    size: float
    ticks: Sequence[float]
    """The last is the end of both axes."""

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Where a point lies in the picture."""
        return self.left + x / self.ticks[-1] * self.size, self.top + (1 - y / self.ticks[-1]) * self.size

    def axes(self, title: str, across: str, up: str) -> Iterator[str]:
        """The frame, its ticks and names."""
        corner, size = f'x="{self.left}" y="{self.top}"', f'width="{self.size}" height="{self.size}"'
        yield f'<rect {corner} {size} fill="none" stroke="{FRAME}"/>'
        bottom = self.top + self.size
        for at in self.ticks:
            yield text(self.place(at, 0)[0], bottom + 16, f"{at:g}", anchor="middle")
            yield text(self.left - 6, self.place(0, at)[1] + 4, f"{at:g}", anchor="end")
        yield text(self.left + self.size / 2, bottom + 34, across, anchor="middle")
        yield text(self.left, self.top - 26, title, "#1f2328")
        yield text(self.left, self.top - 9, up)

    def line(self, points: Iterable[tuple[float, float]], colour: str, width: float = 2) -> str:
        """Points joined by a line."""
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.place(*point) for point in points))
        return f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="{width}"/>'

    def dot(self, x: float, y: float, colour: str, radius: float = 3) -> str:
        """A point."""
        at = self.place(x, y)
        return f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius}" fill="{colour}"/>'
