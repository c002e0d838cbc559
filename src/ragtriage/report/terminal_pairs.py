"""Pairs in the terminal: what scoring them would take, and shares with their intervals."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from ragtriage.core.validation import as_builtins
from ragtriage.judges.protocol import Estimate
from ragtriage.report.terminal_plan import UNPRICED, money
from ragtriage.report.terminal_style import say, table
from ragtriage.report.words import plural
from ragtriage.trust.pairs.pair_scoring import CostEstimate, PairAgreement

if TYPE_CHECKING:
    from rich.console import Console

NOTHING = "—"


def print_costs(console: Console, costs: Sequence[CostEstimate], judge: str, *, as_json: bool) -> None:
    """Print what scoring pairs would take: one JSON object on standard output, or a table.

    Args:
        console: where the table goes.
        costs: one a metric.
        judge: its name.
        as_json: which of the two.
    """
    least = sum((one.least for one in costs), Estimate())
    most = sum((one.most for one in costs), Estimate())
    if as_json:
        found = {"judge": judge, "efforts": [as_builtins(one) for one in costs]}
        sys.stdout.write(json.dumps(found) + "\n")
        return
    grid = table()
    for title in ("pairs of", "pairs", "cases", "questions", "requests"):
        grid.add_column(title, justify="left" if title == "pairs of" else "right")
    for one in costs:
        low, high = one.least.requests, one.most.requests
        requests = f"{low:,} to {high:,}" if low != high else f"{high:,}"
        grid.add_row(one.metrics[0], f"{one.pairs:,}", f"{one.cases:,}", f"{one.questions:,}", requests)
    console.print(grid)
    if not most.requests:
        say(console, Text("No request is needed: this judge is free and asks nobody else."), 0, 2)
        return
    tokens = f"{least.tokens_in + least.tokens_out:,} to {most.tokens_in + most.tokens_out:,} tokens"
    requests = f"{least.requests:,} to {plural(most.requests, 'request')}"
    unpriced = least.price is None or most.price is None
    price = f"price {UNPRICED}" if unpriced else f"{money(least.price)} to {money(most.price)}"
    say(console, Text(f"{judge}: {requests}, {tokens}, {price}"), 0, 2)
    say(console, Text("Metrics share answers, so it takes less than the sum."), 0, 2)


def share(value: float | None) -> str:
    """A share with two digits; a dash where there is none."""
    return NOTHING if value is None else f"{value:.2f}"


def with_interval(found: PairAgreement) -> str:
    """A share with its 95 % interval; a dash where there is none."""
    if found.agreement is None or found.low is None or found.high is None:
        return NOTHING
    return f"{found.agreement:.2f} [{found.low:.2f}, {found.high:.2f}]"


def outcome_of(found: PairAgreement) -> str:
    """What else is to be said of an agreement: ties, undefined scores, failures; empty if there is nothing."""
    said = []
    if found.ties:
        said.append(plural(found.ties, "tie"))
    if found.undefined:
        said.append(f"{found.undefined:,} undefined")
    if found.failed:
        said.append(f"{found.failed:,} failed")
    return ", ".join(said)
