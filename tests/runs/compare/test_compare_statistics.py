"""The statistics of a comparison: numbers that were worked out apart, and what must hold of any data."""

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.core.statistics import Numbers, wilson_interval
from ragtriage.runs.compare.case_table import mean_over_trials, noise_error, noise_variance
from ragtriage.runs.compare.statistics import (
    FLIPS,
    MeanDifference,
    P,
    Paired,
    binomial_p,
    cases_needed,
    difference,
    holm,
    mover,
    swap_ps,
)

WORKED: dict[str, Any] = json.loads((Path(__file__).parents[2] / "worked" / "compare.json").read_text(encoding="utf-8"))
A = WORKED["A_small"]
SEVEN = WORKED["E_seven"]
HERE = {"abs": 1e-6, "rel": 0}


def swap_p(sums: Numbers, seed: int = 0) -> P:
    """The p-value of one number, and how it was had."""
    return swap_ps({"": sums}, seed)[""]


def numbers(values: list[float | None]) -> Any:
    return np.array([math.nan if value is None else value for value in values], float)


def paired(base: list[float | None], new: list[float | None], weights: Any = None, groups: Any = None) -> Paired:
    count = len(base)
    own = np.ones(count) if weights is None else np.array(weights, float)
    return Paired(
        numbers(base), numbers(new), own / own.max(), np.arange(count) if groups is None else np.array(groups)
    )


def agrees(found: MeanDifference | None, expected: dict[str, Any]) -> None:
    assert found is not None
    for name in ("cases", "groups", "changed"):
        assert getattr(found, name) == expected[name], name
    for name in ("base", "new", "difference", "se_plain", "se", "freedom", "low", "high", "sees"):
        assert getattr(found, name) == pytest.approx(expected[name], **HERE), name


@pytest.mark.parametrize(
    ("name", "scores", "weights", "groups"),
    [
        ("A_small", (A["base_scores"], A["new_scores"]), None, None),
        ("B_groups", (A["base_scores"], A["new_scores"]), None, [place // 2 for place in range(12)]),
        ("B_weights", (A["base_scores"], A["new_scores"]), WORKED["B_weights"]["weights"], None),
        ("C_none_changed", ([1.0] * 40, [1.0] * 40), None, None),
        ("C_one_changed", ([1.0] * 40, [0.0] + [1.0] * 39), None, None),
    ],
)
def test_a_dozen_cases_and_forty_by_hand(name: str, scores: Any, weights: Any, groups: Any) -> None:
    pairs = paired(*scores, weights, groups)

    agrees(difference(pairs), WORKED[name])
    assert swap_p(pairs.sums()) == (WORKED[name]["p"], "exact")


@pytest.mark.parametrize(("name", "kept", "none"), [("D_finding", 5, 218), ("D_finding_200", 6, 177)])
def test_a_finding_is_mcnemars_test(name: str, kept: int, none: int) -> None:
    expected, few = WORKED[name], WORKED["D_few"]
    fixed, broken = expected["fixed"], expected["broken"]
    base = [1.0] * (fixed + kept) + [0.0] * (broken + none)
    new = [0.0] * fixed + [1.0] * (kept + broken) + [0.0] * none
    pairs = paired(base, new)  # type: ignore[arg-type]

    agrees(difference(pairs), expected)
    assert swap_p(pairs.sums())[0] == pytest.approx(expected["p"], **HERE)
    assert binomial_p(fixed, broken) == pytest.approx(expected["p"], **HERE)
    # too few changes to show anything
    assert binomial_p(few["fixed"], few["broken"]) == pytest.approx(few["p"], **HERE)
    assert binomial_p(few["fewest_that_can_show"], 0) == pytest.approx(few["p6"], **HERE)


@pytest.mark.parametrize("name", list(SEVEN["vectors"]))
def test_seven_metrics_in_forty_groups(name: str) -> None:
    vector, expected = SEVEN["vectors"][name], SEVEN["found"][name]
    # the vectors are written with six places
    grouped = paired(vector["base"], vector["new"], groups=SEVEN["groups"])
    found, flat = difference(grouped), difference(paired(vector["base"], vector["new"]))

    agrees(found, expected["grouped"])
    assert flat is not None
    for key, value in expected["flat"].items():
        assert getattr(flat, key) == pytest.approx(value, **HERE)
    p, how = swap_p(grouped.sums())
    assert how == expected["how"]
    assert abs(p - expected["p"]) <= 4 * math.sqrt(expected["p"] * (1 - expected["p"]) / FLIPS) + 1e-9
    assert binomial_p(expected["lost"], expected["gained"]) == pytest.approx(expected["p_defined"], **HERE)


def test_repeated_trials() -> None:
    expected = WORKED["G_repeats"]
    grids = [np.array([numbers(row) for row in expected[side]]) for side in ("base_trials", "new_trials")]
    means = [mean_over_trials(grid) for grid in grids]
    one, other = (noise_variance(grid) for grid in grids)

    assert [one, other] == pytest.approx(expected["noise_variance"], **HERE)
    agrees(difference(paired(list(means[0]), list(means[1]))), expected)
    assert noise_error(np.ones(6), 6, (one, 3), (other, 3)) == pytest.approx(expected["se_noise"], **HERE)
    assert noise_error(np.ones(6), 6, (one, 3), (None, 1)) == pytest.approx(math.sqrt((one / 3 + one) / 6))  # type: ignore[operator]
    assert noise_error(np.ones(6), 6, (None, 1), (None, 1)) is None


def test_holm_wilson_mover_and_the_cases_that_are_needed() -> None:
    given = dict(enumerate(WORKED["H_holm"]["p"]))  # None: it wasn't tested
    adjusted = holm({place: p for place, p in given.items() if p is not None})
    assert [round(adjusted[at], 9) if at in adjusted else None for at in given] == WORKED["H_holm"]["adjusted"]
    budget = WORKED["H_budget"]
    assert wilson_interval(budget["share"], budget["n"]) == pytest.approx(budget["interval"], **HERE)
    corrected = WORKED["H_mover"]
    assert mover(corrected["base"], corrected["new"]) == pytest.approx(corrected["difference"], **HERE)
    needed = WORKED["H_needed"]
    assert cases_needed(needed["cases"], needed["se"], needed["margin"]) == needed["needed"]
    assert cases_needed(168, 0.02, 0) is None


def test_holm_of_the_metrics_that_were_touched_and_three_gates_that_share_the_level() -> None:
    found = SEVEN["found"]
    touched = [name for name in found if "p_holm_of_the_touched" in found[name]]

    assert holm({name: found[name]["p"] for name in touched}) == pytest.approx(
        {name: found[name]["p_holm_of_the_touched"] for name in touched}
    )
    vector, expected = SEVEN["vectors"]["groundedness"], WORKED["E_three_gates"]
    gate = difference(paired(vector["base"], vector["new"], groups=SEVEN["groups"]), level=expected["level"])
    assert gate is not None
    assert (gate.low, gate.high) == (pytest.approx(expected["low"], **HERE), pytest.approx(expected["high"], **HERE))


def test_one_group_and_no_case_have_no_interval() -> None:
    assert difference(paired([None], [1.0])) is None
    alone = difference(paired([1.0, 0.5], [0.5, 0.5], groups=[3, 3]))
    assert alone is not None
    assert (alone.difference, alone.se, alone.low) == (-0.25, None, None)


def test_all_swaps_are_counted_by_hand() -> None:
    sums = np.array([0.5, -0.25, 0.75, 0.1])
    seen = abs(sums.sum())
    hits = sum(abs(np.dot(signs, sums)) >= seen - 1e-9 for signs in product((1, -1), repeat=4))

    assert swap_p(sums) == (hits / 16, "exact")


def test_many_changed_groups_have_the_normal_limit() -> None:
    sums = np.random.default_rng(3).normal(0.01, 1, 6000)
    p, how = swap_p(sums)

    assert how == "normal"
    assert 0 < p <= 1
    assert binomial_p(2400, 2600) == pytest.approx(0.0049, abs=2e-4)


scores = st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0, math.nan])
cases = st.lists(
    st.tuples(scores, scores, st.sampled_from([1.0, 0.5, 0.2]), st.integers(0, 9)), min_size=2, max_size=60
)


