"""Requests go through the channel as the limits say, in a time that passes at once."""

import asyncio
import selectors
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtriage.core.errors import JudgeError, Stopped
from ragtriage.judges.budget import Ledger
from ragtriage.judges.llm.admission import ConcurrencyController, RateLimit
from ragtriage.judges.llm.channel import Channel, RetriesExhausted
from ragtriage.judges.llm.options import (
    LLMOptions,
    MalformedReply,
    ModelUnusable,
    Price,
    Prompt,
    RateLimited,
    Reply,
    RequestRejected,
    TransientError,
)
from ragtriage.judges.protocol import TURN

DOLLAR = Price(1e6, 1e6)
"""A dollar a token, in and out."""


class Instant(selectors.DefaultSelector):
    """Lets time pass instead of waiting."""

    def __init__(self):
        super().__init__()
        self.now = 0.0

    def select(self, timeout=None):
        """Whatever is ready; else the next timer is due at once."""
        found = super().select(0)
        if not found:
            assert timeout is not None, "everybody waits for ever"
            self.now += timeout
        return found


class Loop(asyncio.SelectorEventLoop):
    """An event loop with a clock of its own."""

    def __init__(self):
        self.instant = Instant()
        super().__init__(self.instant)

    def time(self):
        """Seconds since it began."""
        return self.instant.now


def in_no_time(scenario):
    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(scenario)


def now():
    return asyncio.get_running_loop().time()


class Server:
    """Answers requests from a script, and remembers when each came.

    Args:
        script: what becomes of each request in order: a reply, an error, or both with the seconds that it takes; the
            last one goes on.
        latency: seconds, where the script doesn't say.
        most: in flight, before it is busy.
    """

    def __init__(self, *script, latency=1.0, most=1000):
        self.script = list(script) or [Reply("yes")]
        self.latency = latency
        self.most = most
        self.came = []
        self.prompts = []
        self.in_flight = 0
        self.peak = 0
        self.ended = 0

    async def __call__(self):
        """One attempt."""
        self.came.append(now())
        outcome = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        outcome, latency = outcome if isinstance(outcome, tuple) else (outcome, self.latency)
        if self.in_flight >= self.most:
            raise RateLimited("too many")
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        try:
            await asyncio.sleep(latency)
        finally:
            self.in_flight -= 1
        self.ended += 1
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def send(self, prompt):
        """See `Send`."""
        self.prompts.append(prompt)
        return await self()


def channel(ledger=None, price=None, random=lambda: 0.5, **options):
    return Channel(LLMOptions(**options), ledger or Ledger(), price, name="the oracle", clock=now, random=random)


def requests(way, once, count, tokens_in=1, largest_reply=1):
    return [
        asyncio.ensure_future(way.run(once, tokens_in=tokens_in, largest_reply=largest_reply)) for _ in range(count)
    ]


def all_of(way, once, count, **tokens):
    """The replies and errors of so many requests that come together."""

    async def scenario():
        return await asyncio.gather(*requests(way, once, count, **tokens), return_exceptions=True)

    return in_no_time(scenario())


def causes(results):
    return [str(result) for result in results if isinstance(result, Exception)]


# how many at once


@pytest.mark.parametrize("most", [1, 3, 16, 40])
def test_never_more_in_flight_than_asked(most):
    server = Server()
    way = channel(concurrency=most)
    assert all_of(way, server, 200) == [Reply("yes")] * 200
    assert server.peak == most
    assert way.admission.in_flight == 0


def test_a_well_server_gets_twice_as_many_each_round():
    server = Server()
    all_of(channel(concurrency=100), server, 300)
    assert Counter(server.came) == {0: 16, 1: 32, 2: 64, 3: 100, 4: 88}


def test_the_first_come_are_served_first():
    order = []

    async def scenario():
        way = channel(concurrency=2)

        async def one(i):
            async def once():
                order.append(i)
                await asyncio.sleep(1 + i % 3)
                return Reply("yes")

            await way.run(once, tokens_in=1, largest_reply=1)

        await asyncio.gather(*map(one, range(30)))

    in_no_time(scenario())
    assert order == list(range(30))


