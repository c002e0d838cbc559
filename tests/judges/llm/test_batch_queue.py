"""Requests by a batch API: submitted by one command, collected by another, paid for once."""

import asyncio
import json
import re

import pytest
from queued import (
    NAME,
    PRICE,
    SCHEMA,
    Kept,
    Naps,
    answers,
    asked,
    at_once,
    echo,
    prompt,
    queue_at,
    read,
    stopped,
    submitted,
)

from batch_server import BatchServer, replying
from ragtriage.core.errors import Stopped, StoreError
from ragtriage.judges.budget import Ledger
from ragtriage.judges.llm.channel import RetriesExhausted
from ragtriage.judges.llm.options import LLMOptions, Price
from ragtriage.judges.llm.pending_requests import key_of


@pytest.fixture
def server():
    with BatchServer(echo) as server:
        yield server


def test_one_command_submits_and_the_next_collects(server):
    tickets, first, second = Kept(), Ledger(), Ledger()
    server.ended = lambda number: False

    said = stopped(answers(queue_at(server, tickets, ledger=first), ["one", "two", "three"]))
    assert said == (
        "1 batch with 3 requests to openai:gpt-5-mini is submitted and has not ended (batch_0): give the same command "
        "again to collect it"
    )
    assert len(tickets.entries) == 3
    assert (first.requests, first.cost, first.in_flight) == (3, 0, 0)

    server.ended = lambda number: True
    assert answers(queue_at(server, tickets, ledger=second), ["one", "two", "three"]) == ["ONE", "TWO", "THREE"]
    assert len(server.batches) == 1
    assert tickets.entries == {}
    assert (second.requests, second.tokens_in, second.tokens_out) == (0, 3000, 300)
    assert second.cost == pytest.approx(3 * PRICE.of(1000, 100) / 2)
    assert (second.in_flight, second.failed_requests) == (0, 0)


def test_what_is_sent_is_what_a_live_request_would_send_in_both_forms(server):
    answers(queue_at(server, Kept()), ["one"])
    body = server.batches[0][0]
    assert body["model"] == "gpt-5-mini"
    assert body["max_output_tokens"] == 500
    assert body["store"] is False
    assert body["text"]["format"] == {"type": "json_schema", "name": "answers", "strict": True, "schema": SCHEMA}
    assert "temperature" not in body  # this model has none
    assert answers(queue_at(server, Kept(), options=LLMOptions(reply="text")), ["one"]) == ["ONE"]
    body = server.batches[1][0]
    assert "json_schema" not in json.dumps(body)
    assert "additionalProperties" in json.dumps(body["input"])


def test_each_batch_is_looked_at_once_a_round_and_fetched_once(server):
    tickets = submitted(server, "one", "two", "three")
    server.log.clear()
    answers(queue_at(server, tickets), ["one", "two", "three"])
    assert [method for method, _ in server.log if method != "DELETE"] == ["GET", "GET"]


def test_waiting_goes_on_until_everything_is_collected(server):
    naps = Naps()
    server.ended = lambda number: len(naps) >= 3
    assert answers(queue_at(server, Kept(), wait=True, poll=30, sleep=naps), ["one", "two"]) == ["ONE", "TWO"]
    assert naps == [30, 30, 30]


def test_one_command_goes_as_far_as_it_can(server):
    tickets = Kept()

    async def case(queue, word):
        first = await queue.ask(prompt(word), read)
        return await queue.ask(prompt(f"after {first}"), read)

    server.ended = lambda number: number == 0
    queue = queue_at(server, tickets)
    said = stopped(at_once(*(case(queue, word) for word in ("one", "two", "three"))))
    assert said.endswith("(batch_1): give the same command again to collect it; 1 of 2 batches had ended")
    assert [len(batch) for batch in server.batches] == [3, 3]


