"""What the ledger counts, and when it lets nobody start any more."""

import pytest

from ragtriage.core.display import dollars
from ragtriage.core.errors import Stopped
from ragtriage.judges.budget import Ledger
from ragtriage.judges.llm.options import Reply


def paid(ledger, price, reserved=1.0):
    ledger.begin(reserved)
    ledger.end(reserved, Reply("yes", 100, 10, price))


def test_replies_are_counted_with_their_tokens_and_price_and_one_without_a_price_as_the_most_it_may_have_cost():
    ledger = Ledger()
    for price in (0.25, 0.5, None):
        paid(ledger, price, reserved=0.75)
    assert (ledger.requests, ledger.failed_requests, ledger.tokens_in, ledger.tokens_out) == (3, 0, 300, 30)
    assert ledger.cost == 1.5


def test_a_request_without_a_reply_costs_nothing_and_one_that_was_never_sent_is_not_counted():
    ledger = Ledger(budget=1.0, max_requests=2)
    ledger.begin(1.0)
    ledger.end(1.0, None)
    assert (ledger.requests, ledger.failed_requests, ledger.cost, ledger.in_flight) == (1, 1, 0, 0)
    ledger.begin(1.0)
    ledger.withdraw(1.0)
    assert (ledger.requests, ledger.failed_requests, ledger.in_flight) == (1, 1, 0)
    assert ledger.admits(1.0)


def test_what_is_in_flight_counts_with_the_most_that_it_may_cost():
    ledger = Ledger(budget=1.0)
    ledger.begin(0.6)
    assert ledger.admits(0.4)
    assert not ledger.admits(0.5)
    assert ledger.stopped is None  # it may turn out cheaper
    ledger.end(0.6, Reply("yes", price=0.1))
    assert ledger.admits(0.5)


def test_nothing_fits_any_more():
    ledger = Ledger(budget=2.5)
    paid(ledger, 2.41)
    assert not ledger.admits(0.12)
    assert ledger.stopped == (
        "stopped before the budget of $2.50 was passed: $2.41 spent on 1 requests, and the next request may cost "
        "$0.12; give the same command with a larger --budget to go on"
    )
    assert not ledger.admits(0.0)


def test_what_was_spent_before_counts_towards_the_budget_only():
    ledger = Ledger(budget=1.0, spent_before=0.8)
    paid(ledger, 0.1)
    assert ledger.cost == 0.1
    assert not ledger.admits(0.2)
    assert "$0.90 spent, $0.80 of it before this command" in ledger.stopped


def test_a_budget_that_is_met_exactly_is_not_passed():
    ledger = Ledger(budget=0.3)
    for _ in range(3):
        assert ledger.admits(0.1)  # three times 0.1 is a little more than 0.3 here
        paid(ledger, 0.1, reserved=0.1)
    assert not ledger.admits(0.1)


def test_the_most_requests_are_exact_and_repeated_ones_count():
    ledger = Ledger(max_requests=2)
    for _ in range(2):
        assert ledger.admits(0.0)
        ledger.begin(0.0)
    assert not ledger.admits(0.0)
    assert ledger.stopped == "stopped after 2 requests, as --max-requests says; give the same command to go on"


def test_the_first_reason_to_stop_stays_and_is_told_once():
    ledger, heard = Ledger(), []
    ledger.watch(lambda: heard.append(ledger.stopped))
    ledger.stop("enough")
    ledger.stop("more than enough")
    assert ledger.stopped == "enough"
    assert heard == ["enough"]


def test_who_waits_for_the_answer_of_another_is_told_and_hears_that_all_is_stopped():
    ledger, told = Ledger(), []
    ledger.wait()  # nobody wants to know
    ledger.on_wait = lambda: told.append("waiting")
    ledger.wait()
    assert told == ["waiting"]
    ledger.stop("enough")
    with pytest.raises(Stopped, match="enough"):
        ledger.wait()


def test_amounts_are_shown_to_the_cent_and_small_ones_more_exactly():
    assert [dollars(amount) for amount in (0, 2.5, 0.1, 0.05, 0.0123, 1e-9, 1234)] == [
        "$0.00", "$2.50", "$0.10", "$0.05", "$0.0123", "$0", "$1234.00",
    ]  # fmt: skip
