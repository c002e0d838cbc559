"""The budget isn't passed, whatever is granted, settled and lost, and whoever begins again; nor is it left unused."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.core.amount import Amount
from ragtriage.core.errors import ConfigError, StoreError
from ragtriage.core.files import Folder, folder_at
from ragtriage.core.verdicts import Verdict
from ragtriage.execution.coordinator import Coordinator, SharedLimits, SharedMemory
from ragtriage.judges.budget import SpendingLimits, spent_on
from ragtriage.judges.wrappers import CachedAnswer, InMemory

BUDGET = 10.0
ALL = SpendingLimits(BUDGET)
Share = tuple[int, int] | None
STEP = st.tuples(
    st.sampled_from(["request", "reply", "settle", "lose", "killed"]),
    st.sampled_from([None, (1, 2), (2, 2)]),
    st.integers(0, 2),
    st.floats(0.01, 2),
    st.floats(0, 1),
)


@dataclass
class Asking:
    """A process that keeps to what it is granted."""

    name: str
    share: Share
    spent: Amount = field(default_factory=Amount)
    may: float = 0.0
    in_flight: list[float] = field(default_factory=list)


@dataclass
class World:
    """Commands on one run and their processes; what the model's owner charges for."""

    folder: Folder
    coordinators: dict[Share, Coordinator] = field(default_factory=dict)
    asking: dict[tuple[Share, int], Asking] = field(default_factory=dict)
    charged: float = 0.0
    names: count[int] = field(default_factory=count)

    def step(self, what: str, share: Share, i: int, price: float, part: float) -> None:
        """One thing happens."""
        if any((share is None) != (other is None) for other in self.coordinators):
            return  # a command without --share isn't let in beside one with it
        coordinator = self.coordinators.setdefault(
            share, Coordinator(InMemory(), self.folder, SpendingLimits(BUDGET), share)
        )
        own = self.asking.setdefault((share, i), Asking(f"process {next(self.names)}", share))
        if what == "request":
            self.request(coordinator, own, price)
        elif what == "reply" and own.in_flight:
            cost = own.in_flight.pop() * part
            own.spent += Amount(cost, 1)
            self.charged += cost
            coordinator.remember(own.name, [], own.spent)
        elif what == "settle" and not own.in_flight:
            coordinator.settle(own.name, own.spent)
            own.may = own.spent.cost
        elif what == "lose":
            coordinator.forget(own.name)
            self.charged += sum(own.in_flight)
            del self.asking[share, i]
        assert self.charged + sum(one.may - one.spent.cost for one in self.asking.values()) <= BUDGET + 1e-6
        assert coordinator.told().cost <= self.charged + 1e-6

    def request(self, coordinator: Coordinator, own: Asking, price: float) -> None:
        """A process starts one, if it may."""
        needed = sum(own.in_flight) + price
        if own.spent.cost + needed > own.may:
            block = coordinator.grant(own.name, own.spent, sum(own.in_flight), price)
            assert block.cost is not None
            own.may = block.cost
            assert block.granted == (own.spent.cost + needed <= own.may + 1e-6)
            others = [one for one in self.asking.values() if one.share == own.share and one is not own]
            if block.short:
                assert not block.granted
                assert all(one.may <= one.spent.cost + 1e-6 for one in others)
            if not block.granted:
                return
        own.in_flight.append(price)

    def killed(self) -> None:
        """All drivers are killed, and their processes with them."""
        self.charged += sum(sum(one.in_flight) for one in self.asking.values())
        self.coordinators.clear()
        self.asking.clear()


