"""A self-test in the terminal: agreement beside what length and words say, failures to read, and what moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ragtriage.core.verdicts import Undefined
from ragtriage.report.plain import one_line
from ragtriage.report.terminal_pairs import NOTHING, outcome_of, share, with_interval
from ragtriage.report.terminal_style import heading, say, table
from ragtriage.report.view import title_of
from ragtriage.report.words import plural
from ragtriage.trust.pairs.pair_scoring import ScoredPair
from ragtriage.trust.pairs.self_test import MetricTest, SelfTest
from ragtriage.trust.pairs.stability import Moves, Stability

if TYPE_CHECKING:
    from rich.console import Console

LONGEST = 400
"""Characters of a text that is shown in a failure; -o has all of it."""
LISTED = 5
"""Cases or verdicts that are named of a kind; --json has all."""


def print_self_test(console: Console, found: SelfTest, judge: str, file: str, show: int) -> None:
    """Print a self-test.

    Args:
        console: where to; its width and colours decide the look.
        found: what was found.
        judge: its name.
        file: what was tested, as the user named it.
        show: how many failures of a metric are shown in full.
    """
    pairs = sum(one.agreement.pairs + one.agreement.failed for one in found.metrics)
    say(console, Text(f"Self-test of {judge}: {plural(pairs, 'pair')} of {one_line(file, 120)}", style="bold"), 0, 2)
    grid = table()
    for title in ("", "pairs", "agreement", "length", "words"):
        grid.add_column(title, justify="left" if not title else "right", no_wrap=True)
    for one in found.metrics:
        row = (f"{one.agreement.pairs:,}", with_interval(one.agreement), share(one.length), share(one.overlap))
        grid.add_row(title_of(one.metric), *row)
    console.print(grid)
    note = "length, words: what the length and the word overlap of the texts alone would have got"
    say(console, Text(note, style="dim"), 0, 2)
    for one in found.metrics:
        said = outcome_of(one.agreement)
        if said:
            why = f" ({one_line(one.agreement.reason, 200)})" if one.agreement.reason else ""
            say(console, Text(f"{title_of(one.metric)}: {said}{why}"), 0, 2)
        for line in _apart(one):
            say(console, Text(f"{title_of(one.metric)}: {line}"), 0, 2)
    _print_below(console, found.metrics)
    _print_skipped(console, found)
    if found.stability:
        _print_stability(console, found.stability)
    _print_failures(console, found.metrics, show)


def _apart(one: MetricTest) -> Iterator[str]:
    """What of a metric's pairs says less than the others."""
    if one.copies:
        pairs = one.agreement.pairs
        others = f"{one.agreement.agreed - one.copies_agreed:,} of {pairs - one.copies:,}"
        yield (
            f"{one.copies:,} of {plural(pairs, 'repeat')} in the same words, as the rules have no others; "
            f"{one.copies_agreed:,} of these agree, and {others} reworded ones"
        )
    if one.zeros:
        yield f"{plural(one.zeros, 'tie')} at 0 against 0: by this judge none of these sources answers the question"


def _print_below(console: Console, metrics: Sequence[MetricTest]) -> None:
    """Name the metrics in which the judge does no better than what reads nothing."""
    below = [
        title_of(one.metric)
        for one in metrics
        if one.agreement.agreement is not None and one.agreement.high is not None
        and one.agreement.high < max(one.length or 0.0, one.overlap or 0.0)
    ]  # fmt: skip
    if below:
        names = ", ".join(below)
        say(console, Text(f"Surely below what length or words alone get: {names}.", style="yellow"), 0, 2)


def _print_skipped(console: Console, found: SelfTest) -> None:
    if not found.skipped:
        return
    heading(console, "Cases of which no pair could be made safely")
    alike: dict[tuple[tuple[str, int], ...], list[str]] = {}
    for name, reasons in found.skipped.items():
        alike.setdefault(tuple(reasons.items()), []).append(name)
    common = Counter(reason for reasons in found.skipped.values() for reason in reasons)
    grid = table()
    grid.add_column("")
    grid.add_column("cases", justify="right")
    grid.add_column("reason")
    for reason in sorted(common, key=lambda text: (-common[text], text)):
        by_count: dict[int, list[str]] = {}
        for name, reasons in found.skipped.items():
            if reason in reasons:
                by_count.setdefault(reasons[reason], []).append(name)
        for count, names in by_count.items():
            every = len(names) == len(found.skipped) and len(names) > 1
            grid.add_row("all metrics" if every else "\n".join(map(title_of, names)), f"{count:,}", reason)
    console.print(grid)


