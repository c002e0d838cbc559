"""The budget isn't passed, whatever is granted, settled and lost, and whoever begins again; nor is it left unused."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.core.amount import Amount
from ragtriage.core.errors import ConfigError, Stopped, StoreError
from ragtriage.core.files import Folder, folder_at
from ragtriage.core.verdicts import Verdict
from ragtriage.execution.coordinator import PAUSE, Coordinator, SharedLimits, SharedMemory
from ragtriage.judges.budget import Ledger, SpendingLimits, spent_on
from ragtriage.judges.llm.admission import Reservation
from ragtriage.judges.llm.options import Reply
from ragtriage.judges.wrappers.cached import CachedAnswer, InMemory

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
        assert coordinator.spent().cost <= self.charged + 1e-6

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


def test_all_of_the_budget_can_be_spent(coordinator: Coordinator) -> None:
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


@pytest.fixture
def coordinator(tmp_path: Path) -> Coordinator:
    return Coordinator(InMemory(), folder_at(str(tmp_path)), ALL)


def test_shares_divide_the_budget_and_the_requests(tmp_path: Path) -> None:
    where, other = (folder_at(str(tmp_path / name)) for name in ("cost", "requests"))
    assert spend(where, (1, 2)).cost == 5.0
    assert spend(where, (2, 2)).cost == 5.0
    assert spend(where, (1, 2)).cost == 0.0
    assert spend(where, None).cost == 0.0
    assert spend(where, None, SpendingLimits(BUDGET + 2)).cost == 2.0
    # what a command without --share has spent is nobody's share
    assert [spend(where, (i, 3), SpendingLimits(BUDGET + 8)).cost for i in (1, 2, 3)] == [2.0, 2.0, 2.0]
    assert spent_on(where) == Amount(18.0, 18, 180, 90)
    assert [spend(other, (i, 3), SpendingLimits(max_requests=8)).requests for i in (1, 2, 3)] == [2, 3, 3]
    assert spend(other, None, SpendingLimits(max_requests=8)).requests == 8


@pytest.mark.parametrize("flag", ["rpm", "tpm", "max_requests"])
def test_a_limit_of_less_than_one_for_a_share_is_refused(flag: str) -> None:
    limits = SpendingLimits(**{flag: 15})
    limits.check((15, 15))
    limits.check(None)
    with pytest.raises(ConfigError, match="15 can't be divided among 16 shares: give 16 or more"):
        limits.check((1, 16))


def test_what_a_lost_process_said_is_told_and_what_it_may_have_spent_is_not_granted_again(
    coordinator: Coordinator, tmp_path: Path
) -> None:
    where = folder_at(str(tmp_path))
    coordinator.grant("a", Amount(), 0.0, 0.25)
    coordinator.remember("a", [], Amount(0.5, 2, 20, 10))
    coordinator.forget("a")
    assert coordinator.spent() == spent_on(where) == Amount(0.5, 2, 20, 10)
    block = coordinator.grant("b", Amount(), 0.0, BUDGET)
    assert (block.granted, block.cost) == (False, 0.0)
    assert "$0.50 spent, $3.50 may have been by processes that were lost" in block.short
    # a driver that is killed had said how much was granted
    coordinator.grant("b", Amount(), 0.0, 1.0)
    after = Coordinator(InMemory(), where, ALL).grant("a", Amount(), 0.0, 0.01)
    assert (after.granted, after.cost) == (False, 0.0)
    assert spent_on(where) == Amount(0.5, 2, 20, 10)
    (tmp_path / "spent.json").write_text('{"spent": {"cost"')
    with pytest.raises(StoreError, match=r"spent\.json is damaged"):
        Coordinator(InMemory(), where, ALL)


def started(share: tuple[int, int] | None, processes: int, tmp_path: Path, **limits: int) -> list[float]:
    """When requests of 50 tokens are started by processes that would send one every second, for ten minutes."""
    now, found = [0.0], []
    coordinator = Coordinator(
        InMemory(), folder_at(str(tmp_path)), SpendingLimits(**limits), share, clock=lambda: now[0]
    )
    all_limits = [SharedLimits(coordinator.call, f"{i}", "m", pytest.fail) for i in range(processes)]
    for _ in range(600):
        for one in all_limits:
            if isinstance(begun := one.start(0.0, 50), Reservation):
                one.correct(begun, 50)
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
    shared = Coordinator(InMemory(), folder_at(str(tmp_path)), SpendingLimits(rpm=1), clock=lambda: 0.0)
    one, same, other = (SharedLimits(shared.call, "a", model, pytest.fail) for model in ("m", "m", "n"))
    assert [isinstance(limits.start(0.0, 10), Reservation) for limits in (one, same, other)] == [True, False, True]


def test_a_question_is_asked_by_one_process_until_that_is_lost(coordinator: Coordinator) -> None:
    one, other = SharedMemory(coordinator.call, "one"), SharedMemory(coordinator.call, "other")

    assert list(one.claim([b"a", b"b"])) == [b"a", b"b"]
    assert list(other.claim([b"a", b"c"])) == [b"c"]
    one.remember([CachedAnswer(b"a", "supported", "f", Verdict("yes"))])
    assert other.recall([b"a", b"b"]) == {b"a": Verdict("yes")}
    assert list(other.claim([b"b"])) == []
    coordinator.forget("one")
    assert list(other.claim([b"b"])) == [b"b"]


def process(
    call: Callable[..., Any], who: str, sleep: Callable[[float], None] = pytest.fail, limits: SpendingLimits = ALL
) -> Ledger:
    """The ledger of a process that has begun a part; it mustn't wait unless that is said."""
    ledger = Ledger(budget=limits.budget, max_requests=limits.max_requests, call=call, who=who, sleep=sleep)
    ledger.begin_part()
    return ledger


