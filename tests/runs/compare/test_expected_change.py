"""Expected numbers of cases on two sides: their difference with its interval, and the gates on them."""

import random
from collections.abc import Sequence
from math import hypot, sqrt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compared_runs import made_side
from ragtriage.core.errors import ConfigError
from ragtriage.core.statistics import Z
from ragtriage.diagnosis.rules import RULES
from ragtriage.report.comparison_document import comparison_document
from ragtriage.report.comparison_files import comparison_json, comparison_junit, comparison_markdown
from ragtriage.report.comparison_words import expected_text
from ragtriage.report.document import DocumentTable
from ragtriage.runs.compare.baseline import BaselineOptions, read_baseline, write_baseline
from ragtriage.runs.compare.case_table import FoundColumns
from ragtriage.runs.compare.compare import CompareOptions, compare
from ragtriage.runs.compare.comparison import Comparison, ExpectedChange, GateResult
from ragtriage.runs.compare.gates import CompareGates, share_limits
from ragtriage.runs.compare.matched import match
from ragtriage.runs.compare.rows import expected_change, expected_of
from ragtriage.runs.compare.sides import Side, pair_up
from ragtriage.runs.compare.statistics import Paired, difference
from ragtriage.runs.metric_tally import BETWEEN_DOMAINS, ExpectedCount

RULE = "unsupported_claims"
PROBABILITIES = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=12)


def side(number: int, likely: Sequence[float], same: Sequence[int] = (), rule: str = RULE) -> Side:
    """A side whose cases have a rule with these probabilities; it is shown from .5 on.

    Args:
        number: its run's.
        likely: by case.
        same: the places of cases whose response is that of every side.
        rule: its name.
    """
    p = np.array(likely, float)
    found = FoundColumns(
        {rule: (p >= 0.5) * 1.0}, {rule: (p >= 0.9) * 1.0}, ["none"] * len(p), ["none"] * len(p), {rule: p}
    )
    response = ["same" if place in same else f"{number}" for place in range(len(p))]
    return made_side({"groundedness": list(1 - p)}, number=number, found=found, texts={"response": response})


def compared(base: Side, new: Side, *limits: str, cant_tell: bool = False) -> Comparison:
    gates = CompareGates({}, {}, (), share_limits(limits), cant_tell)
    return compare(base, new, RULES, CompareOptions(gates=gates))


def change(base: Sequence[float], new: Sequence[float], same: Sequence[int] = ()) -> ExpectedChange:
    (row,) = compared(side(1, base, same), side(2, new, same)).findings
    assert row.expected is not None
    return row.expected


def gate(likely: Sequence[float], limit: str, *, cant_tell: bool = False) -> GateResult:
    (found,) = compared(side(1, likely), side(2, likely), limit, cant_tell=cant_tell).gates
    return found


def test_the_difference_is_the_sum_over_pairs_beside_what_is_shown() -> None:
    base, new = [0.9, 0.6, 0.4, 0.3] * 10, [0.9, 0.4, 0.2, 0.1] * 10
    (row,) = compared(side(1, base), side(2, new)).findings

    assert (row.base, row.new) == (20, 10)
    assert row.expected is not None
    assert (row.expected.base, row.expected.new) == (expected_of(np.array(base)), expected_of(np.array(new)))
    assert row.expected.difference == pytest.approx(16 - 22)


def test_the_interval_holds_the_choice_of_cases_the_doubts_and_what_is_left_of_a_shift() -> None:
    base, new = np.array([0.5, 0.5, 0.2, 0.2]), np.array([0.5, 0.1, 0.2, 0.4])
    found = change(base, new, same=[0, 2])

    n = len(base)
    cases = difference(Paired(base, new, np.ones(n), np.arange(n)))
    assert cases is not None
    assert cases.low is not None
    doubt = 0.25 + 0.16 + 0.09 + 0.24  # of the two pairs that changed, both sides
    shift = BETWEEN_DOMAINS * ((0.25 + 0.09 + 0.16 + 0.24) - (0.25 + 0.25 + 0.16 + 0.16))
    down = hypot(n * (cases.low - cases.difference), Z * sqrt(doubt), Z * shift)
    assert found.low == pytest.approx(max(-n, -0.2 - down))
    assert found.high is not None
    assert -4 <= (found.low or 0) < -0.2 < found.high <= 4


def test_without_a_change_there_is_no_interval() -> None:
    found = change([0.9, 0.4], [0.9, 0.4], same=[0, 1])

    assert (found.difference, found.low, found.high) == (0, None, None)
    assert expected_text(found) == "1 → 1"


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=8))
def test_probabilities_of_0_and_1_say_no_more_than_the_count(likely: list[float]) -> None:
    found = compared(side(1, [*likely, 1.0]), side(2, [*likely[::-1], 1.0]))

    assert [(row.base, row.new, row.expected) for row in found.findings] == [(sum(likely) + 1,) * 2 + (None,)]


@given(PROBABILITIES, st.randoms())
def test_the_order_of_the_cases_does_not_matter_and_swapped_sides_are_mirrored(
    pairs: list[tuple[float, float]], chance: random.Random
) -> None:
    def sides(some: list[tuple[float, float]]) -> tuple[list[float], list[float]]:
        return [0.9, *(base for base, _ in some)], [0.7, *(new for _, new in some)]

    base, new = sides(pairs)
    there, swapped = change(base, new), change(new, base)
    chance.shuffle(pairs)
    back = change(*sides(pairs))

    assert (there.difference, there.low, there.high) == pytest.approx((back.difference, back.low, back.high))
    assert (there.low, there.high) == pytest.approx((-(swapped.high or 0), -(swapped.low or 0)))