def _print_stability(console: Console, found: Stability) -> None:
    heading(console, "Without labels: does the judge contradict itself?")
    said = f"{len(found.contradictions):,} of {plural(found.cases, 'case')}"
    say(console, Text(f"self-contradictions: {said}{_named(found.contradictions)}"), 0, 2)
    for title, moves in (("sources reordered", found.reordered), ("claims reworded", found.paraphrased)):
        say(console, Text(f"{title}: {_moves(moves)}"), 0, 2)
        for move in moves.moved[:LISTED]:
            say(console, Text(f"{move.id}: {move.before} → {move.after}: {one_line(move.again, 160)}"), 2, 2)
    if found.failed:
        say(console, Text(f"The judge failed on {plural(found.failed, 'case')}: give the same command again."), 0, 2)


def _named(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return f": {', '.join(one_line(name, 40) for name in names[:LISTED])}{more}"


def _moves(moves: Moves) -> str:
    if moves.unasked:
        return moves.unasked
    if moves.share is None:
        return "no verdict to compare" + (f", {moves.failed:,} failed" if moves.failed else "")
    failed = f", {moves.failed:,} failed" if moves.failed else ""
    return f"{len(moves.moved):,} of {plural(moves.verdicts, 'verdict')} moved ({moves.share:.1%}){failed}"


def _print_failures(console: Console, metrics: Sequence[MetricTest], show: int) -> None:
    if not any(one.failures for one in metrics):
        return
    heading(console, "Failures, to be read: the better version doesn't score higher")
    for one in metrics:
        if not one.failures:
            continue
        shown = one.failures[:show]
        more = len(one.failures) - len(shown)
        count = plural(len(one.failures), "pair")
        named = _named([failure.pair.id for failure in one.failures]) if not shown else ""
        hidden = f", {more:,} not shown" if more and shown else ""
        say(console, Text(f"{title_of(one.metric)}: {count}{named}{hidden}"), 0, 2)
        for failure in shown:
            _print_failure(console, failure)
    most = max(len(one.failures) for one in metrics)
    if show < most:
        say(console, Text(f"--show {most} shows them all with both versions.", style="dim"), 0, 2)


def _print_failure(console: Console, failure: ScoredPair) -> None:
    """One pair: what was changed, and both versions of what was changed."""
    pair, change = failure.pair, failure.pair.change
    scores = f"better {_score(failure.better)}, worse {_score(failure.worse)}"
    say(console, Text(f"{one_line(pair.id, 60)}: {scores}", style="bold"), 2, 2)
    lines = [("query", pair.better.query)]
    if change:
        lines.append(
            ("changed", f"{change.what} ({change.place})" + ("" if change.by == "rule" else f", by {change.by}"))
        )
        lines += [(sign, text) for sign, text in (("-", change.before), ("+", change.after)) if text]
    if pair.better.response == pair.worse.response:
        lines.append(("response", pair.better.response or ""))
        lines.append(("better", _sources(pair.better.sources)))
        lines.append(("worse", _sources(pair.worse.sources)))
    else:
        lines.append(("sources", _sources(pair.better.sources)))
        lines.append(("better", pair.better.response or ""))
        lines.append(("worse", pair.worse.response or ""))
    for name, text in lines:
        say(console, Text.assemble((f"{name} ", "dim"), one_line(text, LONGEST)), 4, 2)


def _sources(sources: Sequence[object]) -> str:
    texts = [str(getattr(source, "text", "")) for source in sources]
    return " · ".join(one_line(text, max(60, LONGEST // max(1, len(texts)))) for text in texts)


def _score(value: float | Undefined) -> str:
    return f"{NOTHING} ({one_line(value.reason, 120)})" if isinstance(value, Undefined) else f"{value:.2f}"
