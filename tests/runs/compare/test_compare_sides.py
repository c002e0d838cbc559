"""Two sides compared as values: pairs, what changed, verdicts, gates and every edge of them."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compared_runs import made_side
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.diagnosis.rules import RULES
from ragtriage.runs.case_row import CaseText
from ragtriage.runs.compare.case_table import FoundColumns, case_digests
from ragtriage.runs.compare.compare import CompareOptions, compare
from ragtriage.runs.compare.comparison import Comparison, MetricComparison
from ragtriage.runs.compare.gates import CompareGates, margin_outcome, share_limits, slice_value, worse_limits
from ragtriage.runs.compare.sides import Side

G = "groundedness"


def compared(base: Side, new: Side, **options: Any) -> Comparison:
    return compare(base, new, RULES, CompareOptions(**options))


def gated(base: Side, new: Side, *limits: str, shares: Sequence[str] = (), **more: Any) -> Comparison:
    cant_tell = more.pop("cant_tell", False)
    gates = CompareGates({}, {}, worse_limits(limits), share_limits(shares), cant_tell)
    return compared(base, new, gates=gates, **more)


def row(found: Comparison, name: str = G) -> MetricComparison:
    own = found.metric(name)
    assert own is not None
    return own


def two(base: Sequence[float | None], new: Sequence[float | None], **more: Any) -> tuple[Side, Side]:
    return made_side({G: base}, number=1, **more), made_side({G: new}, number=2, **more)


def falls(count: int = 40, lost: int = 20) -> tuple[Side, Side]:
    return two([1.0] * count, [0.0] * lost + [1.0] * (count - lost))


def test_a_fall_is_worse_and_fails_its_gate() -> None:
    found = gated(*falls(), f"{G}=0.03")

    assert row(found).verdict == "worse"
    assert row(found).p_adjusted == pytest.approx(2 * 0.5**20)
    assert [(gate.outcome, gate.failed) for gate in found.gates] == [("worse", True)]
    assert found.gates[0].says.startswith(f"{G} is worse: −0.500, 95 % interval −0.672")
    assert "wholly below −0.03" in found.gates[0].says


def test_what_only_the_sources_are_read_for_is_not_touched_by_another_response() -> None:
    base = made_side({G: [1, 0.5, 1], "source_precision": [0.5, 0.5, 1]}, number=1)
    new = made_side({G: [1, 1, 1], "source_precision": [0.5, 0.5, 1]}, number=2)
    found = gated(base, new, "source_precision=0")

    assert row(found, "source_precision").verdict == "not touched"
    assert row(found, "source_precision").p is None
    assert found.family == 1
    assert found.gates[0].outcome == "no worse"
    assert found.changes.reading == "same sources, other responses: a change of prompt or generator"


def test_one_prompt_spoils_its_metrics_only() -> None:
    scores = {G: [1, 0.5], "response_precision": [1, 0.5]}
    found = compared(made_side(scores), made_side(scores, number=2, fingerprints={"supported": "2"}))

    assert row(found).verdict == "judged differently"
    assert row(found, "response_precision").verdict == "can't tell"
    assert found.changes.kinds == ("supported",)
    same = {"response": ["same"] * 2}
    alike = compared(
        made_side(scores, texts=same), made_side(scores, number=2, texts=same, fingerprints={"supported": "2"})
    )
    assert alike.changes.reading == "the application is the same: any difference is the judge's"


def test_all_metrics_judged_differently_is_an_error_that_names_what_to_do() -> None:
    base, new = made_side({G: [1, 1]}), made_side({G: [1, 0]}, number=2, fingerprints={"supported": "2"})

    with pytest.raises(InputError, match=r"ragtriage evaluate v1\.jsonl.*--across-judges"):
        compared(base, new)
    across = gated(base, new, G, across_judges=True)
    assert row(across).paired is not None
    assert across.gates == ()
    assert not across.gated


def test_a_prompt_for_conversations_spoils_nothing_without_conversations() -> None:
    base, new = made_side({G: [1, 1]}), made_side({G: [1, 0]}, number=2, fingerprints={"standalone": "2"})
    base = replace(base, fingerprints={**base.fingerprints, "standalone": "1"})

    assert row(compared(base, new)).verdict == "can't tell"


def test_a_metric_of_one_side_only_says_so_and_a_redefined_one_is_not_compared() -> None:
    base = made_side({G: [1, 1], "response_precision": [1, 1], "hallucination": [0, 0]})
    new = made_side({G: [1, 0], "self_distinctness": [1, 1], "hallucination": [0, 0]}, number=2)
    new = replace(new, definitions={**new.definitions, "hallucination": "another"})
    found = compared(base, new)

    assert row(found, "response_precision").verdict == "only in base"
    assert row(found, "self_distinctness").verdict == "only in new"
    assert row(found, "hallucination").verdict == "redefined"
    assert found.changes.metrics == ("hallucination",)


def test_where_lower_is_better_everything_is_mirrored() -> None:
    base = made_side({"hallucination": [0.0] * 40}, number=1)
    new = made_side({"hallucination": [1.0] * 20 + [0.0] * 20}, number=2)
    found = gated(base, new, "hallucination=0.03")

    assert row(found, "hallucination").verdict == "worse"
    assert found.gates[0].outcome == "worse"
    assert "wholly above 0.03" in found.gates[0].says
    assert gated(new, base, "hallucination=0.03").gates[0].outcome == "better"


# pairs


def test_a_side_with_ids_made_from_the_content_is_paired_by_the_question() -> None:
    base = made_side({G: [1, 0.5]}, ids=["a1", "a2"], own_ids=False, texts={"query": ["One?", "Two?"]})
    new = made_side({G: [0.5, 1]}, number=2, ids=["b2", "b1"], own_ids=False, texts={"query": ["two ?", "ONE?"]})
    new = replace(
        new, table=replace(new.table, digests={**new.table.digests, "question": base.table.digests["question"][::-1]})
    )
    found = compared(base, new)

    assert found.pairs.by == "query"
    assert found.pairs.paired == 2
    assert row(found).paired is not None
    assert row(found).paired.changed == 0  # type: ignore[union-attr]


def test_another_question_under_the_same_id_is_left_out_and_one_that_differs_by_case_only_is_counted() -> None:
    base = made_side({G: [1.0] * 20})
    queries = ["Else?", "C1", *(f"c{i}" for i in range(2, 20))]
    found = compared(base, made_side({G: [0.0] * 20}, number=2, texts={"query": queries}))

    assert (found.pairs.paired, found.pairs.other_question, found.changes.query) == (19, 1, 1)
    assert found.left_out.other_question == ("c0",)
    # ids that differ in case only aren't paired
    base, new = made_side({G: [1, 1]}, ids=["a", "B"]), made_side({G: [1, 1]}, number=2, ids=["a", "b "])
    hinted = compared(base, new)
    assert (hinted.pairs.paired, hinted.pairs.only_base, hinted.pairs.only_new) == (1, 1, 1)
    assert any("but for case or white space" in note for note in hinted.notes)


def test_ids_that_are_row_numbers_are_an_error() -> None:
    base = made_side({G: [1.0] * 4}, texts={"query": list("abcd")})
    new = made_side({G: [1.0] * 4}, number=2, texts={"query": list("bcda")})

    with pytest.raises(InputError, match=r"look like row numbers.*--pair query"):
        compared(base, new)
    assert compared(base, new, pair="query").pairs.paired == 4


def test_one_query_many_times_is_paired_by_its_sources_else_in_order_and_called_ambiguous() -> None:
    texts = {"query": ["same"] * 3, "sources": ["x", "y", "z"]}
    base = made_side({G: [0.1, 0.2, 0.3]}, own_ids=False, texts=texts)
    new = made_side({G: [0.3, 0.9, 0.1]}, number=2, own_ids=False, texts={**texts, "sources": ["z", "w", "x"]})
    found = compared(base, new)

    assert (found.pairs.paired, found.pairs.ambiguous) == (3, 1)
    assert row(found).paired.changed == 1  # type: ignore[union-attr]


def test_too_few_pairs_are_incomplete_and_read_no_gate() -> None:
    base, new = made_side({G: [1.0] * 10}), made_side({G: [0.0] * 5}, number=2)
    found = gated(base, new, G)

    assert found.gates == ()
    assert "--min-paired" in found.incomplete[0]
    assert gated(base, new, G, min_paired=0.5).gates[0].outcome == "worse"
    more = compared(base, made_side({G: [1.0] * 12}, number=2))  # the new side may be larger
    assert (more.pairs.paired, more.pairs.only_new, more.incomplete) == (10, 2, ())


# scores


def test_lost_scores_fail_a_gate() -> None:
    base, new = two([1.0] * 30, [None] * 10 + [1.0] * 20)
    found = gated(base, new, f"{G}=0.5")

    assert (row(found).lost, row(found).gained) == (10, 0)
    assert row(found).mention_undefined
    assert row(found).bounds == pytest.approx((-1 / 3, 0))
    assert row(found).lost_cases == tuple(f"c{i}" for i in range(10))
    assert (found.gates[0].outcome, found.gates[0].failed) == ("worse", True)
    assert found.gates[0].says == f"{G} is worse: 10 cases lost the score and 0 gained one (p .002)"


@pytest.mark.parametrize(
    ("lost", "gained", "kept", "gates", "fails"),
    [
        (6, 0, 0, 1, True),  # p .031, and no pair has it on both sides
        (5, 0, 0, 1, False),  # p .063
        (5, 0, 20, 1, False),
        (6, 0, 20, 2, False),  # the level of two gates is .025
        (8, 0, 20, 2, True),
        (10, 3, 20, 1, False),
        (14, 3, 20, 1, True),
        (3, 14, 20, 1, False),
        (0, 8, 0, 1, False),
    ],
)
def test_a_gate_fails_for_lost_scores_only_where_they_are_more_than_chance(
    lost: int, gained: int, kept: int, gates: int, fails: bool
) -> None:
    beside = {"self_distinctness": [1.0] * (lost + gained + kept)}
    base = made_side({G: [1.0] * lost + [None] * gained + [1.0] * kept, **beside})
    new = made_side({G: [None] * lost + [1.0] * gained + [1.0] * kept, **beside}, number=2)
    found = gated(base, new, *[f"{G}=0.5", "self_distinctness=0.5"][:gates])

    assert found.gates[0].failed is fails
    assert ("lost the score" in found.gates[0].says) is fails


def test_a_metric_undefined_on_one_side_has_no_difference_and_its_gate_can_not_tell() -> None:
    found = gated(*two([None] * 3, [1.0] * 3), G)

    assert row(found).verdict == "undefined"
    assert (found.gates[0].outcome, found.gates[0].failed) == ("can't tell", False)
    assert gated(*two([None] * 3, [1.0] * 3), G, cant_tell=True).gates[0].failed


def test_failures_are_left_out_and_make_it_incomplete() -> None:
    new = made_side({G: [1, None, 0]}, number=2, failed={G: [False, True, False]})
    found = compared(made_side({G: [1, 1, 1]}), new)

    assert (row(found).failed, row(found).lost) == (1, 0)
    assert found.incomplete == ("the judge failed on 1 pair, which are left out",)
    assert any(note.startswith("few pairs (3)") for note in found.notes)
    with pytest.raises(InputError, match="no case in common"):
        compared(made_side({G: [1]}, ids=["a"]), made_side({G: [1]}, number=2, ids=["b"]))


def test_one_case_and_one_group_have_means_alone() -> None:
    alone = gated(*two([1.0], [0.0]), G)
    assert row(alone).paired.low is None  # type: ignore[union-attr]
    assert row(alone).p is None
    assert "alone has no interval" in alone.gates[0].says
    grouped = compared(*two([1.0, 1.0], [0.0, 0.5], tags={"d": ["x", "x"]}), cluster="d")
    assert grouped.pairs.groups == 1
    assert row(grouped).paired.low is None  # type: ignore[union-attr]


def test_huge_and_unlike_weights_are_new_ones_scaled_by_the_largest() -> None:
    base = made_side({G: [1.0, 1.0, 1.0, 1.0]}, weight=[5, 5, 5, 5])
    new = made_side({G: [0.0, 1.0, 1.0, 1.0]}, number=2, weight=[1e300, 1e300, 2e300, 1e299])
    found = row(compared(base, new)).paired

    assert found is not None
    assert found.difference == pytest.approx(-1 / 4.1)
    assert np.isfinite([found.low, found.high, found.se]).all()


def test_a_constant_score_has_an_interval_by_the_pseudo_cases() -> None:
    found = row(compared(*two([0.5] * 40, [0.5] * 40))).paired

    assert found is not None
    assert (found.low, found.high) == (pytest.approx(-0.0688, abs=1e-4), pytest.approx(0.0688, abs=1e-4))


def test_holm_counts_the_metrics_that_were_touched_and_perhaps_is_what_the_interval_alone_says() -> None:
    some = [0.0] * 8 + [1.0] * 32
    names = [G, "response_precision", "response_query_coverage", "self_distinctness", "hallucination"]
    base = made_side({name: [1.0] * 40 for name in names})
    new = made_side({G: some, **{name: [1.0] * 40 for name in names[1:]}}, number=2)
    few = made_side({G: [0.0] * 7 + [1.0] * 33, **{name: [1.0] * 40 for name in names[1:]}}, number=2)

    assert row(compared(base, new)).p_adjusted == pytest.approx(5 * 2 * 0.5**8)
    own = row(compared(base, few))
    assert (own.verdict, own.perhaps) == ("can't tell", "worse")


# groups, slices, hints


def test_a_cluster_tag_groups_the_pairs_and_one_that_no_case_has_is_told_with_the_near_one() -> None:
    tags = {"doc": ["a", "a", "b", "b", None, "c"]}
    base = made_side({G: [1.0] * 6}, tags={"doc": ["a", "x", "b", "b", None, "c"]})
    new = made_side({G: [0.0] * 6}, number=2, tags=tags)
    found = compared(base, new, cluster="doc")

    assert (found.pairs.groups, found.pairs.without_cluster, found.pairs.other_cluster) == (4, 1, 1)
    with pytest.raises(ConfigError, match="did you mean doc"):
        compared(base, new, cluster="docs")


def test_a_tag_whose_cases_go_together_is_hinted_at() -> None:
    count = 100
    moved = [0.0 if (i // 10) % 2 else 1.0 for i in range(count)]
    tags = {"doc": [f"d{i // 10}" for i in range(count)], "other": [f"{i % 13}" for i in range(count)]}
    base, new = two([0.5] * count, moved, tags=tags)

    assert compared(base, new).hint == "doc"
    assert compared(base, new, cluster="doc").hint == ""


def test_slices_are_tested_together_and_small_ones_not_at_all_and_fifty_are_listed() -> None:
    tags = {"topic": ["a"] * 30 + ["b"] * 30 + ["c"] * 5}
    new = [0.0] * 20 + [1.0] * 45
    found = compared(*two([1.0] * 65, new, tags=tags), by="topic")
    slices = {one.value: one for one in found.slices["topic"]}

    assert [one.pairs for one in found.slices["topic"]] == [30, 30, 5]
    assert slices["a"].metrics[0].verdict == "worse"
    assert slices["b"].metrics[0].p is slices["c"].metrics[0].p is None
    tags = {"topic": [f"t{i}" for i in range(120)]}
    many = compared(*two([1.0] * 120, [1.0] * 120, tags=tags), by="topic")
    assert (len(many.slices["topic"]), many.slices_left_out) == (50, 70)


def test_a_gate_may_name_a_slice() -> None:
    tags = {"topic": ["a=b@c"] * 30 + ["b"] * 30}
    base, new = two([1.0] * 60, [0.0] * 20 + [1.0] * 40, tags=tags)

    assert gated(base, new, f'{G}@topic:"a=b@c"=0.05').gates[0].outcome == "worse"
    assert gated(base, new, f"{G}@topic:b=0.2").gates[0].outcome == "no worse"
    with pytest.raises(ConfigError, match="no paired case has 'x'"):
        gated(base, new, f"{G}@topic:x=0.1")


# gates


def test_the_margin_gate_by_the_ends_of_an_interval() -> None:
    worked = json.loads((Path(__file__).parents[2] / "worked" / "compare.json").read_text("utf-8"))["F_gates"]

    assert len(worked) == 9
    for one in worked:
        assert margin_outcome(one["low"], one["high"], one["margin"]) == one["outcome"], one


def test_several_gates_share_the_level() -> None:
    scores = {G: [1.0] * 40, "response_precision": [1.0] * 40}
    new = {G: [0.0] * 20 + [1.0] * 20, "response_precision": [1.0] * 40}
    one = gated(made_side(scores), made_side(new, number=2), G).gates[0]
    both = gated(made_side(scores), made_side(new, number=2), G, "response_precision").gates

    assert one.level == 0.95
    assert both[0].level == pytest.approx(0.975)
    assert both[0].low < one.low  # type: ignore[operator]
    assert "97.5 % interval" in both[0].says


def test_a_gate_that_can_not_tell_says_how_many_cases_would() -> None:
    found = gated(*two([1.0] * 40, [0.0] + [1.0] * 39), f"{G}=0.03")

    assert found.gates[0].outcome == "can't tell"
    assert "some 603 would settle a margin of 0.03" in found.gates[0].says


def test_limits_on_means_and_on_shares_of_findings() -> None:
    holds = {"unsupported_claims": np.array([1.0] * 3 + [0.0] * 7)}
    sure = {"unsupported_claims": np.array([1.0] + [0.0] * 9)}
    found = FoundColumns(holds, sure, ["none"] * 10, ["none"] * 10, {})
    base, new = made_side({G: [0.9] * 10}, found=found), made_side({G: [0.8] * 5 + [1.0] * 5}, number=2, found=found)
    gates = CompareGates(
        {G: 0.89},
        {},
        (),
        share_limits(["unsupported_claims=20%", "unsupported_claims:sure=0.1"]),
    )
    below, share, certain = compared(base, new, gates=gates).gates

    assert (below.outcome, "within chance of it" in below.says) == ("passes", True)
    assert (share.outcome, share.failed, share.value) == ("fails", True, 0.3)
    assert (certain.outcome, certain.value) == ("passes", 0.1)


@pytest.mark.parametrize(
    ("limits", "item"),
    [
        *((worse_limits, f"groundedness{end}") for end in ("=-1", "=nan", "=5 points", "=inf", "=")),
        (worse_limits, "=0.1"),
        *((share_limits, item) for item in ("unsupported_claims=2", "x:maybe=0.1", "=1%", "x=nan")),
    ],
)
def test_a_margin_is_a_number_from_0_on_and_a_share_one_from_0_to_1(limits: Any, item: str) -> None:
    with pytest.raises(ConfigError, match="--fail-if-worse" if limits is worse_limits else "--at-most"):
        limits([item])


@pytest.mark.parametrize("value", ["billing", "a=b@c", "two\nlines", 'say "x"', " spaced", "a:b"])
def test_a_slice_is_typed_as_it_is_shown(value: str) -> None:
    (limit,) = worse_limits([f"groundedness@topic:{slice_value(value)}=0.05"])

    assert (limit.slice, limit.margin) == (("topic", value), 0.05)


def test_flags_go_before_settings() -> None:
    limits = worse_limits(["groundedness=0.1"], {"groundedness": 0.02, "response_precision": 0.03})

    assert {(one.metric, one.margin) for one in limits} == {(G, 0.1), ("response_precision", 0.03)}


# findings


def found_side(number: int, holds: Sequence[float], component: Sequence[str], rule: str = "unsupported_claims") -> Side:
    columns = FoundColumns({rule: np.array(holds, float)}, {rule: np.zeros(len(holds))}, component, component, {})
    return made_side({G: [1.0] * len(holds)}, number=number, found=columns)


def faulty(number: int, *cases: str, scores: Sequence[float], coverage: Sequence[float] | None = None) -> Side:
    """A side by the rules that hold on each case, separated by blanks; `?` is undecided."""
    rules = ("unsupported_claims", "needless_refusal", "right_refusal", "loose_sources")
    holds = {rule: np.array([float(rule in case.split()) for case in cases]) for rule in rules}
    holds["unsupported_claims"][[case == "?" for case in cases]] = np.nan
    heads = [case.split()[0] if case else "none" for case in cases]
    columns = FoundColumns(holds, {rule: np.zeros(len(cases)) for rule in rules}, heads, heads, {})
    named = {G: scores, "response_query_coverage": coverage or [1.0] * len(cases)}
    return made_side(named, number=number, found=columns)


U, N = "unsupported_claims", "needless_refusal"


def test_pairs_whose_faults_changed_are_named_once_and_by_what_became_of_them() -> None:
    base = faulty(1, U, "", U, U, f"{U} {N}", "", "", U, scores=[1.0] * 8)
    new = faulty(2, "", U, N, "?", U, "right_refusal", "loose_sources", U, scores=[1.0] * 8)
    faults = compared(base, new).faults

    assert faults is not None
    kinds = [[case.id for case in some] for some in (faults.fixed, faults.broken, faults.others)]
    assert kinds == [["c0"], ["c1"], ["c2", "c4"]]  # of c3 it can't be told whether its fault went
    assert faults.counts == (1, 1, 2)
    assert faults.others[0].headline == (U, N)
    assert compared(base, new, most=1).faults == replace(faults, others=faults.others[:1])
    assert compared(*two([1.0], [0.0])).faults is None


def test_a_case_whose_finding_went_is_never_worse_and_one_that_got_one_never_better() -> None:
    base = faulty(1, U, "", U, "", "", "", scores=[1.0, 0.5, 0.5, 0.5, 1.0, 1.0])
    new = faulty(2, "", U, N, "", "", "", scores=[0.5, 1.0, 1.0, 1.0, 0.5, 0.996])
    found = compared(base, new)

    assert found.worse is not None
    assert found.better is not None
    # c5 changed by less than is shown
    assert ([case.id for case in found.worse.cases], found.worse.of) == (["c4"], 1)
    assert ([case.id for case in found.better.cases], found.better.of) == (["c3"], 1)


def test_no_case_is_on_both_lists() -> None:
    base = made_side({G: [1.0] * 9, "response_precision": [0.0] * 9})
    new = made_side({G: [0.2] * 8 + [0.9], "response_precision": [0.1] * 8 + [0.9]}, number=2)
    found = compared(base, new)

    assert (row(found).verdict, row(found, "response_precision").verdict) == ("worse", "better")
    assert found.worse is not None
    assert found.better is not None
    assert {case.id for case in found.worse.cases} == {f"c{i}" for i in range(8)}
    assert [case.id for case in found.better.cases] == ["c8"]


def test_findings_are_mcnemars_test_and_the_matrix_counts_every_pair_once() -> None:
    base = found_side(1, [1.0] * 3 + [0.0] * 37, ["prompt"] * 3 + ["none"] * 37)
    new = found_side(2, [0.0] * 3 + [1.0] * 14 + [0.0] * 23, ["none"] * 3 + ["prompt"] * 14 + ["none"] * 23)
    found = compared(base, new)
    (one,) = found.findings

    assert (one.fixed, one.broken, one.verdict) == (3, 14, "worse")
    assert one.p == pytest.approx(0.012726, abs=1e-6)
    assert found.headlines is not None
    assert found.headlines.components == ("none", "prompt")
    assert found.headlines.counts == ((23, 14), (3, 0))
    assert found.headlines.cases[1][0] == ("c0", "c1", "c2")
    # few changes are listed without a test
    few = found_side(1, [0.0] * 40, ["none"] * 40), found_side(2, [1.0] * 5 + [0.0] * 35, ["none"] * 40)
    (one,) = compared(*few).findings
    assert (one.broken, one.p, one.verdict) == (5, None, "can't tell")


@pytest.mark.parametrize("rule", ["loose_sources", "right_refusal"])
def test_waste_and_what_is_right_are_never_called_worse(rule: str) -> None:
    base, new = (found_side(n, [float(n == 2)] * 40, ["none"] * 40, rule) for n in (1, 2))

    assert compared(base, new).findings[0].verdict == "can't tell"


def test_a_finding_that_is_only_likely_counts_by_its_probability() -> None:
    base, new = found_side(1, [0.2] * 20, ["none"] * 20), found_side(2, [0.7] * 20, ["none"] * 20)
    (one,) = compared(base, new).findings

    assert one.paired is not None
    assert one.paired.difference == pytest.approx(0.5)
    assert (one.base, one.new, one.broken) == (pytest.approx(4), pytest.approx(14), 20)


# of the whole


values = st.sampled_from([0.0, 0.5, 1.0, None])
case = st.tuples(values, values, values, values)


@settings(max_examples=40, deadline=None)
@given(st.lists(case, min_size=3, max_size=30), st.randoms())
def test_order_of_rows_makes_no_difference_and_swapping_sides_mirrors_everything(
    rows: Any, shuffle: random.Random
) -> None:
    def sides(order: list[int]) -> tuple[Side, Side]:
        ids = [f"c{i}" for i in order]
        columns = [[rows[i][at] for i in order] for at in range(4)]
        return (
            made_side({G: columns[0], "response_precision": columns[2]}, ids=ids),
            made_side({G: columns[1], "response_precision": columns[3]}, number=2, ids=ids),
        )

    order = list(range(len(rows)))
    base, new = sides(order)
    one = compared(base, new)
    shuffle.shuffle(order)
    other, back = compared(*sides(order)), compared(new, base)

    def numbers(found: Comparison) -> list[Any]:
        return sorted((r.name, r.verdict, r.p_adjusted, r.lost, r.gained) for r in found.metrics)

    assert [x[:2] for x in numbers(one)] == [x[:2] for x in numbers(other)]
    for name in (G, "response_precision"):
        a, b, c = row(one, name), row(other, name), row(back, name)
        assert (a.lost, a.gained) == (b.lost, b.gained) == (c.gained, c.lost)
        assert {"worse": "better", "better": "worse"}.get(a.verdict, a.verdict) == c.verdict
        if a.paired and b.paired and c.paired:
            assert a.paired.difference == pytest.approx(b.paired.difference, abs=1e-9)
            assert a.paired.difference == pytest.approx(-c.paired.difference, abs=1e-9)
        if a.p is not None:
            assert a.p == pytest.approx(b.p, abs=1e-9) == pytest.approx(c.p, abs=1e-9)  # type: ignore[comparison-overlap]


def test_the_cases_that_changed_most_are_listed_largest_first() -> None:
    found = compared(*two([1.0] * 30, [0.5, 0.0, 0.5] + [0.0] * 7 + [1.0] * 20), most=3)

    assert found.worse is not None
    assert found.worse.of == 10
    assert [one.id for one in found.worse.cases] == ["c1", "c3", "c4"]
    assert found.better is None


def test_corrected_means_of_both_sides_are_compared() -> None:
    base = made_side({G: [1.0, 1.0]}, corrections={G: (0.86, 0.81, 0.90)})
    new = made_side({G: [1.0, 0.0]}, number=2, corrections={G: (0.79, 0.73, 0.84)})

    assert row(compared(base, new)).corrected == pytest.approx((-0.07, -0.1421, 0.0007), abs=1e-4)
    assert row(compared(base, replace(new, corrections={}))).corrected is None


def test_what_the_judge_alone_makes_is_told_where_a_side_has_trials() -> None:
    base = made_side({G: [1.0, 0.5, 1.0]}, noise={G: 0.04}, header={"trials": 3})
    found = row(compared(base, made_side({G: [1.0, 1.0, 0.0]}, number=2)))

    assert found.noise_se == pytest.approx((3 * (0.04 / 3 + 0.04)) ** 0.5 / 3)


def test_an_older_side_as_new_and_a_model_after_a_month_are_noted() -> None:
    late = {"created": "2027-03-01T00:00:00+00:00", "judge": "openai:gpt"}
    found = compared(made_side({G: [1, 1]}), made_side({G: [1, 0]}, number=2, header=late))
    assert any("30 days apart" in note for note in found.notes)
    late_file = {**late, "baseline": "b.json"}
    older = compared(made_side({G: [1, 1]}, header=late_file), made_side({G: [1, 0]}, number=2))
    assert any("is newer than" in note for note in older.notes)


def test_of_a_case_that_a_folder_has_forgotten_nothing_is_known() -> None:
    assert case_digests({role: [CaseText(role, 0, None, None)] for role in ("query", "response")}, None) == {}