def test_the_interval_holds_the_true_difference() -> None:
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(200):
        base = rng.beta(0.6, 2, 80)
        new = np.where(rng.random(80) < 0.6, rng.beta(0.5, 3, 80), base)
        same = np.flatnonzero(new == base)
        theirs, mine = side(1, base, same.tolist()), side(2, new, same.tolist())
        found = expected_change(match(theirs, mine, pair_up(theirs.table, mine.table), None)[0], RULE)
        assert found is not None
        had, has = rng.random(80) < base, rng.random(80) < new
        has[same] = had[same]
        inside += (found.low or 0) <= int(has.sum()) - int(had.sum()) <= (found.high or 0)

    assert inside >= 190


def test_a_finding_that_is_only_suspected_has_a_row() -> None:
    (row,) = compared(side(1, [0.3] * 60), side(2, [0.2] * 60)).findings

    assert (row.base, row.new, row.p) == (0, 0, None)
    assert expected_text(row.expected).startswith("18 → 12 (−")
    assert compared(side(1, [0.01] * 10), side(2, [0.01] * 10)).findings == ()


def test_a_doubt_is_not_expected_of_a_case() -> None:
    (row,) = compared(side(1, [0.6, 0.4], rule="contradiction"), side(2, [0.6, 0.3], rule="contradiction")).findings

    assert row.expected is None
    with pytest.raises(ConfigError, match="a doubt is about the judge"):
        CompareGates({}, {}, (), share_limits(["contradiction:expected=1%"])).check((), RULES)


@pytest.mark.parametrize(
    ("limit", "outcome", "says"),
    [
        ("2%", "fails", "and all of that interval lies above it"),
        ("25%", "can't tell", "can't tell whether too many have unsupported_claims: 30.0% of 40 cases are expected"),
        ("35%", "passes", "which lies in that interval"),
        ("90%", "passes", "at most 90.0% was asked for"),
    ],
)
def test_a_gate_fails_only_where_the_run_lies_surely_above_or_on_request_where_nobody_can_tell(
    limit: str, outcome: str, says: str
) -> None:
    found, strict = (gate([0.3] * 40, f"{RULE}:expected={limit}", cant_tell=one) for one in (False, True))
    number = ExpectedCount.of(12, 40 * 0.3 * 0.7, 40)

    assert (found.outcome, found.failed, strict.failed) == (outcome, outcome == "fails", outcome != "passes")
    assert says in found.says
    assert f"about 12 (95 % interval {number.low:.0f} to {number.high:.0f}, " in found.says
    assert (found.value, found.low, found.high) == pytest.approx((0.3, number.low / 40, number.high / 40))


def test_shown_sure_and_expected_are_gates_apart_and_certain_cases_gate_as_their_count_does() -> None:
    limits = share_limits([f"{RULE}:expected=0.2"], {RULE: 0.02, f"{RULE}:sure": 0.01, f"{RULE}:expected": 0.15})

    assert [(one.counts, one.share) for one in limits] == [("shown", 0.02), ("sure", 0.01), ("expected", 0.2)]
    likely = [0.95, 0.6] + [0.2] * 18
    found = compared(side(1, likely), side(2, likely), f"{RULE}=10%", f"{RULE}:sure=4%", f"{RULE}:expected=30%").gates
    assert [round(one.value or 0, 4) for one in found] == [0.1, 0.05, 0.2575]
    assert [one.outcome for one in found] == ["passes", "fails", "passes"]
    certain = [1.0] * 4 + [0.0] * 16
    assert gate(certain, f"{RULE}:expected=20%").outcome == "passes"
    failing = gate(certain, f"{RULE}:expected=19%")
    assert (failing.outcome, failing.value, failing.low, failing.high) == ("fails", 0.2, 0.2, 0.2)


def test_every_form_shows_what_is_expected() -> None:
    found = compared(side(1, [0.6] * 40), side(2, [0.3] * 40), f"{RULE}:expected=2%")
    told, said = expected_text(found.findings[0].expected), found.gates[0].says
    tables = [block for block in comparison_document(found) if isinstance(block, DocumentTable)]

    assert any(told in row for table in tables for row in table.rows)
    assert told in comparison_markdown(found)
    assert "too many unsupported_claims expected" in comparison_markdown(found)
    assert f'message="{said}"' in comparison_junit(found)
    assert comparison_json(found)["findings"][RULE]["expected"]["new"]["value"] == pytest.approx(12)
    assert comparison_json(found)["gates"][0]["expected"] is True


def test_a_baseline_file_holds_what_is_likely(tmp_path: Path) -> None:
    likely, path = [0.95, 0.6, 0.345, 0.02, 0.0], tmp_path / "base.json"
    write_baseline(path, side(1, likely), BaselineOptions())
    base = read_baseline(path)

    assert base.table.found is not None
    assert base.table.found.likely[RULE] == pytest.approx(likely)
    (row,) = compared(base, side(2, [0.5] * 5)).findings
    assert row.expected is not None
    assert row.expected.base.value == pytest.approx(sum(likely))
