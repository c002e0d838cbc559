"""The budget isn't passed, whatever is granted, settled and lost, and whoever begins again."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ragtriage.core.verdicts import Verdict
from ragtriage.judges.wrappers import CachedAnswer, InMemory
from ragtriage.scale.desk import Amount, Desk, DeskMemory
from ragtriage.scale.places import folder_at

BUDGET = 10.0
STEP = st.tuples(
    st.sampled_from(["grant", "settle", "lose", "again"]), st.integers(0, 3), st.floats(0, 6), st.floats(0, 1)
)


@given(st.lists(STEP, max_size=40))
def test_what_is_spent_and_what_may_be_spent_never_pass_the_budget(steps: list[tuple[str, int, float, float]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        where = folder_at(folder)
        desk = Desk(InMemory(), where, budget=BUDGET)
        held: dict[str, float] = {}
        spent = 0.0
        for what, number, amount, share in steps:
            who = f"process {number}"
            if what == "grant" and who not in held:
                block = desk.grant(who, Amount(cost=amount))
                if block is not None:
                    assert block.cost is not None
                    assert bool(block.short) == (block.cost + 1e-9 < amount)
                    held[who] = block.cost
            elif what == "settle" and who in held:
                spent += (own := held.pop(who) * share)
                desk.settle(who, Amount(cost=own, requests=1))
            elif what == "lose" and who in held:
                desk.forget(who)
                spent += held.pop(who)
            elif what == "again":  # the driver was killed: what was out counts as spent
                desk = Desk(InMemory(), where, budget=BUDGET)
                spent += sum(held.values())
                held.clear()
            assert spent + sum(held.values()) <= BUDGET + 1e-6
            assert abs(desk.told().cost - spent) < 1e-6


def test_a_block_is_waited_for_as_long_as_others_hold_one(tmp_path: Path) -> None:
    desk = Desk(InMemory(), folder_at(str(tmp_path)), budget=BUDGET, max_requests=10)
    first = desk.grant("a", Amount(8.0, 2))
    assert first is not None
    assert (first.cost, first.requests, first.short) == (8.0, 2, "")
    assert desk.grant("b", Amount(3.0, 2)) is None
    desk.settle("a", Amount(1.0, 2))
    second = desk.grant("b", Amount(30.0, 2))
    assert second is not None
    assert second.cost == 9.0
    assert second.short.startswith("stopped before the budget of $10")
    desk.settle("b", Amount(0.0, 0))
    third = desk.grant("a", Amount(1.0, 20))
    assert third is not None
    assert (third.requests, third.short[:24]) == (8, "stopped after 10 request")


def test_a_question_is_asked_by_one_process_until_that_is_lost(tmp_path: Path) -> None:
    desk = Desk(InMemory(), folder_at(str(tmp_path)))
    one, other = DeskMemory(desk.call, "one"), DeskMemory(desk.call, "other")

    assert list(one.claim([b"a", b"b"])) == [b"a", b"b"]
    assert list(other.claim([b"a", b"c"])) == [b"c"]
    one.remember([CachedAnswer(b"a", "supported", "f", Verdict("yes"))])
    assert other.recall([b"a", b"b"]) == {b"a": Verdict("yes")}
    assert list(other.claim([b"b"])) == []
    desk.forget("one")
    assert list(other.claim([b"b"])) == [b"b"]
