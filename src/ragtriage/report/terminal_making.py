"""How a test set came to be, in the terminal: what each step wrote, and what it would come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ragtriage.report.plain import one_line
from ragtriage.report.terminal_style import heading, say, table
from ragtriage.report.words import plural

if TYPE_CHECKING:
    from rich.console import Console

    from ragtriage.testset.generation.build import Counted
    from ragtriage.testset.generation.build_steps import Step

SHOWN = 20
"""Templates in the table of a dry run; all are in its sums and in `--json`."""
QUOTED = 5
"""Refused entries that are quoted; all are counted."""


_DROPPED = (
    ("several", "with several answers"),
    ("null", "with an empty answer"),
    ("none", "with none"),
    ("echo", "whose question holds the answer"),
    ("needless", "that say more of a row than its name needs"),
)
"""Why combinations of values are dropped."""


def print_steps(console: Console, steps: Sequence[Step]) -> None:
    """Print a paragraph a step: the file, its numbers, and what a reader should know."""
    for step in steps:
        kept = "" if step.made else "  (up to date: nothing to do)"
        say(console, Text.assemble((str(step.path), "bold"), (kept, "dim")), 0, 2)
        for line in _said(step.numbers):
            say(console, Text(line), 2, 2)
        for note in step.notes:
            say(console, Text(f"note: {note}"), 2, 2)
        problems = step.numbers.get("problems", ())
        for what, sentences in (("can't be used", step.refused), ("couldn't be filled", problems)):
            if sentences:
                say(console, Text(f"{plural(len(sentences), 'entry', 'entries')} {what}:"), 2, 2)
                for sentence in sentences[:QUOTED]:
                    say(console, Text(one_line(sentence, 300)), 4, 2)
                if len(sentences) > QUOTED:
                    say(console, Text(f"and {len(sentences) - QUOTED:,} more"), 4, 2)


def print_counted(console: Console, counted: Sequence[Counted], size: int, half_width: float | None) -> None:
    """Print M × N × Q: templates, phrasings and fillings, the largest first."""
    total = sum(one.phrasings * one.combinations for one in counted)
    grid = table()
    for name in ("template", "asks for"):
        grid.add_column(name, no_wrap=True, overflow="ellipsis", max_width=36)
    for name in ("N", "Q", "N × Q"):
        grid.add_column(name, justify="right", no_wrap=True)
    ranked = sorted(counted, key=lambda one: -one.phrasings * one.combinations)
    for one in ranked[:SHOWN]:
        count = f"{one.combinations:,}" + ("+" if one.sampled else "")
        asks = one_line(one.sql.split("\n")[0].removeprefix("SELECT "), 60)
        grid.add_row(one.template, asks, str(one.phrasings), count, f"{one.phrasings * one.combinations:,}")
    console.print(grid)
    if len(ranked) > SHOWN:
        say(console, Text(f"and {len(ranked) - SHOWN:,} more templates (--json has all)"), 0, 2)
    console.print()
    phrasings = sum(one.phrasings for one in counted)
    say(console, Text(f"M = {plural(len(counted), 'template')}, with {phrasings:,} phrasings in all"), 0, 2)
    product = sum(one.product for one in counted)
    occurring = sum(one.combinations for one in counted)
    say(console, Text(f"Q = {occurring:,} combinations of values; the blind product has {product:,}"), 0, 2)
    say(console, Text(f"M × N × Q = {total:,} questions could be asked, before answers are looked at"), 0, 2)
    if any(one.sampled for one in counted):
        say(console, Text("+: of a large table, where only drawn rows were looked at"), 0, 2)
    if half_width is not None:
        say(console, Text(f"--size {size:,} buys an accuracy of each criterion to {_points(half_width)}"), 0, 2)
    problems = [one for one in counted if one.problem]
    if problems:
        heading(console, f"{plural(len(problems), 'template')} couldn't be counted")
        for one in problems[:QUOTED]:
            say(console, Text(f"{one.template}: {one_line(one.problem, 300)}"), 0, 2)


def _points(half_width: float) -> str:
    return f"± {100 * half_width:.1f} points (95 %, where it is widest)"


def _said(numbers: Any) -> list[str]:
    """A step's numbers in sentences."""
    if "dialect" in numbers:
        return [
            f"{plural(numbers['tables'], 'table')}, {numbers['named_tables']} with columns that name a row",
            f"{plural(numbers['columns'], 'column')}, {numbers['asked_about']} of them to ask about; "
            + plural(numbers["foreign_keys"], "foreign key"),
        ]
    if "joining" in numbers and "questions" not in numbers:
        return [f"{plural(numbers['templates'], 'template')}, {numbers['joining']:,} of them join tables"]
    if "fillings" in numbers:
        return _filled(numbers)
    if "phrasings" in numbers:
        return [
            (
                f"{plural(numbers['phrasings'], 'phrasing')} of {plural(numbers['templates'], 'template')} under "
                f"{plural(len(numbers['criteria']), 'criterion', 'criteria')}; {numbers['refused']:,} refused"
            )
        ]
    return _sampled(numbers) if "questions" in numbers else []


def _filled(numbers: Any) -> list[str]:
    dropped = [f"{numbers[name]:,} {what}" for name, what in _DROPPED if numbers.get(name)]
    tried = f"{numbers['occurring']:,} combinations occur, {numbers['tried']:,} were tried"
    if blind := numbers.get("blind", 0):
        tried = f"{numbers['occurring']:,} combinations occur, {numbers['tried'] - blind:,} of them were tried"
        tried += f" and {blind:,} of the blind product"
    lines = [
        (
            f"{plural(numbers['fillings'], 'filled query', 'filled queries')} with one answer each, of "
            f"{numbers['filled_templates']:,} of {plural(numbers['templates'], 'template')}"
        ),
        f"values: {tried}; the blind product would have {numbers['product']:,}",
    ]
    if dropped:
        lines.append(f"dropped: {', '.join(dropped)}")
    if numbers["empty"]:
        lines.append(f"skipped: {plural(numbers['empty'], 'combination')} with an empty value")
    if numbers["sampled_templates"]:
        lines.append(f"{plural(numbers['sampled_templates'], 'template')} of large tables: counts are of drawn rows")
    return lines


def _sampled(numbers: Any) -> list[str]:
    criteria = ", ".join(name + (f" × {count}" if count > 1 else "") for name, count in numbers["criteria"].items())
    lines = [
        f"{plural(numbers['questions'], 'question')} in {plural(numbers['groups'], 'group')}, each under: {criteria}",
        f"{plural(numbers['templates'], 'template')}, {numbers['joining']:,} of them join tables",
        f"the largest share of a template is {numbers['largest_share']:.1%}",
        f"an accuracy of one criterion will be known to {_points(numbers['half_width'])}",
    ]
    if numbers["unphrased_templates"]:
        lines.append(f"{plural(numbers['unphrased_templates'], 'template')} left out: some criterion lacks a phrasing")
    if numbers["ambiguous_groups"]:
        lines.append(f"{plural(numbers['ambiguous_groups'], 'group')} left out: another reads the same")
    if numbers.get("repeated_questions"):
        repeated = plural(numbers["repeated_questions"], "question")
        lines.append(f"{repeated} in the words of another one of their group: the template has no other phrasing")
    return lines
