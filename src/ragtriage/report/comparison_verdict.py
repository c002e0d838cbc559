"""What a comparison comes to in a line, and what each gate says in a few words: the same in every file made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragtriage.core.display import MINUS, listed, plural
from ragtriage.report.words import titled
from ragtriage.runs.compare.comparison import Comparison, GateResult, MetricComparison, Verdict
from ragtriage.runs.compare.gates import slice_value
from ragtriage.text.sanitize import one_line

State = Literal["incomplete", "failed", "unsure", "passed", "worse", "better", "nothing"]
"""The last three where there is no gate: what the metrics themselves say."""
Sign = Literal["❌", "⚠️", "✅"]
SIGNS: Mapping[State, str] = {
    "incomplete": "⚠️", "failed": "❌", "unsure": "⚠️", "passed": "✅", "worse": "▼", "better": "▲", "nothing": "",
}  # fmt: skip
MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class Quote:
    """The texts of a case that changed, for where quoting them was asked for."""

    query: str
    base: str | None
    """The response of the base side; None where its texts aren't there."""
    new: str | None


Quotes = Mapping[str, Quote]
"""New's id → the texts."""


def verdict_of(found: Comparison) -> tuple[State, str]:
    """What it comes to, in the order of the exit codes: not complete, a gate failed, can't tell, passed."""
    if found.incomplete:
        return "incomplete", f"not complete: {one_line(found.incomplete[0], 200)}"
    if found.failing:
        return "failed", _named([gate_words(gate) for gate in found.failing])
    if unsure := [gate for gate in found.gates if gate.outcome == "can't tell"]:
        return "unsure", _named([gate_words(gate) for gate in unsure])
    if found.gates:
        return "passed", f"{plural(len(found.gates), 'gate')} passed"
    verdicts: tuple[tuple[Verdict, State], ...] = (("worse", "worse"), ("better", "better"))
    for verdict, state in verdicts:
        if names := [title_of_row(row) for row in found.metrics if row.verdict == verdict]:
            return state, f"{verdict}: {_named(names)}"
    return "nothing", "no metric is better or worse beyond chance"


def gate_words(gate: GateResult) -> str:
    """`groundedness is worse`: what a gate says, without its numbers."""
    name = gate_name(gate)
    match gate.outcome:
        case "fails":
            words = {"fail_below": "mean {} is too low", "fail_above": "mean {} is too high", "at_most": "too many {}"}
            return words.get(gate.kind, "{} fails").format(name) + " expected" * gate.expected
        case "passes":
            return f"{name} passes"
        case "can't tell" if gate.kind == "at_most":
            return f"can't tell whether too many {name} are expected"
        case "can't tell":
            return f"can't tell whether {name} is worse"
        case outcome:
            return f"{name} is {outcome}"


def gate_name(gate: GateResult) -> str:
    """The metric or rule that a gate reads, with its slice."""
    name = one_line(gate.metric, 80)
    if gate.slice is None:
        return name
    return f"{name} ({one_line(gate.slice[0], 40)}: {one_line(slice_value(gate.slice[1]), 60)})"


def gate_sign(gate: GateResult) -> Sign:
    """How a gate went, as a sign; the words beside it say the same."""
    if gate.failed:
        return "❌"
    return "⚠️" if gate.outcome == "can't tell" else "✅"


def gate_cell(gate: GateResult) -> str:
    """A gate on a metric's row: `❌ worse than −0.03`."""
    margin = f" than {MINUS if gate.limit else ''}{gate.limit:g}"
    words = {"worse": f"worse{margin}", "no worse": f"no worse{margin}"}
    if gate.kind != "fail_if_worse":
        words = {"fails": f"beyond {gate.limit:g}", "passes": f"within {gate.limit:g}"}
    return f"{gate_sign(gate)} {words.get(gate.outcome, gate.outcome)}"


def gates_on(found: Comparison, row: MetricComparison) -> Sequence[GateResult]:
    """The gates that read a metric as a whole."""
    return [gate for gate in found.gates if gate.metric == row.name and not gate.slice and gate.kind != "at_most"]


def title_of_row(row: MetricComparison) -> str:
    """A metric's plain name, marked if lower is better."""
    return titled(one_line(row.title, 60), row.better)


def worst_of(found: Comparison, gate: GateResult) -> tuple[str, ...]:
    """The ids of the cases behind a gate, those that changed most first; empty where none are listed."""
    if gate.kind == "at_most":
        return next((row.broken_cases for row in found.findings if row.rule == gate.metric), ())
    if gate.slice is not None or found.worse is None or found.worse.metric != gate.metric:
        return ()
    return tuple(case.id for case in found.worse.cases)


def _named(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return listed([*names[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])], "and")