def test_a_busy_server_gets_half_as_many_once_for_all_that_were_under_way():
    server = Server(*[RateLimited("slow down", 5.0)] * 16, Reply("yes"))
    way = channel(concurrency=64)

    async def scenario():
        waiting = requests(way, server, 16)
        await asyncio.sleep(2)
        assert way.concurrency.limit == 8
        assert way.admission.in_flight == 0
        await asyncio.gather(*waiting)

    in_no_time(scenario())
    assert Counter(server.came) == {0: 16, 6: 8, 7: 8}


def test_one_that_was_sent_after_the_halving_halves_again():
    server = Server(*[RateLimited("slow down", 5.0)] * 24, Reply("yes"))
    way = channel(concurrency=64)

    async def scenario():
        waiting = requests(way, server, 16)
        await asyncio.sleep(7.5)
        assert way.concurrency.limit == 4
        await asyncio.gather(*waiting)

    in_no_time(scenario())


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
    assert controller.wait(0.0, 1) <= 0


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


def test_a_server_that_says_nothing_but_slow_down_is_left_alone_by_all():
    server = Server((RateLimited("slow down", 30.0), 0.0), latency=0.0)
    way = channel(concurrency=64)

    async def scenario():
        waiting = requests(way, server, 500)
        await asyncio.sleep(29)
        assert len(server.came) == 16 + 8 + 4
        server.script = [Reply("yes")]
        await asyncio.gather(*waiting)

    in_no_time(scenario())


# how often again


def test_retry_after_is_waited_for_without_a_place():
    server = Server(RateLimited("slow down", 7.0), Reply("first"), Reply("yes"))
    way = channel(concurrency=1)
    assert all_of(way, server, 2) == [Reply("yes"), Reply("first")]
    assert server.came == [0, 1, 8]


def test_busy_uses_up_no_attempt_and_waits_a_minute_at_most():
    server, ledger = Server(*[RateLimited("slow down")] * 12, Reply("yes"), latency=0.0), Ledger()
    assert all_of(channel(ledger, random=lambda: 1.0), server, 1) == [Reply("yes")]
    gaps = [later - earlier for earlier, later in zip(server.came, server.came[1:], strict=False)]
    assert gaps == [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60]
    assert ledger.repeated == {"429": 12}
    assert (ledger.requests, ledger.failed_requests) == (13, 12)


def test_backoff_is_by_chance():
    server = Server(*[RateLimited("slow down")] * 3, Reply("yes"), latency=0.0)
    all_of(channel(random=lambda: 0.0), server, 1)
    assert server.came == [0, 0.25, 0.75, 1.75]


def test_patience_begins_anew_when_the_server_says_something_else():
    script = [RateLimited("slow down", 800.0), TransientError("reset"), RateLimited("slow down", 800.0), Reply("yes")]
    assert all_of(channel(), Server(*script), 1) == [Reply("yes")]


def test_a_server_that_never_answers_but_slow_down_ends_it_after_a_quarter_of_an_hour():
    server, way = Server(RateLimited("slow down"), latency=0.0), channel()
    results = all_of(way, server, 3)
    assert {type(result) for result in results} == {JudgeError}
    assert set(causes(results)) == {"the oracle gives no answer: slow down (429); look at your limits and credit there"}
    assert 800 < server.came[-1] <= 900


def test_a_server_that_answers_others_loses_only_the_request_that_it_keeps_off():
    way = channel()

    async def scenario():
        kept_off = requests(way, Server(RateLimited("slow down", 60.0)), 1)
        while not kept_off[0].done():
            await asyncio.gather(*requests(way, Server(), 1))
        return kept_off[0].exception()

    error = in_no_time(scenario())
    assert isinstance(error, RetriesExhausted)
    assert str(error) == "no answer for 15 minutes: slow down"


def test_a_server_that_answers_no_more_stops_it_so_that_it_can_go_on_later():
    server, way = Server(Reply("yes"), RateLimited("the day's tokens are used up", 3600.0)), channel(concurrency=2)
    first, *others = all_of(way, server, 50)
    assert first == Reply("yes")
    assert {type(other) for other in others} == {Stopped}
    assert causes(others)[0] == (
        "stopped, as the oracle answers nothing now: the day's tokens are used up; give the same command later to go on"
    )
    assert len(server.came) <= 4


