"""What the commands about answered test sets do alike: the judge that decides answers, and how they end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import typer

from ragtriage.cli.console import ExitCode, tell
from ragtriage.cli.input_files import too_many
from ragtriage.cli.judging import JudgeFlags
from ragtriage.config import Settings
from ragtriage.core.errors import ConfigError
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.testset.answered_rows import RowsRead
from ragtriage.testset.correctness import Decision


def check_tolerance(tolerance: float) -> None:
    """Refuse a tolerance that is no share."""
    if not math.isfinite(tolerance) or not 0 <= tolerance < 1:
        raise ConfigError(f"--tolerance {tolerance:g}: use a share from 0 to below 1, for example 0.005")


@contextmanager
def deciding_judge(
    flags: JudgeFlags,
    tolerance: float,
    *,
    typed_only: bool,
    settings: Settings | None = None,
    session: JudgeSession | None = None,
) -> Iterator[Callable[[], Judge] | None]:
    """What decides where the typed match can't tell; None if nobody is to."""
    check_tolerance(tolerance)
    if typed_only and flags.judge and session is None:
        raise ConfigError("--typed-only asks no judge: leave it out, or --judge")
    if typed_only:
        yield None
        return
    with flags.opened(settings, session) as judge:
        yield lambda: judge


def exit_with(read: RowsRead, decisions: Sequence[Decision], *, incomplete: bool = False) -> None:
    """Exit with 3 if a later call can bring more."""
    failed = [decision.why for decision in decisions if decision.failed]
    if failed:
        tell(f"{len(failed):,} answers are undecided because the judge failed. The first: {failed[0]}")
    if failed or incomplete or too_many(read.rejected, len(read.rows)):
        raise typer.Exit(ExitCode.INCOMPLETE)
