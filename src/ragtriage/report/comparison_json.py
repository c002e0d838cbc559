"""A comparison as JSON: the same values that the terminal shows, as numbers with their names. Its keys stay."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ragtriage.core.validation import as_builtins
from ragtriage.runs.compare.comparison import (
    CaseList,
    Comparison,
    FindingComparison,
    MetricComparison,
    Slice,
    SliceMetric,
)
from ragtriage.runs.compare.statistics import Difference

_MEASURED = ("base", "new", "difference", "low", "high", "se", "sees", "cases", "groups", "changed")
_SIDE = ("name", "runs", "baseline", "input", "created", "cases", "judge", "trials", "version", "incomplete")


def comparison_json(found: Comparison) -> dict[str, Any]:
    """What `compare --json` prints."""
    pairs = asdict(found.pairs)
    return {
        "base": {name: getattr(found.base, name) for name in _SIDE},
        "new": {name: getattr(found.new, name) for name in _SIDE},
        "pairs": pairs,
        "changed": asdict(found.changes),
        "metrics": {row.name: _metric(row) for row in found.metrics},
        "findings": {row.rule: _finding(row) for row in found.findings},
        "headlines": [] if found.headlines is None else [
            ["", *found.headlines.components],
            *([name, *counts] for name, counts in zip(found.headlines.components, found.headlines.counts, strict=True)),
        ],
        "slices": {
            tag: {one.value: _slice(one) for one in some} for tag, some in found.slices.items()
        },
        "gates": [
            {
                "gate": f"{gate.kind} {gate.name}", "kind": gate.kind, "metric": gate.metric, "limit": gate.limit,
                "slice": gate.slice, "outcome": gate.outcome, "failed": gate.failed, "value": gate.value,
                "expected": gate.expected,
                "low": gate.low, "high": gate.high, "level": gate.level, "says": gate.says,
            }
            for gate in found.gates
        ],
        "cases": {"worse": _cases(found.worse), "better": _cases(found.better)},
        "left_out": asdict(found.left_out),
        "notes": list(found.notes),
        "incomplete": list(found.incomplete),
        "gated": found.gated,
        "hint": found.hint or None,
    }  # fmt: skip


def _measured(found: Difference | None) -> dict[str, Any]:
    return {name: getattr(found, name) if found else None for name in _MEASURED}


def _metric(row: MetricComparison) -> dict[str, Any]:
    named = (
        "title", "better", "base_mean", "new_mean", "p", "p_adjusted", "how", "defined", "lost", "gained", "p_defined",
        "failed", "bounds", "noise_se", "verdict", "perhaps", "corrected", "why",
    )  # fmt: skip
    told = as_builtins({name: getattr(row, name) for name in named})
    return {**_measured(row.paired), **told, "perhaps": row.perhaps or None, "why": row.why or None}


def _finding(row: FindingComparison) -> dict[str, Any]:
    named = ("kind", "component", "fixed", "broken", "decided", "p", "p_adjusted", "how", "verdict")
    measured = {name: value for name, value in _measured(row.paired).items() if name not in {"base", "new"}}
    cases = {"fixed_cases": list(row.fixed_cases), "broken_cases": list(row.broken_cases)}
    expected = asdict(row.expected) if row.expected else None
    told = {name: getattr(row, name) for name in named}
    return {"base": row.base, "new": row.new, **measured, **told, "expected": expected, **cases}


def _slice(one: Slice) -> dict[str, Any]:
    return {"pairs": one.pairs, "metrics": {m.name: _slice_metric(m) for m in one.metrics}}


def _slice_metric(one: SliceMetric) -> dict[str, Any]:
    return {**_measured(one.paired), "p": one.p, "p_adjusted": one.p_adjusted, "verdict": one.verdict}


def _cases(cases: CaseList | None) -> dict[str, Any] | None:
    if cases is None:
        return None
    told = [
        {
            "id": case.id,
            "base_id": case.base_id,
            "scores": {name: [base, new] for name, base, new in case.scores},
            "sources": case.sources,
            "headline": list(case.headline),
        }
        for case in cases.cases
    ]
    return {"metric": cases.metric, "of": cases.of, "cases": told}
