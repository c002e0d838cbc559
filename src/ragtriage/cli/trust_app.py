"""The command group `trust`, on which its commands register, and what several of them say."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from ragtriage.readers.problems import Rejected

trust = typer.Typer(
    help="Can the judge be trusted? Measure it on pairs, labels and your own cases.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
SHOWN = 10
"""Unusable rows that are quoted; all are counted."""


def say_unusable(rejected: Sequence[Rejected], usable: int) -> None:
    """Tell how many rows can't be used, and the first of them, on standard error."""
    if rejected:
        sys.stderr.write(f"{len(rejected):,} of {len(rejected) + usable:,} rows can't be used:\n")
        sys.stderr.write("".join(f"  {row}\n" for row in rejected[:SHOWN]))
    if len(rejected) > SHOWN:
        sys.stderr.write(f"  and {len(rejected) - SHOWN:,} more\n")


def too_many(rejected: Sequence[Rejected], usable: int) -> bool:
    """Whether so many rows are unusable, or unread, that the numbers don't stand for the file."""
    return 10 * len(rejected) > len(rejected) + usable or any(row.ends for row in rejected)


@trust.callback()
def root() -> None:
    """Can the judge be trusted? Measure it on pairs, labels and your own cases."""  # a group, also of one command