def test_new_prompts_wait_for_those_that_follow_from_collected_answers(server):
    tickets = submitted(server, "one")
    server.ended = lambda number: number == 0

    async def case(queue):
        return await queue.ask(prompt(f"after {await queue.ask(prompt('one'), read)}"), read)

    queue = queue_at(server, tickets)
    stopped(at_once(case(queue), queue.ask(prompt("new"), read)))
    assert sorted(map(asked, server.batches[1])) == ["after ONE", "new"]


def test_whoever_has_an_answer_can_store_it_before_the_others_are_stopped(server):
    tickets, events = submitted(server, "one"), []
    server.ended = lambda number: number == 0

    async def case(queue, word):
        try:
            await queue.ask(prompt(word), read)
        except Stopped:
            events.append("stopped")
            return
        for _ in range(15):
            await asyncio.sleep(0)
        events.append(f"stored, {len(tickets.entries)} tickets")

    queue = queue_at(server, tickets)
    at_once(case(queue, "one"), case(queue, "two"))
    assert events == ["stored, 1 tickets", "stopped"]
    assert len(tickets.entries) == 1  # that of the second


def test_a_ticket_stays_until_its_answer_can_have_been_stored(server):
    tickets = Kept()
    queue = queue_at(server, tickets, quiet=0.05)
    assert answers(queue, ["one"], killed=True) == ["ONE"]
    assert len(tickets.entries) == 1
    queue.close()
    assert tickets.entries == {}


def test_an_answer_that_was_lost_is_collected_again_and_not_paid_for_again(server):
    tickets = Kept()
    for _ in range(3):  # killed before it was stored
        assert answers(queue_at(server, tickets), ["one"], killed=True) == ["ONE"]
    assert len(server.batches) == 1


def test_a_command_that_is_killed_after_submitting_loses_nothing(server):
    tickets = Kept()
    server.ended = lambda number: False

    async def killed():
        queue = queue_at(server, tickets, wait=True, poll=60)
        asking = [asyncio.create_task(queue.ask(prompt(word), read)) for word in ("one", "two")]
        await tickets.filled.wait()
        return asking

    asyncio.run(killed())
    server.ended = lambda number: True
    assert answers(queue_at(server, tickets), ["two", "one"]) == ["TWO", "ONE"]
    assert len(server.batches) == 1


def test_a_command_that_is_killed_between_submitting_and_keeping_loses_one_batch(server):
    class Killed(Kept):
        def put(self, entries):
            """See `Tickets`; the process dies in the second call."""
            if self.entries:
                raise StoreError("killed")
            super().put(entries)

    server.ended = lambda number: False
    tickets = Killed()
    options = LLMOptions()
    queue = queue_at(server, tickets, options=options)
    queue._largest_batch = 2
    assert {str(one) for one in answers(queue, ["one", "two", "three", "four", "five"])} == {"killed"}
    assert [len(batch) for batch in server.batches] == [2, 2]

    after = Kept(tickets.entries)
    server.ended = lambda number: True
    assert answers(queue_at(server, after), ["one", "two", "three", "four", "five"])[2:] == ["THREE", "FOUR", "FIVE"]
    assert sorted(map(asked, server.batches[2])) == ["five", "four", "three"]


def test_a_request_that_expired_is_submitted_again_with_all_that_is_new(server):
    tickets, ledger = Kept(), Ledger()
    server.answer = lambda body: None if asked(body) == "two" and len(server.batches) == 1 else echo(body)
    assert answers(queue_at(server, tickets, ledger=ledger), ["one", "two"]) == ["ONE", "TWO"]
    assert [sorted(map(asked, batch)) for batch in server.batches] == [["one", "two"], ["two"]]
    assert (ledger.requests, ledger.failed_requests, ledger.in_flight) == (3, 1, 0)
    assert sum(ledger.repeated.values()) == 1
    assert tickets.entries == {}