def test_what_fails_for_the_moment_is_asked_six_times():
    server, ledger = Server(*[TransientError("502: bad gateway")] * 5, Reply("yes"), latency=0.0), Ledger()
    assert all_of(channel(ledger, random=lambda: 1.0), server, 1) == [Reply("yes")]
    assert server.came == [0, 0.5, 1.5, 3.5, 7.5, 15.5]
    assert ledger.repeated == {"502": 5}
    assert (ledger.requests, ledger.failed_requests) == (6, 5)


def test_a_failing_server_that_asks_for_time_gets_it():
    server = Server(TransientError("503: overloaded", 20.0), Reply("yes"), latency=0.0)
    all_of(channel(), server, 1)
    assert server.came == [0, 20]


def test_a_failing_server_that_asks_for_an_hour_is_not_waited_for():
    way = channel()
    all_of(way, Server(), 1)
    (error,) = all_of(way, Server(TransientError("503: maintenance", 3600.0)), 1)
    assert str(error) == "no answer, asked 1 times: 503: maintenance"


def test_what_fails_six_times_is_given_up():
    way = channel(ledger := Ledger())
    all_of(way, Server(), 1)
    server = Server(TransientError("no reply within 10 s"))
    (error,) = all_of(way, server, 1)
    assert isinstance(error, RetriesExhausted)
    assert str(error) == "no answer, asked 6 times: no reply within 10 s"
    assert len(server.came) == 6
    assert ledger.repeated == {"no reply within 10 s": 5}


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


def test_a_rejected_request_fails_alone():
    way = channel()
    all_of(way, Server(), 1)
    results = all_of(way, server := Server(RequestRejected("the content filter refused it")), 10)
    assert {type(result) for result in results} == {RetriesExhausted}
    assert set(causes(results)) == {"the content filter refused it"}
    assert len(server.came) == 10


def test_if_the_first_five_are_rejected_all_are():
    server = Server(RequestRejected("unknown parameter: temperature."))
    results = all_of(channel(concurrency=1), server, 20)
    assert [type(result) for result in results] == [RetriesExhausted] * 4 + [JudgeError] * 16
    assert "the oracle rejects every request: unknown parameter: temperature; look at" in causes(results)[-1]
    assert len(server.came) == 5


def test_rejections_that_are_faster_than_the_first_replies_prove_nothing():
    server = Server((Reply("yes"), 9.0), (RequestRejected("too long"), 0.1), latency=0.1)
    results = all_of(channel(concurrency=2), server, 20)
    assert Counter(map(type, results)) == {Reply: 1, RetriesExhausted: 19}


def test_five_rejections_after_a_reply_prove_nothing():
    server = Server(*[(RequestRejected("too long"), 2.0)] * 5, Reply("yes"))
    results = all_of(channel(concurrency=6), server, 20)
    assert Counter(map(type, results)) == {RetriesExhausted: 5, Reply: 15}


def test_an_error_that_would_meet_every_request_is_told_to_all_at_once():
    server = Server(Reply("yes"), (ModelUnusable("the key is refused"), 0.5), Reply("late"))
    way = channel(concurrency=3)

    async def scenario():
        waiting = requests(way, server, 50)
        await asyncio.sleep(0.75)
        assert [task.done() for task in waiting].count(False) == 2  # those in flight
        return await asyncio.gather(*waiting, *requests(way, server, 1), return_exceptions=True)

    results = in_no_time(scenario())
    assert [r.text for r in results if isinstance(r, Reply)] == ["yes", "late"]
    assert set(causes(results)) == {"the key is refused"}
    assert len(server.came) == 3


def test_everybody_hears_the_same_error():
    server = Server((ModelUnusable("the key is refused"), 1.0), (ModelUnusable("no such model"), 2.0))
    assert set(causes(all_of(channel(concurrency=2), server, 5))) == {"the key is refused"}


def test_who_waits_to_repeat_a_request_is_told_too():
    way = channel()

    async def scenario():
        resting = requests(way, Server(TransientError("reset", 500.0), latency=0.0), 1)
        await asyncio.sleep(1)
        with pytest.raises(JudgeError):
            await requests(way, Server(ModelUnusable("no credit")), 1)[0]
        with pytest.raises(JudgeError, match="no credit"):
            await resting[0]
        return now()

    assert in_no_time(scenario()) == 2


