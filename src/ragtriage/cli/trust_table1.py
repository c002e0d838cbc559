"""`ragtriage trust table1`: THELMA's table 1 by any judge."""

from __future__ import annotations

from pathlib import Path

import typer
from rich.console import Console

from ragtriage.cli.console import ExitCode, print_json
from ragtriage.cli.flags import command
from ragtriage.cli.input_files import print_rejected, too_many
from ragtriage.cli.judge_flags import JudgeFlags
from ragtriage.cli.plan import answers_in
from ragtriage.cli.progress import progress
from ragtriage.report.terminal_pairs import print_efforts
from ragtriage.report.terminal_table1 import print_table1
from ragtriage.trust.effort import efforts_of
from ragtriage.trust.pairwise import score_pairs, tasks
from ragtriage.trust.table1 import FURTHER, OWN, read_table1, rows_of


@command("trust table1")
def table1(
    *,
    data: Path | None = None,
    dry_run: bool = False,
    as_json: bool = False,
    judging: JudgeFlags,
) -> None:
    """THELMA's table 1: how often the better version of a pair scores higher, by our metrics and by RAGAs'.

    Both are computed by the same judge, and the paper's figures stand beside. Exit codes: 0; 2 usage or input; 3
    incomplete (the judge failed on a pair, or too many unusable rows).
    """
    settings = judging.settings()
    judge = judging.configured(settings)
    read = read_table1(data or OWN)
    print_rejected(read.rejected, len(read.rejected) + len(read.pairs))
    name = str(data) if data else "pairs of our own"
    if dry_run:
        with answers_in(judging.store_address(settings)) as memory:
            asked = judge.judge(memory)
            efforts = efforts_of(read.pairs, asked, further=FURTHER, memory=memory)
        print_efforts(Console(), efforts, asked.name(), as_json=as_json)
        return
    total = sum(len(task.cases) for task in tasks(read.pairs, FURTHER))
    with judging.opened(settings, judge, tell_spending=True) as asked, progress(total, 0, word="scoring") as advance:
        scored = score_pairs(read.pairs, asked, further=FURTHER, window=judge.window, advance=advance)
        by = asked.name()
    rows = rows_of(scored)
    if as_json:
        print_json({"data": name, "judge": by, "rows": {row.short: row.as_json() for row in rows}})
    else:
        print_table1(Console(), rows, by, name)
    if any(one.failed for one in scored) or too_many(read.rejected, len(read.pairs)):
        raise typer.Exit(ExitCode.INCOMPLETE)
