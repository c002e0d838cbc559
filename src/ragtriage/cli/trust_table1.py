"""`ragtriage trust table1`: THELMA's table 1 by any judge."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ragtriage.cli.exits import INCOMPLETE
from ragtriage.cli.judging_options import JudgeFlags, choice_from, with_judge_flags
from ragtriage.cli.options import Config, Where, place_of, settings_from
from ragtriage.cli.plan import answers_in
from ragtriage.cli.progress import progress
from ragtriage.cli.trust_app import say_unusable, too_many, trust
from ragtriage.cli.trust_judging import asking, print_efforts
from ragtriage.judges.build import ConfiguredJudge
from ragtriage.report.selftest_document import table1_document
from ragtriage.report.terminal import print_document
from ragtriage.trust.effort import efforts_of
from ragtriage.trust.pairwise import score_pairs, tasks
from ragtriage.trust.table1 import FURTHER, OWN, read_table1, rows_of


@trust.command("table1")
@with_judge_flags
def table1(
    *,
    judging: JudgeFlags,
    data: Annotated[
        Path | None,
        typer.Option(help="Pairs (JSONL, may be gzipped), or a folder of such files [default: pairs of our own]."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would take.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    store: Where = None,
    config: Config = None,
) -> None:
    """THELMA's table 1: how often the better version of a pair scores higher, by our metrics and by RAGAs'.

    Both are computed by the same judge, and the paper's figures stand beside. Exit codes: 0; 2 usage or input; 3
    incomplete (the judge failed on a pair, or too many unusable rows).
    """
    settings = settings_from(config, None)
    chosen = ConfiguredJudge(choice_from(judging, settings))
    read = read_table1(data or OWN)
    say_unusable(read.rejected, len(read.pairs))
    name = str(data) if data else "pairs of our own"
    if dry_run:
        with answers_in(place_of(store, settings)) as memory:
            judge = chosen.judge(memory)
            print_efforts(efforts_of(read.pairs, judge, further=FURTHER, memory=memory), judge.name(),
                          as_json=as_json)  # fmt: skip
        return
    total = sum(len(task.cases) for task in tasks(read.pairs, FURTHER))
    with asking(chosen, place_of(store, settings)) as asked, progress(total, 0, word="scoring") as advance:
        scored = score_pairs(read.pairs, asked, further=FURTHER, window=chosen.window, advance=advance)
        by = asked.name()
    rows = rows_of(scored)
    if as_json:
        found = {"data": name, "judge": by, "rows": {row.short: row.as_json() for row in rows}}
        sys.stdout.write(json.dumps(found, ensure_ascii=False) + "\n")
    else:
        print_document(Console(), table1_document(rows, by, name))
    if any(one.failed for one in scored) or too_many(read.rejected, len(read.pairs)):
        raise typer.Exit(INCOMPLETE)