CUT = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (lambda body: None, "its batch expired before it was its turn"),
        (lambda body: (500, {"error": {"message": "oops", "type": "server_error"}}), r".*\(500\): oops"),
        (lambda body: (429, {"error": {"message": "later", "type": "rate_limit"}}), r".*\(429\): later"),
        (lambda body: (200, replying("no")), "the reply doesn't fit: it is no answer"),
        (lambda body: (200, replying("{", **CUT)), "the reply doesn't fit: it was cut off at 2000 tokens"),
    ],
    ids=["expired", "failed", "busy", "malformed", "truncated"],
)
def test_a_request_without_a_usable_reply_is_given_up_after_three_batches(server, answer, cause):
    server.answer = lambda body: answer(body) if asked(body) == "bad" else echo(body)
    tickets = Kept()
    good, bad = answers(queue_at(server, tickets), ["good", "bad"])
    assert good == "GOOD"
    assert isinstance(bad, RetriesExhausted)
    assert re.fullmatch(rf"{cause} \(submitted 3 times\)", str(bad))
    assert [len(batch) for batch in server.batches] == [2, 1, 1]
    assert tickets.entries == {}


def test_a_reply_that_is_read_by_token_counts_as_far_as_it_goes(server):
    """One of which nothing can be read gets more room."""
    server.answer = lambda body: (200, replying('{"answer": "Y"}', **CUT))
    one = prompt("one", by_token=True, largest_reply=1)
    assert answers(queue_at(server, Kept()), [one]) == ["Y"]
    assert key_of(NAME, LLMOptions(), one) != key_of(NAME, LLMOptions(), prompt("one", largest_reply=1))
    assert server.batches[0][0]["max_output_tokens"] == 16

    server.answer = lambda body: (200, replying("{", **CUT)) if len(server.batches) == 2 else echo(body)
    assert answers(queue_at(server, Kept()), [prompt("one", by_token=True)]) == ["ONE"]
    assert [batch[0]["max_output_tokens"] for batch in server.batches[1:]] == [500, 1000]


def test_tries_are_counted_over_commands(server):
    tickets = Kept()
    server.answer = lambda body: None
    found = []
    for number in range(4):
        server.ended = lambda asked, number=number: asked < number
        found += answers(queue_at(server, tickets), ["one"])
    assert [type(one) for one in found] == [Stopped, Stopped, Stopped, RetriesExhausted]
    assert len(server.batches) == 3


def test_a_reply_that_does_not_fit_is_shown_and_a_longer_one_allowed(server):
    def answer(body):
        if len(server.batches) > 1:
            return echo(body)
        if asked(body) == "long":
            return 200, replying("{", **CUT)
        return 200, replying("nonsense")

    server.answer = answer
    ledger = Ledger()
    assert answers(queue_at(server, Kept(), ledger=ledger), ["one", "long"]) == ["ONE", "LONG"]
    shown, longer = server.batches[1]
    assert "nonsense" in json.dumps(shown)
    assert "it is no answer" in json.dumps(shown)
    assert longer["max_output_tokens"] == 1000
    assert ledger.failed_requests == 2
    assert ledger.cost == pytest.approx(4 * PRICE.of(1000, 100) / 2)  # those are paid for as well


def test_what_the_provider_rejects_is_given_up_at_once(server):
    refusal = {"error": {"message": "no such thing is said here", "type": "x", "code": "content_policy_violation"}}
    server.answer = lambda body: (400, refusal) if asked(body) == "bad" else echo(body)
    good, bad = answers(queue_at(server, Kept()), ["good", "bad"])
    assert good == "GOOD"
    assert isinstance(bad, RetriesExhausted)
    assert "content filter" in str(bad)
    assert len(server.batches) == 1


def test_what_a_model_does_not_take_is_left_out_the_next_time(server):
    def answer(body):
        if "json_schema" in json.dumps(body.get("text", "")):
            return 400, {"error": {"message": "json_schema isn't known to this model", "type": "x", "code": None}}
        return echo(body)

    server.answer = answer
    assert answers(queue_at(server, Kept()), ["one", "two"]) == ["ONE", "TWO"]
    assert [len(batch) for batch in server.batches] == [2, 2]


