"""What an evaluation would take, in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil
from typing import TYPE_CHECKING

from rich.text import Text

from ragtriage.evaluation.estimate import EvaluationEstimate
from ragtriage.judges.protocol import Estimate
from ragtriage.report.plain import one_line
from ragtriage.report.terminal_style import say, signs_of, table
from ragtriage.report.words import plural

if TYPE_CHECKING:
    from rich.console import Console

UNPRICED = "not known: give --price IN:OUT"
BY_RULES = (
    "Numbers of claims and facts are counted by rules; a model may find more. Requests that fail and are sent again "
    "come on top."
)


def print_estimate(
    console: Console,
    estimate: EvaluationEstimate,
    *,
    input: str,  # noqa: A002  # as in `Header`
    judge: str,
    notes: Sequence[str] = (),
) -> None:
    """Print what an evaluation would take: requests, tokens, price and time, and what would make it cheaper.

    Args:
        console: where to; its width and colours decide the look.
        estimate: what was found out.
        input: what would be evaluated: a file's name.
        judge: who would judge.
        notes: what else is to be known about the numbers.
    """
    signs = signs_of(console)
    facts = [f"plan of {one_line(input, 120)}", plural(estimate.cases, "case"), one_line(judge, 120)]
    if estimate.trials > 1:
        facts.append(f"{estimate.trials} times")
    line = Text(f" {signs.dot} ".join(facts))
    line.stylize("bold", 0, len("plan"))
    say(console, line, 0, 2)
    console.print()
    if estimate.most.requests:
        _print_table(console, estimate)
    else:
        say(console, Text(_without_requests(estimate)), 0, 2)
    if estimate.remembered:
        before = "1 question was" if estimate.remembered == 1 else f"{estimate.remembered:,} questions were"
        say(console, Text(f"left out: {before} answered before"), 0, 2)
    if estimate.most_expensive:
        name, saved = estimate.most_expensive
        say(console, Text(f"without {name}: {_saved(saved)} less"), 0, 2)
    for step, names in estimate.shared.items():
        say(console, Text(f"shared: {step} by {', '.join(names)}", style="dim"), 0, 2)
    if estimate.most.requests:
        for note in (BY_RULES, *notes):
            say(console, Text(note, style="dim"), 0)


def between(estimate: EvaluationEstimate) -> str:
    """Requests and price on one line: `4,000 to 5,500 requests, $1.10 to $1.62`."""
    least, most = estimate.least, estimate.most
    if not most.requests:
        return "no request"
    requests = f"{least.requests:,} to " if least.requests != most.requests else ""
    said = f"{requests}{plural(most.requests, 'request')}"
    if not most.price:
        return said
    low, high = money(least.price), money(most.price)
    return f"{said}, {high if low == high else f'{low} to {high}'}"


def money(price: float | None) -> str:
    """A price in US dollars, rounded up so that nothing costs more than it says."""
    if price is None:
        return UNPRICED
    if price <= 0:
        return "free"
    digits = 2 if price >= 0.1 else 4
    return f"${ceil(round(price * 10**digits, 6)) / 10**digits:,.{digits}f}"


def duration(seconds: float) -> str:
    """A time in words, rounded up: `9 s`, `8 min`, `1 h 20 min`."""
    if seconds <= 90:
        return f"{ceil(seconds)} s"
    minutes = ceil(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60:,} h {minutes % 60} min"


def _print_table(console: Console, estimate: EvaluationEstimate) -> None:
    grid = table()
    grid.add_column("", no_wrap=True)
    grid.add_column("at least", justify="right", no_wrap=True)
    grid.add_column("at most", justify="right", no_wrap=True)
    grid.add_column("", overflow="fold")
    both = estimate.least, estimate.most

    def add(label: str, write: Callable[[Estimate], str], note: str = "") -> None:
        grid.add_row(Text(label), *(Text(write(one)) for one in both), Text(note, style="dim"))

    add("requests", lambda one: f"{one.requests:,}")
    add("prompt tokens", lambda one: f"{one.tokens_in:,}")
    add("reply tokens", lambda one: f"{one.tokens_out:,}")
    unpriced = estimate.most.price is None
    dash = signs_of(console).dash
    add("price", lambda one: dash if unpriced else money(one.price), UNPRICED if unpriced else "")
    shortest, longest = map(duration, estimate.seconds)
    note = f"at {estimate.concurrency:,} in flight, {estimate.seconds_per_request:g} s a request"
    grid.add_row(Text("time"), Text(shortest), Text(longest), Text(note, style="dim"))
    console.print(grid)


def _without_requests(estimate: EvaluationEstimate) -> str:
    if estimate.remembered and not estimate.questions:
        return "No request is needed: every question was answered before."
    asked = plural(sum(estimate.questions.values()), "question")
    return f"No request is needed: this judge is free and asks nobody else. It would answer at most {asked}."


def _saved(saved: Estimate) -> str:
    price = f", {money(saved.price)}" if saved.price else ""
    return f"{plural(saved.requests, 'request')}, {saved.tokens_in + saved.tokens_out:,} tokens{price}"