def sent(ledger: Ledger, most: float, cost: float) -> bool:
    """Send a request that may cost so much and costs so much; whether it could start."""
    if not ledger.admits(most):
        return False
    ledger.begin(most)
    ledger.end(most, Reply("yes", 10, 5, price=cost))
    return True


def test_one_process_spends_the_budget_request_by_request(coordinator: Coordinator, tmp_path: Path) -> None:
    ledger = process(coordinator.call, "a")
    while sent(ledger, 1.0, 0.25):
        assert ledger.cost <= 9.25
    assert ledger.cost == 9.25
    assert ledger.stopped is not None
    assert ledger.stopped.startswith("stopped before the budget of $10")
    assert ledger.end_part() == spent_on(folder_at(str(tmp_path))) == Amount(9.25, 37, 370, 185)
    # the next part isn't begun with more
    ledger.begin_part()
    assert not sent(ledger, 1.0, 0.25)
    assert ledger.end_part() == Amount()


def test_a_process_without_money_waits_in_place_for_what_another_gives_back(coordinator: Coordinator) -> None:
    rich = process(coordinator.call, "a")
    assert sent(rich, 1.0, 2.0)
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            rich.end_part()

    poor = process(coordinator.call, "b", sleep)
    assert sent(poor, 1.0, 0.25)
    assert waited == [PAUSE] * 3
    assert poor.budget == 10.0 - 2.0
    # its own requests under way aren't waited for in place
    assert poor.admits(6.0)
    poor.begin(6.0)
    assert not poor.admits(6.0)
    assert poor.stopped is None
    poor.end(6.0, Reply("yes", 10, 5, price=1.0))
    assert poor.admits(6.0)
    assert len(waited) == 3


def test_who_waits_for_the_answer_of_another_process_gives_back_what_that_one_needs(coordinator: Coordinator) -> None:
    waiting = process(coordinator.call, "a")
    assert sent(waiting, 1.0, 1.0)
    assert not coordinator.grant("b", Amount(), 0.0, 1.0).granted
    waiting.wait()
    assert coordinator.grant("b", Amount(), 0.0, 1.0).granted
    coordinator.settle("b", Amount(3.0, 1))
    assert sent(waiting, 1.0, 1.0)
    assert waiting.cost == 2.0


def test_requests_are_limited_for_all_processes(tmp_path: Path) -> None:
    limits = SpendingLimits(max_requests=25)
    shared = Coordinator(InMemory(), folder_at(str(tmp_path)), limits)
    one, other = (process(shared.call, who, limits=limits) for who in "ab")
    assert [sent(one, 0.0, 0.1) for _ in range(16)] == [True] * 16
    assert [sent(other, 0.0, 0.1) for _ in range(9)] == [True] * 9
    other.end_part()
    assert not sent(one, 0.0, 0.1)
    assert one.stopped == "stopped after 25 requests, as --max-requests says; give the same command to go on"
    assert not sent(other, 0.0, 0.1)


def test_a_coordinator_that_can_not_be_asked_stops_the_process_and_is_told(coordinator: Coordinator) -> None:
    def broken(*_: Any) -> Any:
        raise StoreError("the disk is full")

    ledger = process(broken, "a")
    assert not ledger.admits(1.0)
    assert isinstance(ledger.error, StoreError)
    with pytest.raises(Stopped, match="the disk is full"):
        ledger.wait()

    ledger = process(coordinator.call, "b")
    assert SharedLimits(broken, "b", "m", ledger.fail).start(0.0, 10) == PAUSE
    assert not ledger.admits(1.0)
    assert isinstance(ledger.error, StoreError)
