"""Requests go through the channel as the limits say, in a time that passes at once."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timed_channel import BUSY, DOLLAR, YES, Server, all_of, causes, channel, in_no_time, now, requests, timed

from ragtriage.core.errors import JudgeError, Stopped
from ragtriage.judges.budget import Ledger
from ragtriage.judges.llm.admission import ConcurrencyController, RateLimit, Reservation
from ragtriage.judges.llm.channel import RetriesExhausted
from ragtriage.judges.llm.options import ModelUnusable, RateLimited, Reply, RequestRejected, TransientError
from ragtriage.judges.protocol import TURN

# how many at once


@pytest.mark.parametrize("most", [1, 3, 16, 40])
def test_never_more_in_flight_than_asked(most):
    server = Server()
    way = channel(concurrency=most)
    assert all_of(way, server, 200) == [YES] * 200
    assert server.peak == most
    assert way.admission.in_flight == 0


def test_a_well_server_gets_twice_as_many_each_round():
    server = Server()
    all_of(channel(concurrency=100), server, 300)
    assert Counter(server.came) == {0: 16, 1: 32, 2: 64, 3: 100, 4: 88}


@timed
async def test_the_first_come_are_served_first():
    order = []
    way = channel(concurrency=2)

    async def one(i):
        async def once():
            order.append(i)
            await asyncio.sleep(1 + i % 3)
            return Reply("yes")

        await way.run(once, tokens_in=1, largest_reply=1)

    await asyncio.gather(*map(one, range(30)))
    assert order == list(range(30))


@pytest.mark.parametrize(("busy", "waited", "limit"), [(16, 2, 8), (24, 7.5, 4)], ids=["once", "again"])
@timed
async def test_a_busy_server_gets_half_as_many_once_for_all_that_were_under_way(busy, waited, limit):
    """One that was sent after the halving halves again."""
    server = Server(*[RateLimited("slow down", 5.0)] * busy, YES)
    way = channel(concurrency=64)
    waiting = requests(way, server, 16)
    await asyncio.sleep(waited)
    assert (way.concurrency.limit, way.admission.in_flight) == (limit, 0 if busy == 16 else limit)
    await asyncio.gather(*waiting)
    assert busy != 16 or Counter(server.came) == {0: 16, 6: 8, 7: 8}


def test_the_limit_never_falls_below_one():
    controller = ConcurrencyController(4)
    for _ in range(5):
        controller.start(0.0, 1)
        controller.slow_down(controller.sent, 1.0)
        assert controller.limit >= 1
    assert controller.limit == 1


def test_a_reply_between_two_halvings_shows_that_the_server_is_well():
    controller = ConcurrencyController(64)
    for _ in range(5):
        controller.start(0.0, 1)
        controller.slow_down(controller.sent, 100.0)
        controller.replied()
    assert isinstance(controller.start(0.0, 1), Reservation)


def test_after_a_halving_the_limit_grows_by_one_a_round_up_to_what_was_asked():
    controller = ConcurrencyController(10)
    controller.start(0.0, 1)
    controller.slow_down(1, 1.0)
    limits = []
    for _ in range(5 + 6 + 7 + 8 + 9 + 20):
        controller.replied()
        limits.append(controller.limit)
    assert Counter(limits) == {5: 4, 6: 6, 7: 7, 8: 8, 9: 9, 10: 21}


def test_a_server_that_takes_twenty_is_kept_busy_without_being_pressed():
    server, ledger = Server(most=20, latency=0.2), Ledger()
    way = channel(ledger, concurrency=64)
    assert causes(all_of(way, server, 2000)) == []
    assert server.came[-1] <= 1.6 * 2000 / 20 * 0.2
    assert ledger.repeated.keys() == {"429"}
    assert ledger.repeated["429"] < 200


@timed
async def test_a_server_that_says_nothing_but_slow_down_is_left_alone_by_all():
    server = Server((RateLimited("slow down", 30.0), 0.0), latency=0.0)
    way = channel(concurrency=64)
    waiting = requests(way, server, 500)
    await asyncio.sleep(29)
    assert len(server.came) == 16 + 8 + 4
    server.script = [YES]
    await asyncio.gather(*waiting)


@timed
async def test_requests_of_earlier_cases_go_first():
    way, server = channel(concurrency=1), Server()
    order = []

    async def asking(turn, at):
        TURN.set(turn)

        async def once():
            order.append((turn, at))
            return await server()

        await way.run(once, tokens_in=1, largest_reply=1)

    await asyncio.gather(*(asyncio.create_task(asking(turn, at)) for at in range(2) for turn in (3, 2, 1)))

    assert order == [(3, 0), (1, 0), (1, 1), (2, 0), (2, 1), (3, 1)]


# how often again


@pytest.mark.parametrize(
    ("script", "chance", "came", "repeated"),
    [
        # busy uses up no attempt, and is waited for a minute at most
        (
            [BUSY] * 12,
            1.0,
            [0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5, 63.5, 123.5, 183.5, 243.5, 303.5, 363.5],
            {"429": 12},
        ),
        ([BUSY] * 3, 0.0, [0, 0.25, 0.75, 1.75], {"429": 3}),
        ([TransientError("502: bad gateway")] * 5, 1.0, [0, 0.5, 1.5, 3.5, 7.5, 15.5], {"502": 5}),
        ([TransientError("503: overloaded", 20.0)], 0.5, [0, 20], {"503": 1}),
        # patience begins anew when the server says something else
        (
            [RateLimited("slow down", 800.0), TransientError("502: reset"), RateLimited("slow down", 800.0)],
            1.0,
            [0, 800, 800.5, 1600.5],
            {"429": 2, "502": 1},
        ),
    ],
    ids=["busy", "backoff is by chance", "for the moment", "it asks for time", "patience"],
)
def test_a_request_is_repeated_until_there_is_a_reply(script, chance, came, repeated):
    server, ledger = Server(*script, YES, latency=0.0), Ledger()
    assert all_of(channel(ledger, random=lambda: chance), server, 1) == [YES]
    assert server.came == came
    assert ledger.repeated == repeated
    assert (ledger.requests, ledger.failed_requests) == (len(came), len(came) - 1)


@pytest.mark.parametrize(
    ("error", "asked", "said"),
    [
        (TransientError("no reply within 10 s"), 6, "no answer, asked 6 times: no reply within 10 s"),
        (TransientError("503: maintenance", 3600.0), 1, "no answer, asked 1 times: 503: maintenance"),
        (RequestRejected("the content filter refused it"), 1, "the content filter refused it"),
    ],
    ids=["six times", "in an hour", "rejected"],
)
def test_where_others_were_answered_what_is_given_up_fails_alone(error, asked, said):
    way = channel(ledger := Ledger())
    all_of(way, Server(), 1)
    results = all_of(way, server := Server(error), 10)
    assert {type(result) for result in results} == {RetriesExhausted}
    assert set(causes(results)) == {said}
    assert len(server.came) == 10 * asked
    assert sum(ledger.repeated.values()) == 10 * (asked - 1)


def test_retry_after_is_waited_for_without_a_place():
    server = Server(RateLimited("slow down", 7.0), Reply("first"), YES)
    way = channel(concurrency=1)
    assert all_of(way, server, 2) == [Reply("yes"), Reply("first")]
    assert server.came == [0, 1, 8]


def test_a_server_that_never_answers_but_slow_down_ends_it_after_a_quarter_of_an_hour():
    server, way = Server(BUSY, latency=0.0), channel()
    results = all_of(way, server, 3)
    assert {type(result) for result in results} == {JudgeError}
    assert set(causes(results)) == {"the oracle gives no answer: slow down (429); look at your limits and credit there"}
    assert 800 < server.came[-1] <= 900


@timed
async def test_a_server_that_answers_others_loses_only_the_request_that_it_keeps_off():
    way = channel()
    kept_off = requests(way, Server(RateLimited("slow down", 60.0)), 1)
    while not kept_off[0].done():
        await asyncio.gather(*requests(way, Server(), 1))
    error = kept_off[0].exception()
    assert isinstance(error, RetriesExhausted)
    assert str(error) == "no answer for 15 minutes: slow down"


def test_a_server_that_answers_no_more_stops_it_so_that_it_can_go_on_later():
    server, way = Server(YES, RateLimited("the day's tokens are used up", 3600.0)), channel(concurrency=2)
    first, *others = all_of(way, server, 50)
    assert first == YES
    assert {type(other) for other in others} == {Stopped}
    assert causes(others)[0] == (
        "stopped, as the oracle answers nothing now: the day's tokens are used up; give the same command later to go on"
    )
    assert len(server.came) <= 4


def test_if_nothing_ever_worked_everybody_hears_why():
    server, way = Server(TransientError("the connection was refused"), latency=0.0), channel(concurrency=4)
    results = all_of(way, server, 100)
    assert {type(result) for result in results} == {JudgeError}
    assert set(causes(results)) == {
        "the oracle gives no answer: the connection was refused; look at its address and at your network"
    }
    asked = len(server.came)
    assert set(causes(all_of(way, server, 1))) == set(causes(results))
    assert len(server.came) == asked


def test_repeated_requests_go_before_new_ones():
    server = Server(TransientError("reset"), *[Reply(str(i)) for i in range(9)])
    way = channel(concurrency=1)
    results = all_of(way, server, 9)
    assert [reply.text for reply in results] == ["1", "0", *"2345678"]


def test_if_the_first_five_are_rejected_all_are():
    server = Server(RequestRejected("unknown parameter: temperature."))
    results = all_of(channel(concurrency=1), server, 20)
    assert [type(result) for result in results] == [RetriesExhausted] * 4 + [JudgeError] * 16
    assert "the oracle rejects every request: unknown parameter: temperature; look at" in causes(results)[-1]
    assert len(server.came) == 5


@pytest.mark.parametrize(
    ("script", "at_once", "count", "kinds"),
    [
        ([(YES, 9.0), (RequestRejected("too long"), 0.1)], 2, 20, {Reply: 1, RetriesExhausted: 19}),
        ([*[(RequestRejected("too long"), 2.0)] * 5, YES], 6, 20, {RetriesExhausted: 5, Reply: 15}),
        # a continued run may have nothing left but texts that the provider's filter refuses
        ([RequestRejected("the filter refused it", alone=True)], 10, 8, {RetriesExhausted: 8}),
    ],
    ids=["faster than the first replies", "after a reply", "a text's own fault"],
)
def test_rejections_that_prove_nothing_about_the_others(script, at_once, count, kinds):
    results = all_of(channel(concurrency=at_once), Server(*script), count)
    assert Counter(map(type, results)) == kinds


@timed
async def test_an_error_that_would_meet_every_request_is_told_to_all_at_once():
    server = Server(YES, (ModelUnusable("the key is refused"), 0.5), Reply("late"))
    way = channel(concurrency=3)
    waiting = requests(way, server, 50)
    await asyncio.sleep(0.75)
    assert [task.done() for task in waiting].count(False) == 2  # those in flight
    results = await asyncio.gather(*waiting, *requests(way, server, 1), return_exceptions=True)
    assert [r.text for r in results if isinstance(r, Reply)] == ["yes", "late"]
    assert set(causes(results)) == {"the key is refused"}
    assert len(server.came) == 3


def test_everybody_hears_the_same_error():
    server = Server((ModelUnusable("the key is refused"), 1.0), (ModelUnusable("no such model"), 2.0))
    assert set(causes(all_of(channel(concurrency=2), server, 5))) == {"the key is refused"}


@timed
async def test_who_waits_to_repeat_a_request_is_told_too():
    way = channel()
    resting = requests(way, Server(TransientError("reset", 500.0), latency=0.0), 1)
    await asyncio.sleep(1)
    with pytest.raises(JudgeError):
        await requests(way, Server(ModelUnusable("no credit")), 1)[0]
    with pytest.raises(JudgeError, match="no credit"):
        await resting[0]
    assert now() == 2


def test_an_error_of_the_program_leaves_no_place_taken():
    way = channel(concurrency=1)

    async def broken():
        raise ZeroDivisionError

    assert [type(error) for error in all_of(way, broken, 3)] == [ZeroDivisionError] * 3
    assert way.admission.in_flight == 0


# stopping, cancelling, starting anew


@pytest.mark.parametrize(
    ("options", "server", "at", "ended", "kinds"),
    [
        ({"concurrency": 2}, Server(latency=4.0), 1, 4, [Reply] * 2 + [Stopped] * 8),  # those in flight end
        ({}, Server(RateLimited("slow down", 800.0)), 5, 5, [Stopped] * 3),  # who rests hears it at once
        ({}, Server(RateLimited("slow down", 800.0), latency=4.0), 1, 4, [Stopped]),  # and nobody rests after it
        ({"rpm": 1}, Server(), 5, 5, [Reply, Stopped, Stopped]),  # who waits for the minute
    ],
    ids=["in flight", "at rest", "before the rest", "waiting for the minute"],
)
@timed
async def test_after_a_stop_those_in_flight_end_and_no_other_starts(options, server, at, ended, kinds):
    way = channel(**options)
    tasks = requests(way, server, len(kinds))
    await asyncio.sleep(at)
    way.ledger.stop("interrupted")
    came = len(server.came)
    results = await asyncio.gather(*tasks, *requests(way, server, 1), return_exceptions=True)
    assert len(server.came) == came
    assert now() == ended
    assert [type(result) for result in results] == [*kinds, Stopped]
    assert set(causes(results)) == {"interrupted"}


@timed
async def test_cancelling_leaves_no_place_and_no_money_taken():
    ledger = Ledger(budget=4.0)
    way, server = channel(ledger, DOLLAR, concurrency=2), Server(Reply("yes", price=1.0), latency=5.0)
    tasks = requests(way, server, 6)  # two in flight, four waiting
    await asyncio.sleep(1)
    for i in (0, 2, 3):
        tasks[i].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(r) for r in results] == [
        asyncio.CancelledError,
        Reply,
        *[asyncio.CancelledError] * 2,
        Reply,
        Reply,
    ]
    assert (ledger.requests, ledger.failed_requests, ledger.cost) == (4, 1, 3.0)
    assert (way.admission.in_flight, ledger.in_flight) == (0, 0)


@timed
async def test_who_is_cancelled_just_when_let_in_gives_the_place_back():
    way, server = channel(ledger := Ledger(), concurrency=1), Server()

    async def leaving():
        await way.run(server, tokens_in=1, largest_reply=1)
        second.cancel()  # it has been let in, and hasn't gone on yet

    first = asyncio.ensure_future(leaving())
    second, third = requests(way, server, 2)
    await asyncio.wait([first, second, third])
    assert second.cancelled()
    assert third.result() == YES
    assert len(server.came) == ledger.requests == 2
    assert way.admission.in_flight == 0


def test_one_channel_serves_one_event_loop_after_another():
    way, server = channel(concurrency=2, rpm=600), Server()

    async def leaving():
        requests(way, server, 30)
        await asyncio.sleep(0.5)

    in_no_time(leaving())
    assert way.admission.in_flight == 0
    assert all_of(way, server, 30) == [YES] * 30


def test_two_event_loops_at_once_are_refused():
    way, slow = channel(), Server(latency=1000.0)

    async def scenario():
        task = asyncio.ensure_future(way.run(slow, tokens_in=1, largest_reply=1))
        await asyncio.sleep(0)
        with pytest.raises(JudgeError, match="two event loops at once"):
            await asyncio.to_thread(asyncio.run, way.run(slow, tokens_in=1, largest_reply=1))
        task.cancel()

    asyncio.run(scenario())


# how often in a minute


def most_in_a_minute(times, amounts=None):
    amounts = amounts or [1] * len(times)
    return max(
        sum(amount for time, amount in zip(times, amounts, strict=True) if start <= time < start + 60 - 1e-6)
        for start in times
    )


@pytest.mark.parametrize("rpm", [1, 7, 60, 600])
def test_no_minute_has_more_requests_than_asked_and_they_are_spread(rpm):
    server = Server(latency=0.01)
    all_of(channel(rpm=rpm, concurrency=64), server, count := 2 * rpm + rpm // 2)
    assert most_in_a_minute(server.came) <= rpm
    assert server.came[-1] == pytest.approx((count - 1) * 60 / rpm, abs=1.1)
    assert len([time for time in server.came if time < 5]) <= rpm * 6 / 60 + 1


@pytest.mark.parametrize(("largest", "least", "latency"), [(40, 180, 1.0), (440, 0, 0.0)], ids=["needed", "given back"])
def test_no_minute_has_more_tokens_than_asked_and_those_not_needed_are_given_back(largest, least, latency):
    server = Server(Reply("yes", 60, 40), latency=latency)
    all_of(channel(tpm=1000), server, 40, tokens_in=60, largest_reply=largest)
    assert most_in_a_minute(server.came, [100] * 40) <= 1000
    assert least <= server.came[-1] < 400  # 1200 with the most that each might have taken


def test_requests_that_fail_take_no_reply_from_the_minute():
    server = Server(TransientError("reset"), Reply("yes", 1, 1), latency=0.0)
    all_of(channel(tpm=1000, random=lambda: 0.0), server, 2, tokens_in=10, largest_reply=490)
    assert server.came[-1] < 1


def test_a_request_that_is_larger_than_a_minute_goes_alone():
    server = Server(latency=0.0)
    all_of(channel(tpm=100), server, 3, tokens_in=200, largest_reply=100)
    assert server.came == pytest.approx([0, 179, 359], abs=1.01)


@timed
async def test_nothing_is_left_running_when_those_who_wait_for_the_minute_have_gone():
    tasks = requests(channel(rpm=1), Server(), 3)
    await asyncio.sleep(5)
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@settings(max_examples=50)
@given(
    st.integers(1, 50),
    st.lists(st.tuples(st.integers(1, 20), st.integers(0, 20), st.floats(0, 30)), min_size=1, max_size=60),
)
def test_a_rate_holds_in_every_minute(most, demands):
    rate, clock, times, amounts = RateLimit(most), 0.0, [], []
    for asked_for, needed, idle in demands:
        clock += idle
        while (wait := rate.wait(clock, asked_for)) > 0:
            clock += max(wait, 0.001)
        reservation = rate.reserve(clock, asked_for)
        times.append(clock)
        amounts.append(min(needed, asked_for))
        rate.correct(reservation, amounts[-1])
    for start in times:
        inside = [a for time, a in zip(times, amounts, strict=True) if start <= time < start + 60 - 1e-6]
        assert sum(inside) <= max(most, 20 if len(inside) == 1 else most)