def test_an_error_of_the_program_leaves_no_place_taken():
    way = channel(concurrency=1)

    async def broken():
        raise ZeroDivisionError

    assert [type(error) for error in all_of(way, broken, 3)] == [ZeroDivisionError] * 3
    assert way.admission.in_flight == 0


# replies that don't fit

PROMPT = Prompt("head", "question", {}, 100)


def read(reply):
    if reply.text == "yes":
        return "read"
    raise MalformedReply(f"{reply.text!r} is no answer")


def asked(server, ledger=None):
    """The answer, or the error, and what the server was shown each time."""

    async def scenario():
        try:
            return await channel(ledger).ask(server.send, PROMPT, read)
        except RetriesExhausted as error:
            return error

    answer = in_no_time(scenario())
    return answer, [(prompt.refused, prompt.largest_reply) for prompt in server.prompts]


def test_a_reply_that_fits_is_asked_for_once():
    assert asked(Server(Reply("yes"))) == ("read", [(None, 100)])


def test_a_malformed_reply_is_shown_to_the_model_with_its_fault():
    ledger = Ledger()
    answer, shown = asked(Server(Reply("perhaps", 5, 2, 0.5), Reply("yes", 5, 2, 0.25)), ledger)
    assert answer == "read"
    assert shown == [(None, 100), (("perhaps", "'perhaps' is no answer"), 100)]
    assert (ledger.requests, ledger.failed_requests, ledger.cost) == (2, 1, 0.75)
    assert ledger.repeated == {"malformed reply": 1}


def test_it_is_asked_for_five_times_by_turns_with_its_fault_and_without():
    ledger = Ledger()
    answer, shown = asked(Server(*map(Reply, "abcde")), ledger)
    assert isinstance(answer, RetriesExhausted)
    assert str(answer) == "the reply doesn't fit: 'e' is no answer"
    assert [refused and refused[0] for refused, _ in shown] == [None, "a", None, "c", None]
    assert (ledger.requests, ledger.failed_requests, ledger.repeated["malformed reply"]) == (5, 5, 4)


def test_a_reply_that_was_cut_off_gets_more_room_and_is_not_shown():
    ledger = Ledger()
    answer, shown = asked(Server(*[Reply("yes", truncated=True)] * 4, Reply("yes")), ledger)
    assert answer == "read"
    assert shown == [(None, 100), (None, 200), (None, 400), (None, 400), (None, 400)]
    assert ledger.repeated == {"truncated reply": 4}


def test_a_correction_that_was_cut_off_is_asked_for_without_the_fault():
    _, shown = asked(Server(Reply("a"), Reply("b", truncated=True), Reply("yes")))
    assert [(refused and refused[0], room) for refused, room in shown] == [(None, 100), ("a", 100), (None, 200)]


def test_a_reply_without_an_end_gets_no_more_room_and_is_shown_by_its_beginning():
    endless = '{"why": "' + "the excess is £450 in place of the £150 that other claims have, and " * 40
    ledger = Ledger()
    answer, shown = asked(Server(*[Reply(endless, truncated=True)] * 2, Reply("yes")), ledger)
    problem = "it says the same again and again without an end"
    assert answer == "read"
    assert shown == [(None, 100), ((endless[:1000], problem), 100), (None, 100)]
    assert ledger.repeated == {"endless reply": 2}
    assert str(asked(Server(Reply(endless, truncated=True)))[0]) == f"the reply doesn't fit: {problem}"


@pytest.mark.parametrize("thinks", [False, True])
def test_room_for_thoughts_is_given_until_three_replies_needed_none(thinks):
    prompt = Prompt("head", "question", {}, 4100, thought=4000)
    server = Server(Reply("yes", 5, 20), Reply("yes", 5, 900 if thinks else 100), *[Reply("yes", 5, 20)] * 3)

    async def scenario():
        way = channel()
        return [await way.ask(server.send, prompt, read) for _ in range(5)]

    assert in_no_time(scenario()) == ["read"] * 5
    assert [sent.largest_reply for sent in server.prompts] == [4100] * 3 + [4100 if thinks else 100] * 2


