"""A comparison as Markdown: short enough, harmless, and of one mind with the exit code."""

import re
from dataclasses import replace

import pytest

from made_comparison import HOSTILE, UNSURE, WORSE, made_comparison
from ragtriage.report.comparison_files import MARK, MOST, comparison_markdown, escaped
from ragtriage.report.comparison_words import Quote
from ragtriage.runs.compare.comparison import ChangedCases


def test_it_begins_with_its_mark_and_what_it_comes_to() -> None:
    lines = comparison_markdown(made_comparison()).splitlines()

    assert lines[0] == MARK == "<!-- ragtriage compare -->"
    assert lines[1] == "### ragtriage: ❌ groundedness is worse"
    assert lines[2].startswith(
        "run 8 against run 7 (2026-11-20) · 200 cases paired · 40 groups · same judge · 123 resp"
    )
    assert "| ▼ Grounded | 0.79 | 0.69 | −0.096 | −0.136 to −0.056 | &#60;.001 | 0.055 |" in lines
    assert "&#33; Grounded is undefined on 24 cases that had it (8 the other way, p .007)" in lines
    assert "gate failed: groundedness is worse: −0.096, 95 % interval −0.136 to −0.056, wholly below −0.03" in lines
    assert "<summary>Findings and worst cases</summary>" in lines
    assert lines[-1] == "</details>"


@pytest.mark.parametrize(
    ("changed", "title"),
    [
        ({"gates": (UNSURE,)}, "⚠️ can&#39;t tell whether self_distinctness is worse"),
        ({"gates": (replace(WORSE, outcome="no worse", failed=False),)}, "✅ 1 gate passed"),
        ({"gates": ()}, "▼ worse: Grounded"),
        ({"gates": (), "metrics": ()}, "no metric is better or worse beyond chance"),
        ({"incomplete": ("only 3 of 200 cases are paired",)}, "⚠️ not complete: only 3 of 200 cases are paired"),
    ],
)
def test_the_title_says_what_the_gates_say(changed: dict[str, object], title: str) -> None:
    assert comparison_markdown(made_comparison(**changed)).splitlines()[1] == f"### ragtriage: {title}"


def test_nothing_from_outside_is_markup_or_notifies_anybody() -> None:
    text = comparison_markdown(made_comparison(HOSTILE), {HOSTILE: Quote(HOSTILE, HOSTILE, None)})

    assert "<script" not in text
    assert "\x1b" not in text
    assert not re.search(r"@(?!\u200b)", text)
    assert "](" not in text
    assert "://e" not in text
    rows = [line for line in text.splitlines() if line.startswith("|") and "script" in line]
    assert rows
    assert {line.count("|") for line in rows} == {5}  # four cells
    assert escaped("_a_b_ x_1") == "&#95;a_b&#95; x_1"
    text.encode()


def test_texts_stand_in_it_only_if_they_are_to_be_quoted() -> None:
    quotes = {"q117": Quote("What costs it?", "Five euros.", "Nothing at all.")}
    assert "euros" not in comparison_markdown(made_comparison())
    assert "<b>base</b> Five euros.<br><b>new</b> Nothing at all." in comparison_markdown(made_comparison(), quotes)


def test_a_long_one_is_cut_and_says_by_how_much() -> None:
    found = made_comparison("x" * 1_000_000)
    assert found.worse
    case = found.worse.cases[0]
    many = replace(
        found,
        worse=ChangedCases("groundedness", 5_000, tuple(replace(case, id=f"{i}" + "|" * 90) for i in range(5_000))),
        better=ChangedCases("groundedness", 5_000, (case,) * 5_000),
    )
    text = comparison_markdown(many)

    assert len(comparison_markdown(found)) < 5_000
    assert MOST - 1_000 < len(text) <= MOST
    assert re.search(r"\nand [\d,]+ more lines\n", text)
    assert text.rstrip().endswith("</details>")
