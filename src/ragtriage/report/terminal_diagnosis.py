"""The diagnosis of a run in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ragtriage.diagnosis import RULES, UNDETERMINED, Rule, any_reads
from ragtriage.report.order import UNREAD, healthy_cases
from ragtriage.report.plain import one_line
from ragtriage.report.terminal_style import KIND_STYLE, heading, say, signs_of
from ragtriage.report.words import KIND_WORDS, plural
from ragtriage.runs.summary import Group, Summary

if TYPE_CHECKING:
    from rich.console import Console

MOST_READINGS = 4


def print_diagnosis(console: Console, summary: Summary, rules: Sequence[Rule] = RULES) -> None:
    """Print what to repair: by component and kind, waste apart; `rules` are those that it comes from."""
    heading(console, "Diagnosis")
    say(console, _verdict(summary, rules), 0)
    for group in summary.groups:
        if group.kind != "waste":
            _print_group(console, group)
    for group in summary.groups:
        if group.kind == "waste":
            _print_group(console, group)


def _verdict(summary: Summary, rules: Sequence[Rule]) -> Text:
    healthy = healthy_cases(summary)
    are = "is" if healthy == 1 or summary.cases == 1 else "are"
    line = Text(f"{healthy:,} of {plural(summary.cases, 'case')} {are} healthy")
    undetermined = summary.diagnosis.get(UNDETERMINED, 0)
    if not any_reads(rules, [m.name for m in summary.metrics]):
        line = Text(f"{UNREAD.capitalize()}: what to repair can't be told.")
        line.append(" Cases are listed by how far bad scores lie beyond their thresholds.", style="dim")
    elif undetermined:
        line.append(f"; {undetermined:,} undetermined", style=KIND_STYLE["undetermined"])
        line.append(" (scores missing, or the judge can't tell)", style="dim")
    if summary.failed:
        begins = " Scores" if line.plain.endswith(".") else "; scores"
        line.append(f"{begins} failed on {plural(summary.failed, 'case')}", style="bold red")
    return line


def _print_group(console: Console, group: Group) -> None:
    signs = signs_of(console)
    console.print()
    head = Text(f"{signs.kinds[group.kind]} ", style=KIND_STYLE[group.kind])
    head.append(one_line(group.component, 80), style="bold")
    head.append(f" {signs.dot} {KIND_WORDS[group.kind]}", style=KIND_STYLE[group.kind])
    head.append(f" {signs.dot} {plural(group.cases, 'case')}, {group.sure:,} sure")
    if group.kind == "waste":
        head.append(f" {signs.dot} about {group.tokens:,} tokens of sources that were not needed")
    say(console, head, 0, 2)
    for reading in group.readings[:MOST_READINGS]:
        counted = f" ({reading.cases:,})" if len(group.readings) > 1 else ""
        say(console, Text(one_line(reading.text, 300) + counted))
        if reading.advice:
            advice = f"{signs.arrow} {one_line(reading.advice, 300)}"
            say(console, Text(advice, style="italic"), hang=len(signs.arrow) + 1)
    if group.worst:
        ids = ", ".join(one_line(case, 60) for case in group.worst)
        label = "most" if group.kind in ("waste", "right") else "worst"
        say(console, Text(f"{label}: {ids}", style="dim"), hang=2)