def test_an_error_in_reading_is_the_askers(server):
    def broken(reply):
        raise ZeroDivisionError

    queue = queue_at(server, Kept())
    one, two = at_once(queue.ask(prompt("one"), broken), queue.ask(prompt("two"), read))
    assert isinstance(one, ZeroDivisionError)
    assert two == "TWO"


def one_by_one():
    """Answers a, b, c, one after the other."""
    replies = iter("abcdef")
    return lambda body: (200, replying(json.dumps({"answer": next(replies)})))


def test_equal_prompts_get_a_reply_each(server):
    server.answer = one_by_one()
    tickets = submitted(server, "one", "one", "one")
    assert len(server.batches[0]) == 3
    queue = queue_at(server, tickets)
    assert sorted(answers(queue, ["one", "one"])) == ["a", "b"]
    assert answers(queue_at(server, tickets), ["one"]) == ["c"]
    assert len(server.batches) == 1
    assert tickets.entries == {}


def test_a_trial_never_takes_the_reply_of_another(server):
    tickets, server.answer = Kept(), one_by_one()
    found = [answers(queue_at(server, tickets, trial=trial), ["one"], killed=True) for trial in (0, 1, 0)]
    assert found == [["a"], ["b"], ["a"]]  # the first was lost, as it was killed before it could be stored


def test_the_key_depends_on_everything_that_is_sent(server):
    others = [
        prompt("one", system="Other."),
        prompt("two"),
        prompt("one", schema={**SCHEMA, "description": "other"}),
        prompt("one", largest_reply=501),
        prompt("one", refused=("x", "y")),
    ]
    tickets = submitted(server, "one", *others)
    assert len(tickets.entries) == 6
    assert all(len(key) == 16 for key in tickets.entries)
    by_text = submitted(server, "one", options=LLMOptions(reply="text"))
    assert len(tickets.entries | by_text.entries) == 7


def test_whoever_leaves_does_not_take_the_ticket_along(server):
    tickets, ledger = Kept(), Ledger()
    server.ended = lambda number: False

    async def command(queue):
        asking = [asyncio.create_task(queue.ask(prompt(word), read)) for word in ("one", "two", "three")]
        asking[0].cancel()
        await tickets.filled.wait()
        asking[1].cancel()
        return await asyncio.gather(*asking, return_exceptions=True)

    found = asyncio.run(command(queue_at(server, tickets, ledger=ledger)))
    assert [type(one) for one in found] == [asyncio.CancelledError, asyncio.CancelledError, Stopped]
    assert len(tickets.entries) == 2
    assert (ledger.requests, ledger.in_flight) == (2, 0)

    server.ended = lambda number: True
    assert answers(queue_at(server, tickets), ["three", "two"]) == ["THREE", "TWO"]
    assert len(server.batches) == 1


def test_whoever_comes_back_finds_the_ticket(server):
    tickets = Kept()
    server.ended = lambda number: False

    async def command(queue):
        others = asyncio.create_task(queue.ask(prompt("two"), read))
        first = asyncio.create_task(queue.ask(prompt("one"), read))
        await tickets.filled.wait()
        first.cancel()
        server.ended = lambda number: True
        return await asyncio.gather(queue.ask(prompt("one"), read), others)

    assert asyncio.run(command(queue_at(server, tickets, wait=True, poll=0))) == ["ONE", "TWO"]
    assert len(server.batches) == 1


@pytest.mark.parametrize("late", ["old", "new"])
def test_whoever_comes_while_the_provider_is_asked_is_seen_to(server, late):
    tickets = submitted(server, "one", "old")

    async def command(queue):
        loop, asking = asyncio.get_running_loop(), []

        def come():
            if not asking:
                asking.append(asyncio.create_task(queue.ask(prompt(late), read)))

        server.ended = lambda number: loop.call_soon_threadsafe(come) and False
        with pytest.raises(Stopped):
            await queue.ask(prompt("one"), read)
        return await asyncio.gather(*asking, return_exceptions=True)

    stopped(asyncio.run(command(queue_at(server, tickets))))
    assert [sorted(map(asked, batch)) for batch in server.batches] == [["old", "one"]] + [["new"]] * (late == "new")


