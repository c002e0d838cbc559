"""The HTML page of a comparison: everything in it, nothing unescaped, nothing to run or to load."""

import re
from html import unescape
from pathlib import Path

import pytest

from made_comparison import HOSTILE, made_comparison
from ragtriage.report.comparison_page import word_diff, write_comparison_page
from ragtriage.report.comparison_words import Quote


def test_it_holds_every_part(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_comparison_page(path, made_comparison(), {"q117": Quote("What costs it?", "Five euros.", "Nothing.")})
    text = unescape(path.read_text("utf-8"))

    for part in ("gates", "metrics", "findings", "headlines", "by", "changed", "left-out", "how"):
        assert f'<section id="{part}">' in text
    assert "✗ groundedness is worse</h1>" in text
    assert (
        'aria-label="Grounded: worse: difference −0.096, 95 % interval −0.136 to −0.056, margin −0.030, sees 0.055"'
        in text
    )
    assert "<del>Five euros</del>" in text
    assert "<script" not in text


@pytest.mark.parametrize("name", [HOSTILE, "x" * 1_000_000])
def test_nothing_from_outside_is_markup(name: str, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_comparison_page(path, made_comparison(name, notes=(name,), incomplete=(name,)), {name: Quote(name, name, "")})
    text = path.read_text("utf-8")

    assert "<script" not in text
    assert "\x1b" not in text
    assert len(text) < 100_000
    assert not re.search(r"(?:src|href)=\"(?!#)", text)


def test_words_that_differ_are_marked_on_their_side() -> None:
    assert word_diff("It costs 5.", "It costs 6.") == (
        [("It costs ", False), ("5", True), (".", False)],
        [("It costs ", False), ("6", True), (".", False)],
    )
    assert word_diff(None, "New") == ([("", False)], [("New", False)])
