"""What a person and the judge said of the same items, shown when the labelling is done."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ragtriage.report.plain import one_line
from ragtriage.report.terminal_style import heading, say, signs_of, table
from ragtriage.report.view import title_of
from ragtriage.report.words import plural
from ragtriage.trust.labels.session import compare_with_judge

if TYPE_CHECKING:
    from rich.console import Console

    from ragtriage.trust.labels.label_files import Label
    from ragtriage.trust.labels.session import JudgeComparison

PICKED = "These were picked where trouble is likely: they say nothing about how often the judge is right."


def print_labels(console: Console, labels: Sequence[Label], path: str) -> None:
    """Print how often both agree, and where they don't, with the judge's verdicts."""
    whole = compare_with_judge(labels)
    say(console, Text(f"You and the judge agree on {agreement(console, whole)}.", style="bold"), 0, 2)
    if any(one.pick != "random" for one in labels):
        say(console, Text(PICKED, style="yellow"), 0, 2)
    if whole.skipped:
        say(console, Text(f"You skipped {whole.skipped:,}."), 0, 2)
    if whole.unknown:
        say(console, Text(f"Of {plural(whole.unknown, 'item')} the judge couldn't tell: they aren't counted."), 0, 2)
    names = list(dict.fromkeys(one.metric for one in labels))
    if len(names) > 1:
        grid = table()
        for name in names:
            found = compare_with_judge([one for one in labels if one.metric == name])
            grid.add_row(Text(title_of(name)), agreement(console, found))
        grid.show_header = False
        console.print(grid)
    if whole.disagreements:
        heading(console, "Where you differ")
    for one in whole.disagreements:
        score = "" if one.score is None else f" ({one.score:.2f})"
        verdict = f"you: {'yes' if one.label else 'no'}, the judge: {one.verdict}{score}"
        say(console, Text(f"{one_line(one.case, 40)} {signs_of(console).dot} {title_of(one.metric)}: {verdict}"), 0, 2)
        say(console, Text(one_line(one.text, 300), style="dim"), 2)
    console.print()
    say(console, Text(f"labels: {path}", style="dim"), 0, 2)


def agreement(console: Console, found: JudgeComparison) -> str:
    """`17 of 20 (64–95 %)`."""
    share = found.share
    if share.low is None or share.high is None:
        return "0 of 0"
    return f"{found.agree} of {found.of} ({100 * share.low:.0f}{signs_of(console).dash}{100 * share.high:.0f} %)"