def test_a_reply_that_is_always_cut_off_is_given_up():
    answer, _ = asked(Server(Reply("yes", truncated=True)))
    assert str(answer) == "the reply doesn't fit: it was cut off at 400 tokens"


@pytest.mark.parametrize(
    ("replies", "ends"), [("x" * 60, True), ("xxxxxxxxxyxxxxxxxxxx", False), ("xxxxxxxxxt" + "x" * 60, True)]
)
def test_a_model_whose_first_ten_replies_do_not_fit_ends_the_run(replies, ends):
    script = {"x": Reply("perhaps"), "y": Reply("yes"), "t": Reply("yes", truncated=True)}
    server = Server(*(script[letter] for letter in replies))

    async def scenario():
        way = channel(concurrency=2)
        asking = [way.ask(server.send, PROMPT, read) for _ in range(12)]
        return await asyncio.gather(*asking, return_exceptions=True)

    results = in_no_time(scenario())
    said = (
        "the oracle writes nothing that fits: none of its first 10 replies did (of the last, 'perhaps' is no answer);"
    )
    assert [str(one).startswith(said) for one in results if isinstance(one, JudgeError)] == [True] * (12 if ends else 0)
    assert len(server.prompts) <= (13 if ends else 60)


def test_room_is_kept_when_the_next_reply_is_malformed():
    _, shown = asked(Server(Reply("a", truncated=True), Reply("b"), Reply("c"), Reply("yes")))
    assert [(refused and refused[0], room) for refused, room in shown] == [
        (None, 100), (None, 200), (None, 200), ("c", 200),
    ]  # fmt: skip


@pytest.mark.parametrize("reply", [Reply("a", price=0.0, truncated=True), Reply(200 * "a", price=0.0)])
def test_more_room_and_a_shown_reply_are_reserved_too(reply):
    server = Server(reply)

    async def scenario():
        with pytest.raises(Stopped):
            await channel(Ledger(budget=PROMPT.tokens + 140.0), DOLLAR).ask(server.send, PROMPT, read)

    in_no_time(scenario())
    assert len(server.prompts) == 1


# money


def test_the_budget_is_not_passed_though_all_could_start():
    server, ledger = Server(Reply("yes", price=2.0)), Ledger(budget=10.0)
    results = all_of(channel(ledger, DOLLAR), server, 20)
    assert [type(result) for result in results] == [Reply] * 5 + [Stopped] * 15
    assert ledger.cost == 10.0
    assert causes(results)[0].startswith("stopped before the budget of $10.00 was passed: $10.00 spent on 5 requests")


def test_requests_wait_for_those_in_flight_to_turn_out_cheaper():
    server, ledger = Server(Reply("yes", price=0.5)), Ledger(budget=10.0)
    results = all_of(channel(ledger, DOLLAR), server, 10)
    assert causes(results) == []
    assert Counter(server.came) == {0: 5, 1: 3, 2: 2}


def test_a_cheap_request_does_not_overtake_a_dear_one_that_waits_for_money():
    way, cheap, expensive = channel(Ledger(budget=10.0), DOLLAR), Server(), Server(Reply("yes", price=0.0))

    async def scenario():
        tasks = requests(way, expensive, 1) + requests(way, expensive, 1, tokens_in=8)
        await asyncio.sleep(0.5)
        await asyncio.gather(*tasks, *requests(way, cheap, 1))

    in_no_time(scenario())
    assert (expensive.came, cheap.came) == ([0, 1], [2])


def test_when_a_dear_request_is_cancelled_the_cheap_one_behind_it_starts():
    way, cheap, expensive = channel(Ledger(budget=10.0), DOLLAR), Server(), Server(Reply("yes", price=0.0))

    async def scenario():
        first, waiting = requests(way, expensive, 1) + requests(way, expensive, 1, tokens_in=8)
        behind = requests(way, cheap, 1)[0]
        await asyncio.sleep(0.5)
        waiting.cancel()
        await asyncio.gather(first, behind)

    in_no_time(scenario())
    assert (expensive.came, cheap.came) == ([0], [0.5])


