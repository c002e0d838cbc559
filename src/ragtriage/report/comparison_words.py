"""How the numbers of a comparison are written, in every form of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragtriage.core.display import MINUS, listed, one_line, plural, signed
from ragtriage.report.words import titled, two_places
from ragtriage.runs.compare.comparison import (
    Changes,
    ChangeVerdict,
    Comparison,
    ExpectedChange,
    FaultChange,
    FaultChanges,
    GateResult,
    MetricComparison,
    Pairs,
    SideHeader,
)
from ragtriage.runs.compare.gates import slice_value
from ragtriage.runs.compare.statistics import MeanDifference

BETTER, WORSE = "▲", "▼"
ARROW = "→"
MOST_ID = 80
"""Characters of an id that are shown."""


def short_signed(value: float) -> str:
    """A difference of shares, without the zero before the point: `+.055`."""
    return signed(value).replace("0.", ".", 1) if abs(value) < 1 else signed(value)


def interval(found: MeanDifference | None, *, short: bool = False) -> str:
    """`−0.136 to −0.056`; empty where there is none."""
    if found is None or found.low is None or found.high is None:
        return ""
    write = short_signed if short else signed
    return f"{write(found.low)} to {write(found.high)}"


def score_text(value: float | None) -> str:
    """A score, or that it is undefined."""
    return "undefined" if value is None else two_places(value)


def count_text(value: float) -> str:
    """How many cases have a finding; of several trials it may not be whole."""
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-9 else f"{value:,.1f}"


def expected_text(found: ExpectedChange | None) -> str:
    """`31 → 22 (−15 to −3)`: the expected numbers of cases, and the interval of their difference; empty without."""
    if found is None:
        return ""
    told = f"{found.base.value:.0f} {ARROW} {found.new.value:.0f}"
    if found.low is None or found.high is None:
        return told
    return f"{told} ({signed(found.low, 0)} to {signed(found.high, 0)})"


def id_text(name: str) -> str:
    """A case's id as it is shown: harmless, on one line, not too long."""
    return one_line(name, MOST_ID)


def side_facts(side: SideHeader) -> tuple[str, ...]:
    """The facts that head a side: run, its name, input, date, cases, judge, trials, commit."""
    named, commit = side.about.facts
    trials = f"{side.trials} runs a case" if side.trials > 1 else ""
    facts = (side.name, named, side.input, side.created[:10], plural(side.cases, "case"), side.judge, trials, commit)
    return tuple(one_line(fact, 60) for fact in facts if fact)


def pairs_text(found: Comparison) -> str:
    """`7 of 8 cases paired by id, in 4 groups by document`."""
    pairs = found.pairs
    groups = f", in {plural(pairs.groups, 'group')} by {one_line(pairs.cluster, 40)}" if pairs.cluster else ""
    return f"{paired_text(found)} paired by {pairs.by}{groups}"


def paired_text(found: Comparison) -> str:
    """`7 of 8 cases`: the pairs, and of how many cases of the larger side."""
    of = max(found.base.cases, found.new.cases)
    paired = found.pairs.paired
    return f"{paired:,} of {plural(of, 'case')}" if paired < of else plural(of, "case")


FaultKind = Literal["fixed", "broken", "other"]
"""What became of the faults of a pair: see `FaultChanges`."""


@dataclass(frozen=True, slots=True)
class ListedFaults:
    """The pairs whose faults changed alike."""

    kind: FaultKind
    heading: str
    """`1 case fixed`."""
    by_fault: Mapping[str, Sequence[str]]
    """The fault, empty where there is nothing to say, and new's ids."""
    more: int
    """Pairs that aren't listed."""


def listed_faults(faults: FaultChanges | None) -> Iterator[ListedFaults]:
    """The pairs whose faults changed; none if none did."""
    if faults is None:
        return
    kinds: tuple[tuple[FaultKind, str, Sequence[FaultChange]], ...] = (
        ("fixed", "fixed", faults.fixed),
        ("broken", "broken", faults.broken),
        ("other", "with other faults", faults.others),
    )
    for (kind, word, cases), count in zip(kinds, faults.counts, strict=True):
        if count:
            by_fault: dict[str, list[str]] = {}
            for case in cases:
                by_fault.setdefault(_fault(case, word), []).append(case.id)
            yield ListedFaults(kind, f"{plural(count, 'case')} {word}", by_fault, count - len(cases))


