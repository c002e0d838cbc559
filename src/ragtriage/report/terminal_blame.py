"""What was found out beyond the scores of a test set, in the terminal: a second run, the corpus, THELMA's blame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ragtriage.report.plain import one_line
from ragtriage.report.terminal_style import heading, say, signs_of, table
from ragtriage.report.words import plural
from ragtriage.testset.beyond import Beyond
from ragtriage.testset.both_blames import SIDES, VERDICTS, BothBlames
from ragtriage.testset.corpus import GapFound
from ragtriage.testset.sufficiency import SecondRun

if TYPE_CHECKING:
    from rich.console import Console

VERDICT_WORDS = {
    "LM": "blamed on the LM",
    "retrieval": "blamed on retrieval",
    "unknown": "can't tell",
    "gap": "gap group",
    "right": "right",
    "undecided": "undecided",
}
SIDE_WORDS = {"retrieval": "retrieval", "LM": "LM", "other": "either", "none": "nothing", "undetermined": "can't tell"}
PRESENCE_WORDS = {
    "absent": "in no single document: the knowledge is missing",
    "found": "in a document that was never retrieved",
    "retrieved": "in a document that was retrieved, and wrong all the same",
    "unknown": "can't tell",
}
"""What the corpus says of a gap group, in the order in which it is shown."""
SHOWN = 5
"""Gap groups that are named; all are counted."""


def kind_of(gap: GapFound) -> str:
    """The key of PRESENCE_WORDS under which a gap group is counted."""
    return "retrieved" if gap.presence == "found" and gap.retrieved else gap.presence


def print_beyond(console: Console, beyond: Beyond) -> None:
    """Print all that was found out beyond the scores."""
    if beyond.second_run is not None:
        _print_second_run(console, beyond.second_run)
    if beyond.gaps is not None:
        _print_gaps(console, beyond.gaps, beyond.documents)
    if beyond.blames is not None:
        _print_blames(console, beyond.blames)


def _print_second_run(console: Console, found: SecondRun) -> None:
    """Print what came of asking again."""
    heading(console, "Asked again, with sources that suffice")
    asked = f"{plural(found.asked, 'wrong answer')} asked again"
    told = [f"{asked}: {found.right:,} now right (retrieval was at fault), {found.wrong:,} wrong again (the LM)"]
    if found.undecided:
        told.append(f"{found.undecided:,} without an answer that could be decided: there contexts are compared")
    if found.without_sources:
        told.append(f"{found.without_sources:,} not asked: no right answer of the group has texts of its sources")
    if found.without_truth:
        told.append(f"{found.without_truth:,} not asked: without `answer` and `query` nothing can be decided")
    for line in told:
        say(console, Text(line), 0, 2)


def _print_gaps(console: Console, gaps: Sequence[GapFound], documents: int) -> None:
    """Print how many gap groups have their answer in the corpus, and name some that have."""
    heading(console, f"Gap groups against the corpus ({plural(documents, 'document')})")
    counts = Counter(map(kind_of, gaps))
    grid = table()
    grid.show_header = False
    grid.add_column("", justify="right", no_wrap=True)
    grid.add_column("")
    for kind, words in PRESENCE_WORDS.items():
        grid.add_row(f"{counts[kind]:,}", words)
    console.print(grid)
    named = [gap for gap in gaps if gap.presence == "found"]
    if not named:
        return
    arrow = signs_of(console).arrow
    say(console, Text(f"questions whose answer a document states {arrow} these documents:", style="dim"), 0, 2)
    for gap in named[:SHOWN]:
        where = ", ".join(gap.documents[:3]) + (", …" if len(gap.documents) > 3 else "")
        told = f"{one_line(gap.question or gap.group, 90)} {arrow} {one_line(where, 120)}"
        say(console, Text(told, style="dim"), 2, 4)
    if len(named) > SHOWN:
        more = plural(len(named) - SHOWN, "more such question")
        say(console, Text(f"and {more}, which --report and --json list", style="dim"), 2, 4)


def _print_blames(console: Console, found: BothBlames) -> None:
    """Print the cross table of both blames, and how often they agree."""
    heading(console, f"Answers by GRAMMAR's blame and by what run {found.run} says is to repair")
    grid = table()
    grid.add_column("", no_wrap=True)
    for side in SIDES:
        grid.add_column(SIDE_WORDS[side], justify="right", no_wrap=True)
    for ours in VERDICTS:
        row = [found.counts.get((ours, side), 0) for side in SIDES]
        if any(row):
            grid.add_row(VERDICT_WORDS[ours], *(f"{count:,}" for count in row))
    console.print(grid)
    if found.both:
        share = 100 * found.agreeing / found.both
        told = (
            f"Of {plural(found.both, 'answer')} that both blame, {found.agreeing:,} on the same module ({share:.0f} %)"
        )
        say(console, Text(told), 0, 2)
    else:
        say(console, Text("No answer is blamed on a module by both."), 0, 2)
    if found.missing:
        say(console, Text(f"{plural(found.missing, 'answer')} not in the run", style="dim"), 0, 2)