def test_a_queue_works_in_one_loop_after_another(server):
    queue = queue_at(server, Kept())
    assert answers(queue, ["one"]) == ["ONE"]
    assert answers(queue, ["one", "two"]) == ["ONE", "TWO"]


def test_large_batches_are_cut(server):
    queue = queue_at(server, Kept())
    queue._api.most_bytes = 1000
    words = [f"word {number}" for number in range(10)]
    assert answers(queue, words) == [word.upper() for word in words]
    assert len(server.batches) > 2
    assert sum(map(len, server.batches)) == 10


def test_a_batch_that_may_pass_the_budget_is_not_submitted(server):
    tickets = Kept()
    options = LLMOptions(budget=0.006)
    said = stopped(answers(queue_at(server, tickets, options=options), ["one", "two", "three"]))
    assert "$0.006" in said
    assert "--budget" in said
    assert server.batches == []
    assert tickets.entries == {}
    options = LLMOptions(budget=0.01)
    assert answers(queue_at(server, tickets, options=options), ["one", "two", "three"]) == ["ONE", "TWO", "THREE"]


def test_what_is_at_the_provider_counts_with_the_most_that_it_may_cost(server):
    tickets = Kept()
    server.ended = lambda number: False
    options = LLMOptions(budget=0.006)
    stopped(answers(queue_at(server, tickets, options=options), ["one", "two"]))
    ledger = Ledger(budget=0.006)
    said = stopped(answers(queue_at(server, tickets, options=options, ledger=ledger), ["one", "two", "three"]))
    assert said.startswith("stopped before the budget of $0.006 was passed: a further batch of 1 request may cost")
    assert "1 batch with 2 requests" in said
    assert len(server.batches) == 1
    assert ledger.stopped is None

    server.ended = lambda number: True
    assert answers(queue_at(server, tickets, options=options), ["one", "two", "three"]) == ["ONE", "TWO", "THREE"]


def test_what_the_provider_had_kept_of_a_prompt_counts_as_cheaper(server):
    usage = replying("")["usage"] | {"input_tokens_details": {"cached_tokens": 900}}
    server.answer = lambda body: (200, replying('{"answer": "ONE"}', usage=usage))
    listed, own = Ledger(), Ledger()
    answers(queue_at(server, Kept(), ledger=listed, price=Price(0.25, 2.0)), ["one"])
    answers(queue_at(server, Kept(), ledger=own, price=PRICE, options=LLMOptions(price=PRICE)), ["one"])
    assert 0 < listed.cost < Price(0.25, 2.0).of(1000, 100) / 2
    assert own.cost == pytest.approx(PRICE.of(1000, 100) / 2)


def test_replies_without_a_price_are_counted(server):
    ledger = Ledger()
    answers(queue_at(server, Kept(), ledger=ledger, price=None), ["one", "two"])
    assert ledger.cost == 0


def test_no_more_requests_are_sent_than_allowed(server):
    tickets, options = Kept(), LLMOptions(max_requests=2)
    server.ended = lambda number: False
    words = ["one", "two", "three", "four", "five"]
    said = stopped(answers(queue_at(server, tickets, options=options), words))
    assert said.startswith("stopped after 2 requests, as --max-requests says")
    server.ended = lambda number: True
    found = answers(queue_at(server, tickets, options=options), words)
    assert found[:4] == ["ONE", "TWO", "THREE", "FOUR"]
    assert isinstance(found[4], Stopped)
    assert [len(batch) for batch in server.batches] == [2, 2]


def test_waiting_ends_when_everything_is_stopped(server):
    ledger = Ledger()
    server.ended = lambda number: False

    async def sleep(_):
        asyncio.get_running_loop().call_soon(ledger.stop, "the user says so")
        await asyncio.sleep(3600)

    said = stopped(answers(queue_at(server, Kept(), ledger=ledger, wait=True, sleep=sleep), ["one"]))
    assert "give the same command again" in said