def test_nobody_hears_of_the_end_before_the_last_reply_is_there():
    script = [(Reply("yes", price=2.0), latency) for latency in (1.0, 9.0, 3.0)]
    server, way = Server(*script), channel(Ledger(budget=6.0), DOLLAR)
    heard = []

    async def scenario():
        tasks = requests(way, server, 6)
        for task in tasks:
            task.add_done_callback(lambda task: heard.append((now(), type(task.exception()))))
        await asyncio.wait(tasks)
        with pytest.raises(Stopped):
            await requests(way, server, 1)[0]

    in_no_time(scenario())
    assert heard == [(1, type(None)), (3, type(None)), (9, type(None)), *[(9, Stopped)] * 3]
    assert len(server.came) == 3


def test_a_caller_who_cancels_everything_on_the_first_error_loses_no_reply():
    script = [(Reply("yes", price=2.0), latency) for latency in (1.0, 9.0, 3.0)]
    server, way = Server(*script), channel(Ledger(budget=6.0), DOLLAR)
    kept = []

    async def keeping():
        reply = await way.run(server, tokens_in=1, largest_reply=1)
        for _ in range(2):  # on its way through other tasks
            await asyncio.sleep(0)
        kept.append(reply)

    async def scenario():
        async with asyncio.TaskGroup() as group:
            for _ in range(10):
                group.create_task(keeping())

    with pytest.raises(ExceptionGroup):
        in_no_time(scenario())
    assert len(kept) == 3


def test_two_channels_share_one_budget():
    ledger = Ledger(budget=6.0)
    one, two = channel(ledger, DOLLAR), channel(ledger, DOLLAR)
    servers = Server((Reply("yes", price=1.0), 1.0)), Server((Reply("yes", price=1.0), 2.0))

    async def scenario():
        tasks = requests(one, servers[0], 5) + requests(two, servers[1], 5)
        return await asyncio.gather(*tasks, return_exceptions=True)

    results = in_no_time(scenario())
    assert Counter(map(type, results)) == {Reply: 5, Stopped: 5}
    assert ledger.cost == 5.0


def test_a_reply_without_a_price_counts_as_reserved():
    ledger = Ledger(budget=5.0)
    results = all_of(channel(ledger, DOLLAR), Server(), 5)
    assert Counter(map(type, results)) == {Reply: 2, Stopped: 3}
    assert ledger.cost == 4.0


def test_replies_that_are_dearer_than_they_could_be_make_room_for_later_ones():
    server, ledger = Server(Reply("yes", price=3.0), latency=1.0), Ledger(budget=10.0)
    all_of(channel(ledger, DOLLAR, concurrency=1), server, 10)
    assert ledger.cost == 9.0


def test_the_most_requests_are_exact():
    server, ledger = (
        Server(TransientError("reset"), Reply("yes"), RateLimited("slow down"), Reply("yes")),
        Ledger(max_requests=7),
    )
    results = all_of(channel(ledger, concurrency=3), server, 20)
    assert len(server.came) == ledger.requests == 7
    assert Counter(map(type, results)) == {Reply: 5, Stopped: 15}


def test_a_request_that_waits_to_be_repeated_ends_with_the_others():
    server, ledger = Server(RateLimited("slow down", 500.0), Reply("yes")), Ledger(max_requests=3)

    async def scenario():
        tasks = requests(channel(ledger, concurrency=1), server, 5)
        results = await asyncio.gather(*tasks, return_exceptions=True)
        return now(), results

    ended, results = in_no_time(scenario())
    assert ended == 3
    assert [type(result) for result in results] == [Stopped, Reply, Reply, Stopped, Stopped]
    assert ledger.repeated == {}


outcome = st.one_of(
    st.builds(lambda share, late: (Reply("yes", 1, 1, share), late), st.floats(0, 1), st.floats(0, 3)),
    st.builds(lambda late: (Reply("yes", 1, 1), late), st.floats(0, 3)),
    st.builds(lambda late: (TransientError("reset"), late), st.floats(0, 3)),
    st.builds(lambda late: (RateLimited("slow down", 1.0), late), st.floats(0, 3)),
)


