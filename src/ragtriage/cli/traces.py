"""`ragtriage traces`: what a file of traces is taken for, and its cases; nothing is judged."""

from __future__ import annotations

import sys
from pathlib import Path

from ragtriage.cli.console import ExitCode, print_json, tell
from ragtriage.cli.flags import command
from ragtriage.cli.input_files import CaseFlags, check_output, rereadable
from ragtriage.config import find_settings, read_settings
from ragtriage.core.display import plural
from ragtriage.core.errors import InputError
from ragtriage.readers import CaseFile, Rejected
from ragtriage.readers.json_objects import write_lines
from ragtriage.readers.traces.files import TraceRows, case_rows, explained
from ragtriage.readers.traces.index import LargeTrace


@command("traces")
def traces(
    file: str,
    *,
    out: Path | None = None,
    explain: str | None = None,
    config: Path | None = None,
    as_json: bool = False,
    case_flags: CaseFlags,
) -> None:
    """Show what the traces in FILE are taken for, and write their cases; nothing is judged.

    Exit codes: 0; 2 usage or input; 3 no trace can be used.
    """
    check_output(out, file, "--out")
    with rereadable(file) as there:
        cases = case_flags.open(there, read_settings(config) if config else find_settings(Path.cwd()))
        held = cases.traces
        if held is None:
            raise InputError(f"{cases.name}: holds no traces but rows of cases: `ragtriage evaluate` reads it")
        if explain is not None:
            tell_tree(held, explain)
            return
        used, rejected = _counted(cases)
        lines = held.lines()
        if as_json:
            print_json({"format": cases.format, "traces": len(held.index), "cases": used, "rejected": rejected})
        else:
            sys.stdout.write("\n".join([f"{cases.name} · {lines[0]}", *lines[1:], plural(used, "case"), ""]))
        if out is not None:
            write_lines(case_rows(held), out)
            tell(f"{plural(used, 'case')} written to {out}")
        if not used:
            raise SystemExit(ExitCode.INCOMPLETE)


def _counted(cases: CaseFile) -> tuple[int, int]:
    used = rejected = 0
    for one in cases.rows():
        if isinstance(one, Rejected):
            rejected += 1
        else:
            used += 1
    return used, rejected


def tell_tree(held: TraceRows, trace_id: str) -> None:
    """Print one trace as a tree.

    Raises:
        InputError: there is no such trace, or it is too large.
    """
    trace = held.index.trace(trace_id)
    if trace is None:
        raise InputError(f"--explain {trace_id}: no trace has this id, or several begin so: give the whole id")
    if isinstance(trace, LargeTrace):
        raise InputError(f"--explain {trace_id}: the trace has {trace.spans:,} spans: too many to be read")
    sys.stdout.write("\n".join([*explained(trace, held.options), ""]))
