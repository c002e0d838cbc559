"""What is spent through the channel, and what is asked again because a reply doesn't fit."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timed_channel import DOLLAR, Server, all_of, causes, channel, in_no_time, now, requests, timed

from examples import examples
from ragtriage.core.errors import JudgeError, Stopped
from ragtriage.judges.budget import Ledger
from ragtriage.judges.llm.channel import RetriesExhausted
from ragtriage.judges.llm.options import MalformedReply, Prompt, RateLimited, Reply, TransientError

PROMPT = Prompt("head", "question", {}, 100)
ENDLESS = '{"why": "' + "the excess is £450 in place of the £150 that other claims have, and " * 40
NO_END = "it says the same again and again without an end"


def read(reply):
    if reply.text == "yes":
        return "read"
    raise MalformedReply(f"{reply.text!r} is no answer")


def fault_of(text):
    return NO_END if text.startswith(ENDLESS[:9]) else f"{text!r} is no answer"


def written(text):
    """A text of the examples."""
    return text and text.replace("{endless}", ENDLESS)


@pytest.mark.parametrize("row", examples("replies_that_do_not_fit"))
def test_a_reply_that_does_not_fit_is_asked_for_again(row):
    replies = [(text.removesuffix(" (cut off)"), text.endswith(" (cut off)")) for text in row["replies"]]
    server, ledger = Server(*(Reply(written(text), truncated=cut_off) for text, cut_off in replies)), Ledger()

    async def scenario():
        try:
            return await channel(ledger).ask(server.send, PROMPT, read)
        except RetriesExhausted as error:
            return str(error)

    assert in_no_time(scenario()) == row["answer"]
    assert [(prompt.refused, prompt.largest_reply) for prompt in server.prompts] == [
        (text and (written(text)[:1000], fault_of(written(text))), room) for text, room in row["shown"]
    ]
    assert ledger.repeated == row["repeated"]
    asked = len(row["shown"])
    assert (ledger.requests, ledger.failed_requests) == (asked, asked - (row["answer"] == "read"))


def test_replies_that_do_not_fit_are_paid_for():
    server, ledger = Server(Reply("perhaps", 5, 2, 0.5), Reply("yes", 5, 2, 0.25)), Ledger()
    in_no_time(channel(ledger).ask(server.send, PROMPT, read))
    assert ledger.cost == 0.75


@pytest.mark.parametrize("thinks", [False, True])
@timed
async def test_room_for_thoughts_is_given_until_three_replies_needed_none(thinks):
    prompt = Prompt("head", "question", {}, 4100, thought=4000)
    server = Server(Reply("yes", 5, 20), Reply("yes", 5, 900 if thinks else 100), *[Reply("yes", 5, 20)] * 3)
    way = channel()
    assert ([await way.ask(server.send, prompt, read) for _ in range(5)]) == ["read"] * 5
    assert [sent.largest_reply for sent in server.prompts] == [4100] * 3 + [4100 if thinks else 100] * 2


@pytest.mark.parametrize(
    ("replies", "ends"), [("x" * 60, True), ("xxxxxxxxxyxxxxxxxxxx", False), ("xxxxxxxxxt" + "x" * 60, True)]
)
@timed
async def test_a_model_whose_first_ten_replies_do_not_fit_ends_the_run(replies, ends):
    script = {"x": Reply("perhaps"), "y": Reply("yes"), "t": Reply("yes", truncated=True)}
    server = Server(*(script[letter] for letter in replies))
    way = channel(concurrency=2)
    asking = [way.ask(server.send, PROMPT, read) for _ in range(12)]
    results = await asyncio.gather(*asking, return_exceptions=True)
    said = (
        "the oracle writes nothing that fits: none of its first 10 replies did (of the last, 'perhaps' is no answer);"
    )
    assert [str(one).startswith(said) for one in results if isinstance(one, JudgeError)] == [True] * (12 if ends else 0)
    assert len(server.prompts) <= (13 if ends else 60)


@pytest.mark.parametrize("reply", [Reply("a", price=0.0, truncated=True), Reply(200 * "a", price=0.0)])
@timed
async def test_more_room_and_a_shown_reply_are_reserved_too(reply):
    server = Server(reply)
    with pytest.raises(Stopped):
        await channel(Ledger(budget=PROMPT.tokens + 140.0), DOLLAR).ask(server.send, PROMPT, read)
    assert len(server.prompts) == 1


@pytest.mark.parametrize(
    ("price", "budget", "count", "options", "replies", "cost", "came"),
    [
        (2.0, 10.0, 20, {}, 5, 10.0, {0: 5}),
        (0.5, 10.0, 10, {}, 10, 5.0, {0: 5, 1: 3, 2: 2}),
        (None, 5.0, 5, {}, 2, 4.0, {0: 2}),
        (3.0, 10.0, 10, {"concurrency": 1}, 3, 9.0, {0: 1, 1: 1, 2: 1}),
    ],
    ids=["as dear as may be", "cheaper than may be", "without a price", "dearer than may be"],
)
def test_the_budget_is_not_passed_by_what_may_be_spent(price, budget, count, options, replies, cost, came):
    """A request may cost two dollars; it waits while those in flight may turn out cheaper."""
    server, ledger = Server(Reply("yes", price=price)), Ledger(budget=budget)
    results = all_of(channel(ledger, DOLLAR, **options), server, count)
    assert [type(result) for result in results] == [Reply] * replies + [Stopped] * (count - replies)
    assert ledger.cost == cost
    assert Counter(server.came) == came
    said = f"stopped before the budget of ${budget:.2f} was passed: ${cost:.2f} spent on {replies} requests"
    assert all(cause.startswith(said) for cause in causes(results))


@timed
async def test_a_cheap_request_does_not_overtake_a_dear_one_that_waits_for_money():
    way, cheap, expensive = channel(Ledger(budget=10.0), DOLLAR), Server(), Server(Reply("yes", price=0.0))
    tasks = requests(way, expensive, 1) + requests(way, expensive, 1, tokens_in=8)
    await asyncio.sleep(0.5)
    await asyncio.gather(*tasks, *requests(way, cheap, 1))
    assert (expensive.came, cheap.came) == ([0, 1], [2])


@timed
async def test_when_a_dear_request_is_cancelled_the_cheap_one_behind_it_starts():
    way, cheap, expensive = channel(Ledger(budget=10.0), DOLLAR), Server(), Server(Reply("yes", price=0.0))
    first, waiting = requests(way, expensive, 1) + requests(way, expensive, 1, tokens_in=8)
    behind = requests(way, cheap, 1)[0]
    await asyncio.sleep(0.5)
    waiting.cancel()
    await asyncio.gather(first, behind)
    assert (expensive.came, cheap.came) == ([0], [0.5])


@timed
async def test_nobody_hears_of_the_end_before_the_last_reply_is_there():
    script = [(Reply("yes", price=2.0), latency) for latency in (1.0, 9.0, 3.0)]
    server, way = Server(*script), channel(Ledger(budget=6.0), DOLLAR)
    heard = []
    tasks = requests(way, server, 6)
    for task in tasks:
        task.add_done_callback(lambda task: heard.append((now(), type(task.exception()))))
    await asyncio.wait(tasks)
    with pytest.raises(Stopped):
        await requests(way, server, 1)[0]
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


@timed
async def test_two_channels_share_one_budget():
    ledger = Ledger(budget=6.0)
    one, two = channel(ledger, DOLLAR), channel(ledger, DOLLAR)
    servers = Server((Reply("yes", price=1.0), 1.0)), Server((Reply("yes", price=1.0), 2.0))
    tasks = requests(one, servers[0], 5) + requests(two, servers[1], 5)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert Counter(map(type, results)) == {Reply: 5, Stopped: 5}
    assert ledger.cost == 5.0


def test_the_most_requests_are_exact():
    server, ledger = (
        Server(TransientError("reset"), Reply("yes"), RateLimited("slow down"), Reply("yes")),
        Ledger(max_requests=7),
    )
    results = all_of(channel(ledger, concurrency=3), server, 20)
    assert len(server.came) == ledger.requests == 7
    assert Counter(map(type, results)) == {Reply: 5, Stopped: 15}


@timed
async def test_a_request_that_waits_to_be_repeated_ends_with_the_others():
    server, ledger = Server(RateLimited("slow down", 500.0), Reply("yes")), Ledger(max_requests=3)
    tasks = requests(channel(ledger, concurrency=1), server, 5)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert now() == 3
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
@timed
async def test_whatever_happens_no_limit_is_passed_and_no_reply_is_lost(
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

    tasks = [asyncio.ensure_future(one(i)) for i in range(len(sizes))]
    stopped = []
    for task in tasks:
        task.add_done_callback(lambda t: stopped.append(now()) if isinstance(_error(t), Stopped) else None)
    await asyncio.sleep(1.5)
    for i in cancelled & set(range(len(tasks))):
        tasks[i].cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
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