@settings(max_examples=60)
@given(
    outcomes=st.lists(outcome, min_size=1, max_size=30),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=30),
    budget=st.floats(0, 60),
    before=st.floats(0, 5),
    most=st.integers(1, 8),
    max_requests=st.none() | st.integers(0, 20),
    cancelled=st.sets(st.integers(0, 29), max_size=5),
)
def test_whatever_happens_no_limit_is_passed_and_no_reply_is_lost(
    outcomes, sizes, budget, before, most, max_requests, cancelled
):
    ledger = Ledger(budget=budget, max_requests=max_requests, spent_before=before)
    way = channel(ledger, DOLLAR, concurrency=most)
    replies, taken, ends, peak = [], [], [], [0]

    async def one(i):
        async def once():
            result, late = outcomes[len(taken) % len(outcomes)]
            at, largest = len(taken), sizes[i] + 1.0
            taken.append(largest)
            assert before + sum(taken) <= budget + 1e-6
            peak[0] = max(peak[0], way.admission.in_flight)
            try:
                await asyncio.sleep(late)
            except asyncio.CancelledError:
                taken[at] = 0.0
                raise
            ends.append(now())
            if isinstance(result, Exception):
                taken[at] = 0.0
                raise result
            if result.price is not None:
                taken[at] *= result.price
            replies.append(Reply("yes", 1, 1, None if result.price is None else taken[at]))
            return replies[-1]

        return await way.run(once, tokens_in=sizes[i], largest_reply=1)

    async def scenario():
        tasks = [asyncio.ensure_future(one(i)) for i in range(len(sizes))]
        stopped = []
        for task in tasks:
            task.add_done_callback(lambda t: stopped.append(now()) if isinstance(_error(t), Stopped) else None)
        await asyncio.sleep(1.5)
        for i in cancelled & set(range(len(tasks))):
            tasks[i].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True), stopped

    results, stopped = in_no_time(scenario())
    assert len([result for result in results if isinstance(result, Reply)]) == len(replies)
    assert before + ledger.cost <= budget + 1e-6 or not replies
    assert ledger.cost == pytest.approx(sum(taken))
    assert ledger.requests == len(taken)
    assert max_requests is None or ledger.requests <= max_requests
    assert peak[0] <= most
    assert not stopped or not ends or min(stopped) >= max(ends)
    assert (way.admission.in_flight, ledger.in_flight) == (0, 0)


def _error(task):
    return None if task.cancelled() else task.exception()


# stopping, cancelling, starting anew


def test_after_a_stop_those_in_flight_end_and_no_other_starts():
    server, way = Server(Reply("yes"), latency=4.0), channel(concurrency=2)

    async def scenario():
        tasks = requests(way, server, 10)
        await asyncio.sleep(1)
        way.ledger.stop("interrupted")
        results = await asyncio.gather(*tasks, *requests(way, server, 1), return_exceptions=True)
        return now(), results

    ended, results = in_no_time(scenario())
    assert ended == 4
    assert results[:2] == [Reply("yes")] * 2
    assert {type(result) for result in results[2:]} == {Stopped}
    assert set(causes(results)) == {"interrupted"}
    assert len(server.came) == 2


def test_a_stop_with_nothing_in_flight_is_heard_at_once_by_those_who_rest():
    way = channel()

    async def scenario():
        tasks = requests(way, Server(RateLimited("slow down", 800.0)), 3)
        await asyncio.sleep(5)
        way.ledger.stop("interrupted")
        results = await asyncio.gather(*tasks, return_exceptions=True)
        return now(), {type(result) for result in results}

    assert in_no_time(scenario()) == (5, {Stopped})


def test_after_a_stop_nobody_rests():
    way = channel()

    async def scenario():
        task = requests(way, Server(RateLimited("slow down", 800.0), latency=4.0), 1)[0]
        await asyncio.sleep(1)
        way.ledger.stop("interrupted")
        with pytest.raises(Stopped):
            await task
        return now()

    assert in_no_time(scenario()) == 4


def test_cancelling_leaves_no_place_and_no_money_taken():
    ledger = Ledger(budget=4.0)
    way, server = channel(ledger, DOLLAR, concurrency=2), Server(Reply("yes", price=1.0), latency=5.0)

    async def scenario():
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

    in_no_time(scenario())
    assert (ledger.requests, ledger.failed_requests, ledger.cost) == (4, 1, 3.0)
    assert (way.admission.in_flight, ledger.in_flight) == (0, 0)


