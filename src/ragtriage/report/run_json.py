"""A run as JSON: the same values that the terminal and the page show, as numbers with their names."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ragtriage.core.validation import as_builtins
from ragtriage.report.run_report import Header, RunReport
from ragtriage.runs.summary import Group


def run_json(run: RunReport) -> dict[str, Any]:
    """What `--json` prints: metrics, diagnosis, findings, what the run is and took, slices, repetitions.

    Keys without a value are left out: `texts_deleted`, `slices`, `spent`, `repeats`, `flagged`, `citing`,
    a metric's `corrected`.
    """
    header = run.header
    told: dict[str, Any] = {
        "run": int(header.run) if header.run.isdecimal() else header.run,
        **run.summary.as_json(),
        "findings": [_group(group, header) for group in run.summary.groups],
        "input": header.input,
        "judge": header.judge,
        **({"embeddings": header.embeddings} if header.embeddings else {}),
        **({"counting": header.counting} if header.counting else {}),
        "state": header.state,
        "complete": run.complete,
        "rejected": header.rejected,
        **({"arithmetic": header.arithmetic} if header.arithmetic > 1 else {}),
        **header.spent.as_json(),
    }
    for name, correction in header.corrections.items():
        told["metrics"][name]["corrected"] = as_builtins(correction)
    if header.texts_deleted:
        told["texts_deleted"] = header.texts_deleted
    if run.slices:
        told["slices"] = {
            one.value: {**one.summary.as_json(), "findings": one.summary.findings_as_json()} for one in run.slices
        }
    if run.repeats:
        repeats = run.repeats
        told["repeats"] = {**repeats.summary.as_json(), "runs": list(repeats.runs), **repeats.spent.as_json()}
    return told


def _group(group: Group, header: Header) -> dict[str, Any]:
    told = asdict(group) | {"worst": list(group.worst)}
    if group.kind != "waste":
        del told["tokens"]
    elif (price := header.wasted(group.tokens)) is not None:
        told["price"] = price
    return told