def _pairs(rows: list[tuple[float, float, float, int]]) -> Paired:
    base, new, weight, group = (np.array(column) for column in zip(*rows, strict=True))
    return Paired(base, new, weight, group)


@given(cases, st.randoms())
def test_the_order_of_the_cases_makes_no_difference_and_swapping_the_sides_mirrors_everything(
    rows: list[Any], random: Any
) -> None:
    other = [*rows]
    random.shuffle(other)
    pairs, shuffled_pairs, swapped_pairs = map(_pairs, (rows, other, [(b, a, w, g) for a, b, w, g in rows]))
    one, shuffled, swapped = map(difference, (pairs, shuffled_pairs, swapped_pairs))

    assert (one is None) == (shuffled is None) == (swapped is None)
    if one and shuffled and swapped:
        for name in ("difference", "se", "low", "high", "sees"):
            assert getattr(one, name) == pytest.approx(getattr(shuffled, name), abs=1e-9)
        assert one.difference == pytest.approx(-swapped.difference, abs=1e-12)
        assert one.sees == pytest.approx(swapped.sees, abs=1e-9)
        if one.low is not None:
            assert one.low == pytest.approx(-(swapped.high or 0.0), abs=1e-9)
    assert swap_p(pairs.sums())[0] == pytest.approx(swap_p(shuffled_pairs.sums())[0], abs=1e-9)
    assert swap_p(pairs.sums())[0] == swap_p(-pairs.sums())[0]


@given(cases)
def test_no_change_is_no_difference(rows: list[Any]) -> None:
    pairs = _pairs([(a, a, w, g) for a, _, w, g in rows])
    found = difference(pairs)

    assert swap_p(pairs.sums()) == (1.0, "exact")
    if found:
        assert found.difference == 0
        assert found.changed == 0
        assert found.low is None or found.low <= 0 <= (found.high or 0.0)


def test_what_a_baseline_rounds_is_no_change() -> None:
    scores = [1 / 3, 2 / 3, 1 / 7, 5 / 7, 6 / 7]
    pairs = paired([round(score, 6) for score in scores], [*scores])
    found = difference(pairs)

    assert found is not None
    assert (found.difference, found.changed) == (0, 0)
    assert swap_p(pairs.sums()) == (1.0, "exact")


def test_several_numbers_share_a_draw_and_each_has_the_p_value_it_has_alone() -> None:
    generator = np.random.default_rng(5)
    sums = {name: generator.normal(0, 1, size) for name, size in (("short", 20), ("long", 300))}
    together = swap_ps(sums)

    for name, own in sums.items():
        assert together[name][0] == pytest.approx(swap_p(own)[0], abs=4 * 0.005)
