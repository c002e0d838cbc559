"""`ragtriage traces`: what a file of traces is taken for, and its cases; nothing is judged."""

import json
import sys
from collections import Counter
from pathlib import Path

from ragtriage.cli.console import print_json, tell
from ragtriage.cli.flags import command
from ragtriage.cli.input_files import CaseFlags, check_output, print_rejected, read_as_one
from ragtriage.config import find_settings, read_settings
from ragtriage.core.case import Case
from ragtriage.core.display import plural
from ragtriage.core.errors import InputError
from ragtriage.readers import CaseFile, Rejected
from ragtriage.readers.cases import UnusableTraces
from ragtriage.readers.files import STDIN
from ragtriage.readers.json_objects import write_lines
from ragtriage.readers.traces.files import TRACE, TraceRows, case_row, explained
from ragtriage.readers.traces.index import UnreadTrace


@command("traces")
def traces(
    files: list[str],
    *,
    out: Path | None = None,
    trace_id: str | None = None,
    config: Path | None = None,
    as_json: bool = False,
    case_flags: CaseFlags,
) -> None:
    """Show what the traces in FILES are taken for, and write their cases; nothing is judged.

    Exit codes: 0; 2 usage or input, also if no trace can be used.
    """
    for file in files:
        check_output(out, file, "--out")
    with read_as_one(files) as there:
        try:
            cases = case_flags.open(there, read_settings(config) if config else find_settings(Path.cwd()))
        except UnusableTraces as error:
            if trace_id is None:
                raise
            _explain(error.traces, trace_id)
            return
        held = cases.traces
        if held is None:
            raise InputError(f"{cases.name}: holds no traces but rows of cases: `ragtriage evaluate` reads it")
        if trace_id is not None:
            _explain(held, trace_id)
            return
        rejected: list[Rejected] = []
        used = 0
        for one in cases.rows():
            used += isinstance(one, Case)
            rejected += [one] if isinstance(one, Rejected) else []
        if as_json:
            print_json(_as_json(cases, held, used, rejected))
        else:
            first, *more = held.lines()
            told = [f"{cases.name} · {first}", *more, plural(used, "case")]
            (tell if str(out) == STDIN else _print)(*told)
            beyond = [one for one in rejected if not one.reason.startswith(TRACE)]
            print_rejected(beyond, used + len(rejected))
        if out is not None:
            _write(cases, out, used)


def _as_json(cases: CaseFile, held: TraceRows, used: int, rejected: list[Rejected]) -> dict[str, object]:
    beyond = Counter(one.reason for one in rejected if not one.reason.startswith(TRACE))
    reasons = held.summary.rejected + held.index.refused + beyond
    return {
        "format": cases.format,
        "traces": len(held.index),
        "cases": used,
        "rejected": len(rejected),
        "reasons": dict(reasons.most_common(100)),
        "taken": {name: dict(counts) for name, counts in held.summary.taken.items()},
        "notes": dict(held.summary.notes),
    }


def _write(cases: CaseFile, out: Path, used: int) -> None:
    """Write the cases as a file of cases, `-` to standard output."""
    rows = (case_row(one) for one in cases.rows() if isinstance(one, Case))
    if str(out) == STDIN:
        sys.stdout.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return
    write_lines(rows, out)
    tell(f"{plural(used, 'case')} written to {out}")


def _print(*lines: str) -> None:
    sys.stdout.write("\n".join([*lines, ""]))


def _explain(held: TraceRows, trace_id: str) -> None:
    """Print one trace as a tree."""
    trace = held.index.trace(trace_id)
    if trace is None:
        raise InputError(f"--explain {trace_id}: no trace has this id, or several begin so: give the whole id")
    if isinstance(trace, UnreadTrace):
        raise InputError(f"--explain {trace_id}: the trace {trace.reason}")
    _print(*explained(trace, held.options))
