"""`ragtriage demo`: the example cases through the whole path, and an honest word on what was found."""

import shlex
from pathlib import Path

import typer
from rich.console import Console

from ragtriage.cli.evaluate import evaluate
from ragtriage.cli.flags import command
from ragtriage.cli.opened_stores import open_named_store
from ragtriage.cli.results import default_report, open_run, program_name
from ragtriage.demo import CASES, check_cases, fault_counts, known_faults
from ragtriage.runs.tally import diagnosed_records


@command("demo")
def demo(*, report: Path | None = None, store: str | None = None) -> None:
    """Evaluate the example cases and show which of their known faults were found."""
    incomplete: typer.Exit | None = None
    try:
        evaluate([str(CASES)], report=report, store=store)
    except typer.Exit as end:
        incomplete = end
    _compare(store, report)
    if incomplete:
        raise incomplete


def _compare(store: str | None, report: Path | None) -> None:
    """What is known about the example cases beside what was found; read only now, after everything was judged."""
    with open_named_store(store) as there:
        stored, config = open_run(there, "last")
        written = report or default_report(there, stored)
        found = ((record.case.id, findings) for record, findings in diagnosed_records(stored, config))
        marked = check_cases(known_faults(), found)
    named, faults, blamed, sound = fault_counts(marked)
    console = Console()
    console.print()
    console.print(f"Of {faults} known faults, the judge named {named}; of {sound} sound cases, it blamed {blamed}.")
    for title, some in (
        ("Missed", [m for m in marked if not m.known.sound and not m.right]),
        ("Blamed, though sound", [m for m in marked if m.known.sound and not m.right]),
    ):
        if some:
            console.print(f"{title}:")
        for m in some:
            instead = f" (found: {', '.join(m.rules)})" if m.rules else ""
            fault = "" if m.known.sound else f"{m.known.fault}: "
            console.print(f"  {m.known.id}  {fault}{m.known.note}{instead}", markup=False, highlight=False)
    console.print()
    if written:
        console.print(f"The report: {written}", markup=False, highlight=False, soft_wrap=True)
    console.print("The cases in a browser:")
    flag = f" --store {shlex.quote(store)}" if store else ""
    console.print(f"  {program_name()} view{flag}", markup=False, highlight=False, soft_wrap=True)
    console.print("Your own file (JSONL, JSON or CSV with a question, an answer and the retrieved texts):")
    console.print(f"  {program_name()} evaluate answers.jsonl", markup=False, highlight=False)
