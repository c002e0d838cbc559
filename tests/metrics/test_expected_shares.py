"""Shares of verdicts with chances: the expected share, and the counted one where every verdict is certain."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.core.verdicts import (
    Answered,
    Cell,
    Component,
    Failure,
    Outcome,
    Score,
    Undefined,
    Verdict,
    Verdicts,
    chance_of,
    highest,
    with_chance,
)
from ragtriage.metrics.aggregate import (
    CONTRADICTED,
    UNLIKELY_TOGETHER,
    UNSUPPORTED,
    conjunction,
    negated,
    parts,
    share,
    share_of_faults,
)
from ragtriage.metrics.generator import self_consistency

Good = Literal["yes", "no"]
GOOD = st.sampled_from(["yes", "no"])
PLAIN = st.sampled_from([Verdict("yes"), Verdict("no"), Verdict("unknown")])
CHANCES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def decided(chance: float) -> Verdict:
    return with_chance(Verdict("no"), chance)


def shares(cells: Sequence[Cell], good: Good = "yes") -> tuple[Outcome, Outcome]:
    components = [Component(f"Claim {i}.") for i in range(len(cells))]
    return share(components, cells, good), share_of_faults(components, cells, good)


def values(outcomes: tuple[Outcome, Outcome]) -> list[float]:
    return [outcome.value for outcome in outcomes if isinstance(outcome, Score)]


def test_a_share_is_the_mean_of_the_chances_of_what_is_known_and_the_likeliest_of_several_decides() -> None:
    # (.9 + .8 + .6 + .3) / 4 = 2.6 / 4 = .65
    assert values(shares([decided(p) for p in (0.9, 0.8, 0.6, 0.3)])) == pytest.approx([0.65, 0.35])
    (found, _) = shares([decided(0.9), Verdict("unknown", 0.4), decided(0.4), Verdict("yes")])
    assert isinstance(found, Score)
    assert (found.judged, found.unknown) == (3, 1)
    assert found.value == pytest.approx(2.3 / 3)  # .9 + .4 + 1

    likely, measured = replace(decided(0.9), score=0.6), replace(decided(0.6), score=0.95)
    assert highest([measured, likely]) is likely
    assert highest([decided(0.9), Verdict("yes")]) == Verdict("yes")
    assert highest([Verdict("no"), decided(0.3)]) == decided(0.3)


@given(st.lists(PLAIN, min_size=1, max_size=12), GOOD)
def test_certain_chances_give_the_share_that_a_person_counts(cells: list[Verdict], good: Good) -> None:
    certain = [cell if cell.value == "unknown" else replace(cell, chance=float(cell.value == "yes")) for cell in cells]
    told = [cell.value for cell in cells if cell.value != "unknown"]

    counted = [told.count(good) / len(told), (len(told) - told.count(good)) / len(told)] if told else []
    assert values(shares(cells, good)) == values(shares(certain, good)) == counted


@given(CHANCES.flatmap(lambda chances: st.tuples(st.just(chances), st.permutations(chances))), GOOD)
def test_the_order_of_the_verdicts_changes_no_share(both: tuple[list[float], list[float]], good: Good) -> None:
    one, other = ([decided(p) for p in chances] for chances in both)

    assert values(shares(one, good)) == values(shares(other, good))


@given(CHANCES, GOOD)
def test_what_is_good_and_what_is_not_sum_to_one(chances: list[float], good: Good) -> None:
    cells = [decided(p) for p in chances]

    assert sum(values(shares(cells, good))) == pytest.approx(1.0)
    assert values(shares(cells, good)) == pytest.approx(values(shares([negated(c) for c in cells], good))[::-1])


@given(CHANCES)
def test_a_verdict_of_a_half_moves_a_share_towards_a_half(chances: list[float]) -> None:
    before, after = (values(shares([decided(p) for p in some]))[0] for some in (chances, [*chances, 0.5]))

    assert abs(after - 0.5) <= abs(before - 0.5)
    assert (after - 0.5) * (before - 0.5) >= 0


@pytest.mark.parametrize(
    ("cells", "failed"),
    [([Verdict("unknown")] * 2, False), ([None], False), ([decided(0.4), Failure("too long")], True)],
)
def test_without_a_verdict_a_share_is_undefined(cells: list[Cell], failed: bool) -> None:
    assert [isinstance(o, Undefined) and o.failed == failed for o in shares(cells)] == [True, True]


def test_the_chance_that_all_hold_is_the_product_else_the_deciding_cell_stays_as_it_was() -> None:
    both = conjunction(decided(0.9), decided(0.8))
    mixed = conjunction(Verdict("yes"), decided(0.6), decided(0.7))
    assert chance_of(both) == pytest.approx(0.72)
    assert (both.value, mixed.value) == ("yes", "no")  # type: ignore[union-attr]  # verdicts
    assert chance_of(mixed) == pytest.approx(0.42)

    yes, no = Verdict("yes", 0.9, 0.9, "because"), Verdict("no", 0.1, 0.9, sure=False)
    assert conjunction(yes, no) is no
    assert conjunction(yes, yes) is yes
    assert conjunction(decided(0.9), Failure("too long")) == Failure("too long")
    assert conjunction(decided(0.9), Verdict("unknown", 0.5)) == Verdict("unknown", 0.5)

    whole = conjunction(decided(0.6), replace(decided(0.6), explanation="it says so"))
    assert isinstance(whole, Verdict)
    assert (whole.value, whole.explanation) == ("no", UNLIKELY_TOGETHER)
    assert whole.chance == pytest.approx(0.36)


@pytest.mark.parametrize("chance", [0.0, 0.25, 0.75, 1.0])
def test_the_opposite_has_the_other_chance(chance: float) -> None:
    cell = negated(decided(chance))

    assert cell == decided(1.0 - chance)
    assert negated(Verdict("yes")) == Verdict("no")


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([decided(0.9), decided(0.8)], 0.72),
        ([decided(1.0), decided(0.9)], 0.9),
        ([decided(0.9), decided(0.0)], 0.0),
        ([Verdict("yes"), Verdict("yes")], 1.0),
        ([Verdict("yes"), Verdict("no")], 0.0),
        ([Verdict("yes"), Verdict("unknown")], 1.0),
        ([Verdict("no"), Verdict("unknown")], 0.0),
    ],
)
def test_samples_are_consistent_if_all_agree(cells: Sequence[Cell], expected: float) -> None:
    samples = Verdicts(tuple(Component(f"{i}") for i in range(len(cells))), tuple((cell,) for cell in cells))

    outcome = self_consistency.compute(samples)

    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(expected)
    good = {"yes": True, "no": False, "unknown": None}
    assert [part.good for part in outcome.parts] == [good[c.value] for c in cells if isinstance(c, Verdict)]


# -- components with their verdicts: which are good, and in which way the others are bad

ONE = (Component("It costs 5 euros."),)


@pytest.mark.parametrize(
    ("value", "sure", "contradicted", "kind"),
    [
        ("no", True, True, CONTRADICTED),
        ("no", False, True, CONTRADICTED),
        ("no", True, False, UNSUPPORTED),
        ("no", False, False, ""),
        ("unknown", True, False, ""),
        ("yes", True, False, ""),
    ],
)
def test_a_bad_component_is_contradicted_or_surely_unsupported_or_only_doubtful(
    value: Answered, sure: bool, contradicted: bool, kind: str
) -> None:
    (part,) = parts(ONE, (Verdict(value, sure=sure, contradicted=contradicted),), "yes")

    assert part.kind == kind
    assert part.good is {"yes": True, "no": False, "unknown": None}[value]


@pytest.mark.parametrize("good", ["yes", "no"])
def test_a_failure_is_neither_good_nor_of_a_kind(good: Literal["yes", "no"]) -> None:
    (part,) = parts(ONE, (Failure("too long"),), good)

    assert (part.good, part.kind) == (None, "")


def test_where_no_is_good_a_no_is_not_bad_in_any_way() -> None:
    (part,) = parts(ONE, (Verdict("no", contradicted=True),), "no")

    assert (part.good, part.kind) == (True, "")