def fault_lines(faults: FaultChanges | None) -> Iterator[tuple[str, str]]:
    """`1 case fixed`, `ticket (unsupported_claims)`: the same in words, by id."""
    for one in listed_faults(faults):
        told = "; ".join(
            ", ".join(map(id_text, ids)) + (f" ({fault})" if fault else "") for fault, ids in one.by_fault.items()
        )
        yield one.heading, told + (f"; and {one.more:,} more" if one.more else "")


def _fault(case: FaultChange, word: str) -> str:
    base, new = (one_line(head, 40) for head in case.headline)
    return {"fixed": base, "broken": new}.get(word, f"{base} {ARROW} {new}" if base != new else base)


def unpaired_text(pairs: Pairs) -> str:
    """What is left out, and what is doubtful; empty if nothing is."""
    told = (
        (pairs.only_base, "only in base"),
        (pairs.only_new, "only in new"),
        (pairs.other_question, "with another question under the same id"),
        (pairs.ambiguous, "ambiguous (the same question several times)"),
    )
    return ", ".join(f"{count:,} {what}" for count, what in told if count)


def changed_counts(changes: Changes) -> tuple[str, ...]:
    """How many texts of each kind changed, `1 set of sources` and `4 responses`; empty where none did."""
    counted = (
        (changes.query, "query", "queries"),
        (changes.sources, "set of sources", "sets of sources"),
        (changes.response, "response", ""),
    )
    return tuple(plural(count, one, many) for count, one, many in counted if count)


def changed_text(changes: Changes) -> str:
    """`query 0 · sources 0 · response 123 · judge no`, with what else changed."""
    counted = [("query", changes.query), ("sources", changes.sources), ("response", changes.response)]
    counted += [
        (name, count)
        for name, count in (
            ("history", changes.history),
            ("reference", changes.reference),
            ("order of sources", changes.source_order),
            ("unknown", changes.unknown),
        )
        if count
    ]
    judge = f"yes ({', '.join(changes.kinds)})" if changes.judge else "no"
    return " · ".join([*(f"{name} {count:,}" for name, count in counted), f"judge {judge}"])


def gate_heading(gate: GateResult) -> str:
    """How a gate's sentence begins."""
    if gate.failed:
        return "gate failed"
    return "gate" if gate.outcome == "can't tell" else "gate passed"


def family_text(comparison: Comparison) -> str:
    """What the marks mean."""
    over = f", Holm over {plural(comparison.family, 'metric')}" if comparison.family > 1 else ""
    return f"{BETTER} better, {WORSE} worse (p < .05{over}); no mark: can't tell"


ComparisonState = Literal["incomplete", "failed", "unsure", "passed", "worse", "better", "nothing"]
"""The last three where there is no gate: what the metrics themselves say."""
SIGNS: Mapping[ComparisonState, str] = {
    "incomplete": "!", "failed": "✗", "unsure": "!", "passed": "✓", "worse": WORSE, "better": BETTER, "nothing": "",
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


def verdict_of(found: Comparison) -> tuple[ComparisonState, str]:
    """What it comes to, in the order of the exit codes: not complete, a gate failed, can't tell, passed."""
    if found.incomplete:
        return "incomplete", f"not complete: {one_line(found.incomplete[0], 200)}"
    if found.failing:
        return "failed", _named([gate_words(gate) for gate in found.failing])
    if unsure := [gate for gate in found.gates if gate.outcome == "can't tell"]:
        return "unsure", _named([gate_words(gate) for gate in unsure])
    if found.gates:
        return "passed", f"{plural(len(found.gates), 'gate')} passed"
    verdicts: tuple[tuple[ChangeVerdict, ComparisonState], ...] = (("worse", "worse"), ("better", "better"))
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


def gate_sign(gate: GateResult) -> str:
    """How a gate went, as a sign; the words beside it say the same."""
    if gate.failed:
        return SIGNS["failed"]
    return SIGNS["unsure"] if gate.outcome == "can't tell" else SIGNS["passed"]


def gate_cell(gate: GateResult) -> str:
    """A gate on a metric's row: `✗ worse than −0.03`."""
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
    row = found.metric(gate.metric)
    if gate.slice is not None or row is None:
        return ()
    lost = row.lost_cases if row.mention_undefined else ()
    worse = found.worse.cases if found.worse and found.worse.metric == gate.metric else ()
    return tuple(dict.fromkeys((*lost, *(case.id for case in worse))))


def _named(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return listed([*names[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])], "and")