def test_who_is_cancelled_just_when_let_in_gives_the_place_back():
    way, server = channel(ledger := Ledger(), concurrency=1), Server()

    async def scenario():
        async def leaving():
            await way.run(server, tokens_in=1, largest_reply=1)
            second.cancel()  # it has been let in, and hasn't gone on yet

        first = asyncio.ensure_future(leaving())
        second, third = requests(way, server, 2)
        await asyncio.wait([first, second, third])
        assert second.cancelled()
        assert third.result() == Reply("yes")

    in_no_time(scenario())
    assert len(server.came) == ledger.requests == 2
    assert way.admission.in_flight == 0


def test_one_channel_serves_one_event_loop_after_another():
    way, server = channel(concurrency=2, rpm=600), Server()

    async def leaving():
        requests(way, server, 30)
        await asyncio.sleep(0.5)

    in_no_time(leaving())
    assert way.admission.in_flight == 0
    assert all_of(way, server, 30) == [Reply("yes")] * 30


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


def test_no_minute_has_more_tokens_than_asked():
    server = Server(Reply("yes", 60, 40))
    all_of(channel(tpm=1000), server, 40, tokens_in=60, largest_reply=40)
    assert most_in_a_minute(server.came, [100] * 40) <= 1000


def test_tokens_that_were_not_needed_are_given_back():
    server = Server(Reply("yes", 60, 40), latency=0.0)
    all_of(channel(tpm=1000), server, 40, tokens_in=60, largest_reply=440)
    assert most_in_a_minute(server.came, [100] * 40) <= 1000
    assert server.came[-1] < 400  # 1200 with the most that each might have taken


def test_requests_that_fail_take_no_reply_from_the_minute():
    server = Server(TransientError("reset"), Reply("yes", 1, 1), latency=0.0)
    all_of(channel(tpm=1000, random=lambda: 0.0), server, 2, tokens_in=10, largest_reply=490)
    assert server.came[-1] < 1


def test_a_request_that_is_larger_than_a_minute_goes_alone():
    server = Server(latency=0.0)
    all_of(channel(tpm=100), server, 3, tokens_in=200, largest_reply=100)
    assert server.came == pytest.approx([0, 179, 359], abs=1.01)


def test_who_waits_for_the_minute_can_be_stopped():
    way, server = channel(rpm=1), Server()

    async def scenario():
        tasks = requests(way, server, 3)
        await asyncio.sleep(5)
        way.ledger.stop("interrupted")
        results = await asyncio.gather(*tasks, return_exceptions=True)
        return now(), [type(result) for result in results]

    assert in_no_time(scenario()) == (5, [Reply, Stopped, Stopped])


def test_nothing_is_left_running_when_those_who_wait_for_the_minute_have_gone():
    async def scenario():
        tasks = requests(channel(rpm=1), Server(), 3)
        await asyncio.sleep(5)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    in_no_time(scenario())


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


def test_what_is_certain_to_be_one_text_s_own_fault_says_nothing_about_the_others():
    """A continued run may have nothing left but texts that the provider's filter refuses."""
    way, refusing = channel(), Server(RequestRejected("the filter refused it", alone=True))

    async def scenario():
        return await asyncio.gather(*requests(way, refusing, 8), return_exceptions=True)

    assert [type(error) for error in in_no_time(scenario())] == [RetriesExhausted] * 8


def test_requests_of_earlier_cases_go_first():
    way, server = channel(concurrency=1), Server()
    order = []

    async def asking(turn, at):
        TURN.set(turn)

        async def once():
            order.append((turn, at))
            return await server()

        await way.run(once, tokens_in=1, largest_reply=1)

    async def scenario():
        await asyncio.gather(*(asyncio.create_task(asking(turn, at)) for at in range(2) for turn in (3, 2, 1)))

    in_no_time(scenario())

    assert order == [(3, 0), (1, 0), (1, 1), (2, 0), (2, 1), (3, 1)]


def test_two_event_loops_at_once_are_refused():
    way, slow = channel(), Server(latency=1000.0)

    async def scenario():
        task = asyncio.ensure_future(way.run(slow, tokens_in=1, largest_reply=1))
        await asyncio.sleep(0)
        with pytest.raises(JudgeError, match="two event loops at once"):
            await asyncio.to_thread(asyncio.run, way.run(slow, tokens_in=1, largest_reply=1))
        task.cancel()

    asyncio.run(scenario())