@given(st.lists(STEP, max_size=60))
def test_what_is_spent_and_what_may_be_spent_never_pass_the_budget(
    steps: list[tuple[str, Share, int, float, float]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder_at(folder))
        for what, *more in steps:
            if what == "killed":
                world.killed()
            else:
                world.step(what, *more)


def test_all_of_the_budget_can_be_spent(tmp_path: Path) -> None:
    coordinator = Coordinator(InMemory(), folder_at(str(tmp_path)), SpendingLimits(BUDGET))
    spent = [0.0, 0.0]
    while True:
        blocks = [coordinator.grant(f"{i}", Amount(spent[i]), 0.0, 0.3) for i in (0, 1)]
        if not any(block.granted for block in blocks):
            break
        for i, block in enumerate(blocks):
            spent[i] += 0.1 if block.granted else 0.0
    # a request may cost three times what it does cost
    assert BUDGET - 0.3 <= sum(spent) <= BUDGET
    assert blocks[-1].short


def test_who_needs_more_waits_as_long_as_others_hold_it(tmp_path: Path) -> None:
    coordinator = Coordinator(InMemory(), folder_at(str(tmp_path)), SpendingLimits(BUDGET, 20))
    first = coordinator.grant("a", Amount(), 0.0, 8.0)
    assert (first.cost, first.requests, first.granted, first.short) == (10.0, 16, True, "")
    second = coordinator.grant("b", Amount(), 0.0, 3.0)
    assert (second.cost, second.requests, second.granted, second.short) == (0.0, 0, False, "")
    coordinator.settle("a", Amount(1.0, 16))
    second = coordinator.grant("b", Amount(), 0.0, 3.0)
    assert (second.cost, second.requests, second.granted) == (9.0, 4, True)
    # what is under way stays with it, the rest is given back
    again = coordinator.grant("b", Amount(2.0, 1), 1.0, 7.0)
    assert (again.cost, again.granted) == (3.0, False)
    last = coordinator.grant("b", Amount(3.0, 1), 0.0, 7.0)
    assert not last.granted
    assert last.short.startswith("stopped before the budget of $10")
    assert "$4.00 spent, and the next request may cost $7" in last.short
    coordinator.settle("b", Amount(3.0, 4))
    third = coordinator.grant("a", Amount(1.0, 16), 0.0, 1.0)
    assert third.short.startswith("stopped after 20 requests, as --max-requests says")


def spend(folder: Folder, share: tuple[int, int] | None, limits: SpendingLimits = ALL) -> Amount:
    """Spend all that a command may, a dollar a request."""
    coordinator, spent = Coordinator(InMemory(), folder, limits, share), Amount()
    while coordinator.grant("one", spent, 0.0, 1.0).granted:
        spent += Amount(1.0, 1, 10, 5)
    coordinator.settle("one", spent)
    return spent


def test_shares_divide_the_budget_and_the_requests(tmp_path: Path) -> None:
    where = folder_at(str(tmp_path))
    assert spend(where, (1, 2)).cost == 5.0
    assert spend(where, (2, 2)).cost == 5.0
    assert spend(where, (1, 2)).cost == 0.0
    assert spend(where, None).cost == 0.0
    assert spend(where, None, SpendingLimits(BUDGET + 2)).cost == 2.0
    # what a command without --share has spent is nobody's share
    assert [spend(where, (i, 3), SpendingLimits(BUDGET + 8)).cost for i in (1, 2, 3)] == [2.0, 2.0, 2.0]
    assert spent_on(where) == Amount(18.0, 18, 180, 90)


def test_requests_are_divided_to_the_last(tmp_path: Path) -> None:
    where = folder_at(str(tmp_path))
    assert [spend(where, (i, 3), SpendingLimits(max_requests=8)).requests for i in (1, 2, 3)] == [2, 3, 3]
    assert spend(where, None, SpendingLimits(max_requests=8)).requests == 8


@pytest.mark.parametrize("flag", ["rpm", "tpm", "max_requests"])
def test_a_limit_of_less_than_one_for_a_share_is_refused(flag: str) -> None:
    limits = SpendingLimits(**{flag: 15})
    limits.check((15, 15))
    limits.check(None)
    with pytest.raises(ConfigError, match="15 can't be divided among 16 shares: give 16 or more"):
        limits.check((1, 16))


def test_what_a_lost_process_said_is_told_and_what_it_may_have_spent_is_not_granted_again(tmp_path: Path) -> None:
    where = folder_at(str(tmp_path))
    coordinator = Coordinator(InMemory(), where, SpendingLimits(BUDGET))
    coordinator.grant("a", Amount(), 0.0, 0.25)
    coordinator.remember("a", [], Amount(0.5, 2, 20, 10))
    coordinator.forget("a")
    assert coordinator.told() == spent_on(where) == Amount(0.5, 2, 20, 10)
    block = coordinator.grant("b", Amount(), 0.0, BUDGET)
    assert (block.granted, block.cost) == (False, 0.0)
    assert "$0.50 spent, $3.50 may have been by processes that were lost" in block.short
    # a driver that is killed had said how much was granted
    coordinator.grant("b", Amount(), 0.0, 1.0)
    after = Coordinator(InMemory(), where, SpendingLimits(BUDGET)).grant("a", Amount(), 0.0, 0.01)
    assert (after.granted, after.cost) == (False, 0.0)
    assert spent_on(where) == Amount(0.5, 2, 20, 10)


def test_a_damaged_file_of_what_was_spent_is_named(tmp_path: Path) -> None:
    (tmp_path / "spent.json").write_text('{"spent": {"cost"')
    with pytest.raises(StoreError, match=r"spent\.json is damaged"):
        Coordinator(InMemory(), folder_at(str(tmp_path)), SpendingLimits(BUDGET))


def started(share: tuple[int, int] | None, processes: int, tmp_path: Path, **limits: int) -> list[float]:
    """When requests of 50 tokens are started by processes that would send one every second, for ten minutes."""
    now, found = [0.0], []
    coordinator = Coordinator(
        InMemory(), folder_at(str(tmp_path)), SpendingLimits(**limits), share, clock=lambda: now[0]
    )
    all_limits = [SharedLimits(coordinator.call, f"{i}", "m", pytest.fail) for i in range(processes)]
    for _ in range(600):
        for one in all_limits:
            if one.wait(0.0, 50) <= 0:
                one.correct(one.start(0.0, 50), 50)
                found.append(now[0])
        now[0] += 1.0
    return found


@pytest.mark.parametrize(
    ("limits", "share", "most"),
    [
        ({"rpm": 2}, None, 2),
        ({"rpm": 7}, None, 7),
        ({"rpm": 60}, (3, 4), 15),
        ({"tpm": 200}, None, 4),
        ({"tpm": 400}, (1, 2), 4),
        ({"rpm": 100, "tpm": 100}, None, 2),
    ],
)
def test_processes_keep_the_limits_a_minute_together(
    limits: dict[str, int], share: tuple[int, int] | None, most: int, tmp_path: Path
) -> None:
    times = started(share, 4, tmp_path, **limits)

    assert all(sum(start <= other < start + 60 for other in times) <= most for start in times)
    assert len(times) >= 10 * most - 1


def test_each_model_has_its_own_limits_a_minute(tmp_path: Path) -> None:
    coordinator = Coordinator(InMemory(), folder_at(str(tmp_path)), SpendingLimits(rpm=1), clock=lambda: 0.0)
    one, same, other = (SharedLimits(coordinator.call, "a", model, pytest.fail) for model in ("m", "m", "n"))
    assert [limits.wait(0.0, 10) <= 0 for limits in (one, same, other)] == [True, False, True]


def test_a_question_is_asked_by_one_process_until_that_is_lost(tmp_path: Path) -> None:
    coordinator = Coordinator(InMemory(), folder_at(str(tmp_path)))
    one, other = SharedMemory(coordinator.call, "one"), SharedMemory(coordinator.call, "other")

    assert list(one.claim([b"a", b"b"])) == [b"a", b"b"]
    assert list(other.claim([b"a", b"c"])) == [b"c"]
    one.remember([CachedAnswer(b"a", "supported", "f", Verdict("yes"))])
    assert other.recall([b"a", b"b"]) == {b"a": Verdict("yes")}
    assert list(other.claim([b"b"])) == []
    coordinator.forget("one")
    assert list(other.claim([b"b"])) == [b"b"]
