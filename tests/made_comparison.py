"""A comparison made by hand, for the tests of its forms."""

from dataclasses import replace
from typing import Any

from ragtriage.runs.compare.comparison import (
    ChangedCase,
    ChangedCases,
    Changes,
    Comparison,
    FindingComparison,
    GateResult,
    HeadlineMatrix,
    LeftOut,
    MetricComparison,
    Pairs,
    SideHeader,
    Slice,
    SliceMetric,
)
from ragtriage.runs.compare.statistics import MeanDifference

HOSTILE = "a|b<script>alert(1)</script>\x1b[31m @ada `x` [y](https://evil.example) _z_ \ud800\ufffe\n# end"
WORSE = GateResult(
    "fail_if_worse", "groundedness=0.03", "groundedness", 0.03, "worse", True,
    "groundedness is worse: −0.096, 95 % interval −0.136 to −0.056, wholly below −0.03",
    -0.136, -0.056, 0.95, -0.096, title="Grounded",
)  # fmt: skip
UNSURE = GateResult(
    "fail_if_worse", "self_distinctness=0.02", "self_distinctness", 0.02, "can't tell", False,
    "can't tell whether self_distinctness is worse by more than 0.02: −0.027 to +0.030", -0.027, 0.03, 0.95, 0.001,
    title="No repetition",
)  # fmt: skip
SHARE = GateResult(
    "at_most", "unsupported_claims=2%", "unsupported_claims", 0.02, "fails", True,
    "10.0% of 200 cases have unsupported_claims, at most 2.0% was asked for", 0.06, 0.15, 0.95, 0.1,
    title="unsupported_claims",
)  # fmt: skip


def made_difference(middle: float, half: float, base: float = 0.79) -> MeanDifference:
    """A difference over 168 cases in 40 groups."""
    se = half / 2.02
    return MeanDifference(
        168, 40, base, base + middle, middle, 31, se, se, 39.0, middle - half, middle + half, 2.8 * se
    )  # fmt: skip


def made_comparison(case_id: str = "q117", **other: Any) -> Comparison:
    """Two runs of 200 cases: a metric that is worse, one that can't tell, findings, slices, a gate each way."""
    side = SideHeader("run 7", (7,), None, "v1.jsonl", "2026-11-20T11:30:00+00:00", 200, "embedded", 1, "0.1.0")
    grounded = MetricComparison(
        "groundedness", "Grounded", "higher", (0, 1), "worse", base_mean=0.8, new_mean=0.7,
        paired=made_difference(-0.096, 0.04), p=0.0001, p_adjusted=0.0004, how="drawn", defined=(192, 176), lost=24,
        gained=8, p_defined=0.007, mention_undefined=True, bounds=(-0.2, 0.02), threshold=0.8,
    )  # fmt: skip
    repeated = MetricComparison(
        "self_distinctness", "No repetition", "higher", (0, 1), "can't tell", base_mean=0.81, new_mean=0.81,
        paired=made_difference(0.001, 0.024, 0.81), p=1.0, p_adjusted=1.0, how="drawn", defined=(200, 200),
    )  # fmt: skip
    untouched = MetricComparison("source_need", "Sources needed", "higher", (0, 1), "not touched")
    judged = MetricComparison(
        "noise", "Misled by noise", "lower", (0, 1), "judged differently", base_mean=0.1, new_mean=0.2,
        why="its questions were answered by another judge",
    )  # fmt: skip
    finding = FindingComparison(
        "unsupported_claims", "failure", "claims that no source supports", "generator", "worse", 9, 20, 3, 14, 200,
        made_difference(0.055, 0.042, 0.045), 0.0127, 0.0127, "exact", ("q3",), (case_id, "q2"),
    )  # fmt: skip
    few = FindingComparison(
        "repetition", "quality", "says things twice", "generator", "can't tell", 6, 4, 3, 1, 200,
        made_difference(-0.01, 0.02, 0.03),
    )  # fmt: skip
    case = ChangedCase(
        case_id, case_id, (("groundedness", 1.0, 0.0),), "same", ("none", "unsupported_claims"), "worse"
    )  # fmt: skip
    found = Comparison(
        side,
        replace(side, name="run 8", runs=(8,), input="v2.jsonl", created="2026-11-23T11:30:00+00:00"),
        Pairs(200, "id", 1, 0, 0, 0, 40, "document"),
        Changes(0, 0, 0, 0, 0, 123, 0, 123, reading="same sources, other responses: a change of prompt or generator"),
        (grounded, repeated, untouched, judged),
        (finding, few),
        HeadlineMatrix(("none", "prompt"), ((141, 17), (6, 36)), ((("q1",), (case_id,)), (("q3",), ("q4",)))),
        gates=(WORSE, UNSURE),
        slices={"topic": (Slice("billing", 120, (SliceMetric("groundedness", "worse", made_difference(-0.2, 0.1)),)),)},
        worse=ChangedCases("groundedness", 31, (case,)),
        left_out=LeftOut(only_base=(case_id,)),
        notes=("run 8 has another version of ragtriage",),
        family=2,
        finding_family=1,
    )
    return replace(found, **other)
