"""What a process spends: no more than it is granted, with waiting in place for what others give back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragtriage.core.amount import Amount
from ragtriage.core.errors import Stopped, StoreError
from ragtriage.core.files import folder_at
from ragtriage.execution.coordinator import PAUSE, Coordinator, SharedLimits
from ragtriage.judges.budget import Ledger, SpendingLimits, spent_on
from ragtriage.judges.llm.options import Reply
from ragtriage.judges.wrappers import InMemory

LIMITS = SpendingLimits(budget=10.0)


@pytest.fixture
def coordinator(tmp_path: Path) -> Coordinator:
    return Coordinator(InMemory(), folder_at(str(tmp_path)), LIMITS)


def process(
    call: Callable[..., Any], who: str, sleep: Callable[[float], None] = pytest.fail, limits: SpendingLimits = LIMITS
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


def test_requests_under_way_are_not_waited_for_in_place(coordinator: Coordinator) -> None:
    ledger = process(coordinator.call, "a")
    assert ledger.admits(6.0)
    ledger.begin(6.0)
    assert not ledger.admits(6.0)
    assert ledger.stopped is None
    ledger.end(6.0, Reply("yes", 10, 5, price=1.0))
    assert ledger.admits(6.0)


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
    coordinator = Coordinator(InMemory(), folder_at(str(tmp_path)), limits)
    one = process(coordinator.call, "a", limits=limits)
    other = process(coordinator.call, "b", limits=limits)
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
    assert SharedLimits(broken, "b", "m", ledger.fail).wait(0.0, 10) > 0
    assert not ledger.admits(1.0)
    assert isinstance(ledger.error, StoreError)
