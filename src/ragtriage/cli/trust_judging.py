"""The judge of a command of `trust`: its answers are kept, and what it spent is said however the command ends."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console

from ragtriage.judges.build import ConfiguredJudge
from ragtriage.judges.llm.ledger import dollars
from ragtriage.judges.protocol import Judge
from ragtriage.report.plan_document import efforts_document
from ragtriage.report.terminal import print_document
from ragtriage.report.words import plural
from ragtriage.store import open_store
from ragtriage.trust.effort import Effort


@contextmanager
def asking(chosen: ConfiguredJudge, where: str | None) -> Iterator[Judge]:
    """The chosen judge; a model's answers are kept in the store, so that the same command goes on where it stopped.

    Args:
        chosen: who judges.
        where: the store; only opened where something is paid for.

    Raises:
        StoreError: the store can't be opened or written.
    """
    if not chosen.paid:
        yield chosen.judge()
        return
    try:
        with open_store(where) as opened:
            yield chosen.judge(opened.answers(), tickets=opened.tickets())
            opened.answers().flush()
            chosen.settle()
    finally:
        ledger = chosen.ledger
        if ledger.requests:
            tokens = f"{ledger.tokens_in + ledger.tokens_out:,} tokens"
            price = f", {dollars(ledger.cost)}" if ledger.cost else ""
            sys.stderr.write(f"spent: {plural(ledger.requests, 'request')}, {tokens}{price}\n")


def print_efforts(efforts: Sequence[Effort], judge: str, *, as_json: bool) -> None:
    """Print what scoring pairs would take: one JSON object, or a table."""
    if as_json:
        found = {"judge": judge, "efforts": [one.as_json() for one in efforts]}
        sys.stdout.write(json.dumps(found) + "\n")
    else:
        print_document(Console(), efforts_document(efforts, judge))
