"""How the numbers of a comparison are written, in every form of it."""

from __future__ import annotations

from ragtriage.core.display import plural, signed
from ragtriage.report.words import two_places
from ragtriage.runs.compare.comparison import Changes, Comparison, ExpectedChange, GateResult, Pairs, SideHeader
from ragtriage.runs.compare.statistics import Difference
from ragtriage.text.sanitize import one_line

BETTER, WORSE = "▲", "▼"
ARROW = "→"
MOST_ID = 80
"""Characters of an id that are shown."""


def short_signed(value: float) -> str:
    """A difference of shares, without the zero before the point: `+.055`."""
    return signed(value).replace("0.", ".", 1) if abs(value) < 1 else signed(value)


def interval(found: Difference | None, *, short: bool = False) -> str:
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
    """The facts that head a side: name, input, date, cases, judge, trials."""
    trials = f"{side.trials} runs a case" if side.trials > 1 else ""
    facts = (side.name, side.input, side.created[:10], plural(side.cases, "case"), side.judge, trials)
    return tuple(one_line(fact, 60) for fact in facts if fact)


def pairs_text(pairs: Pairs) -> str:
    """`200 cases paired by id, in 40 groups by document`."""
    groups = f", in {plural(pairs.groups, 'group')} by {one_line(pairs.cluster, 40)}" if pairs.cluster else ""
    return f"{plural(pairs.paired, 'case')} paired by {pairs.by}{groups}"


def unpaired_text(pairs: Pairs) -> str:
    """What is left out, and what is doubtful; empty if nothing is."""
    told = (
        (pairs.only_base, "only in base"),
        (pairs.only_new, "only in new"),
        (pairs.other_question, "with another question under the same id"),
        (pairs.ambiguous, "ambiguous (the same question several times)"),
    )
    return ", ".join(f"{count:,} {what}" for count, what in told if count)


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
