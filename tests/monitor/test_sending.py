"""Scores on their way: each tool gets each once, whatever happens; what can't be sent waits, is counted and said."""

import asyncio
import re
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from fake_tools import FakeTool
from traced_runs import SECRET_TEXT, case_for, keep_run, records

from forked import Child
from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError, StoreError
from ragtriage.monitor.outputs.channel import ToolChannel, joined
from ragtriage.monitor.outputs.destinations import DESTINATIONS
from ragtriage.monitor.outputs.entries import Entry
from ragtriage.monitor.outputs.scores import RunScores
from ragtriage.monitor.outputs.send_run import SendOptions, send_run
from ragtriage.monitor.outputs.sending import Delivered, Delivery
from ragtriage.runs.evaluation_config import config_of
from ragtriage.store import Store, open_store
from ragtriage.store.lease import exclusive
from ragtriage.store.watch_tables import WAITING, Outbox, OutboxEntry
from servers import Heard, Said, Server, nobody

TOOLS = [*DESTINATIONS]
NUMBERS_ONLY = {"langfuse", "opik"}
CASES = 4
FAULTS = [Said("down", 500), Said("", reset=True), Said("slow down", 429, {"Retry-After": "1"})]


async def no_pause(_: float) -> None:
    """Waits for nothing."""


def run_for(tool: str, store: Store, cases: Sequence[Case] = ()) -> int:
    return keep_run(store, list(records(cases or [case_for(tool, i) for i in range(CASES)])))


def sent(store: Store, number: int, tool: str, url: str, env: Any = None, **options: Any) -> Delivered:
    run = store.run(number)
    kept = SendOptions(**{"patience": 5.0} | options)
    (done,) = send_run(store.database, run, config_of(run.info), {tool: url}, env or {}, kept, sleep=no_pause)
    return done


def once(tool: FakeTool, count: int) -> None:
    assert tool.twice == []
    assert len(tool.kept) == count


def size(tool: str) -> int:
    """How many entries a run of `CASES` cases has for a tool."""
    return {"phoenix": 7 * CASES + 2 * CASES + 7 * CASES // 2, "opik": 7 * CASES + 7 * CASES // 2}.get(tool, 7 * CASES)


@pytest.mark.parametrize("tool", TOOLS)
def test_what_is_sent_again_is_there_once_and_what_has_changed_in_its_place(store, tool):
    number, server = run_for(tool, store), FakeTool(tool)
    with Server(*FAULTS, server) as there:  # which are waited out
        first, second = (sent(store, number, tool, there.root) for _ in range(2))
        requests = len(there.heard)
        third = sent(store, number, tool, there.root)
        assert len(there.heard) == requests
        once(server, size(tool))
        changed = sent(store, number, tool, there.root, quote=True)

    assert (first.complete, sum(first.sent.values()), first.before) == (True, size(tool), 0)
    assert (second.complete, sum(second.sent.values()), second.before) == (True, 0, size(tool))
    assert third.before == size(tool)
    assert 0 < sum(changed.sent.values()) <= size(tool)
    assert changed.complete
    if tool != "otlp":  # the last record counts
        once(server, size(tool))
    assert "says the heron" in str(server.kept)


@pytest.mark.parametrize("tool", TOOLS)
def test_a_reply_that_is_lost_doubles_nothing(store, tool):
    """The tool took it, and the connection broke before it could say so."""
    number, server, lost = run_for(tool, store), FakeTool(tool), []

    def loses_some(heard: Heard) -> Said:
        said = server(heard)
        if heard.method != "GET" and len(lost) < 3:
            lost.append(heard)
            return Said("", reset=True)
        return said

    with Server(loses_some) as there:
        done = sent(store, number, tool, there.root)

    assert done.complete
    assert len(lost) == 3
    if tool != "otlp":
        once(server, size(tool))


@pytest.mark.parametrize("tool", TOOLS)
def test_what_cant_be_sent_is_left_and_goes_out_the_next_time(store, tool):
    number, server = run_for(tool, store), FakeTool(tool)
    faults = {"HTTP 503": Said("down", 503), "no connection: ": Said("", reset=True)}
    now: list[Said] = []

    with Server(lambda heard: now[0] if now else server(heard)) as there:
        for why, fault in faults.items():
            now[:] = [fault]
            done = sent(store, number, tool, there.root, patience=0.0)
            assert (done.left, sum(done.sent.values()), done.complete) == (size(tool), 0, False)
            assert done.why.startswith(why)
        now.clear()
        then, again = (sent(store, number, tool, there.root) for _ in range(2))

    assert (then.left, sum(then.sent.values())) == (0, size(tool))
    assert again.before == size(tool)
    once(server, size(tool))


def test_a_dead_tool_holds_no_other_up(store):
    number, server = run_for("phoenix", store), FakeTool("phoenix")
    run = store.run(number)
    seen: list[int] = []

    async def until_the_other_has_all(_: float) -> None:
        for _ in range(3000):
            if len(server.kept) == size("phoenix"):
                break
            await asyncio.sleep(0.01)
        seen.append(len(server.kept))

    with Server(server) as there:
        to = {"langfuse": nobody().removesuffix("/v1"), "phoenix": there.root}
        options = SendOptions(patience=1.5)  # so that there is one pause, of a second
        found = send_run(store.database, run, config_of(run.info), to, {}, options, sleep=until_the_other_has_all)

    dead, alive = found
    assert (alive.complete, sum(alive.sent.values())) == (True, size("phoenix"))
    assert (dead.left, dead.why.startswith("no connection")) == (7 * CASES, True)
    assert seen == [size("phoenix")]


UNKNOWN = "it isn't known there (HTTP 404)"
IDS = {
    "phoenix": (lambda case: case.tags["span_id"], UNKNOWN),
    "langfuse": (lambda case: case.trace_id, "refused (HTTP 207)"),
    "mlflow": (lambda case: f"tr-{case.trace_id}", UNKNOWN),
    "opik": (lambda case: case.tags["span_id"], "refused (HTTP 400)"),
    "langsmith": (lambda case: case.tags["span_id"], UNKNOWN),
}
"""A tool → its id of a case, and what is told where it doesn't know that."""


@pytest.mark.parametrize("tool", [*IDS])
def test_what_a_tool_doesnt_know_is_counted_by_reason_and_the_rest_goes_out(store, tool):
    cases, (id_of, reason) = [case_for(tool, i) for i in range(CASES)], IDS[tool]
    number, server = run_for(tool, store, cases), FakeTool(tool, (id_of(cases[2]),))
    with Server(server) as there:
        first = sent(store, number, tool, there.root)
        heard = len(there.heard)
        second = sent(store, number, tool, there.root)
        assert len(there.heard) == heard
        server._unknown = ()
        third = sent(store, number, tool, there.root, retry_refused=True)

    assert first.refused == Counter({reason: 7})
    assert (sum(first.sent.values()), first.left, first.complete) == (size(tool) - 7, 0, False)
    assert (second.refused, second.before, second.complete) == (first.refused, size(tool) - 7, False)
    assert (sum(third.sent.values()), third.complete) == (7, True)
    once(server, size(tool))


@pytest.mark.parametrize("tool", TOOLS)
def test_a_bad_request_ends_its_entries(store, tool):
    number = run_for(tool, store)
    with Server(Said({"detail": "bad"}, 400)) as there:
        done = sent(store, number, tool, there.root)
        again = sent(store, number, tool, there.root)

    assert done.refused == Counter({"refused (HTTP 400)": size(tool)})
    assert done.said == {"refused (HTTP 400)": '{"detail": "bad"}'}
    assert (done.left, again.refused) == (0, done.refused)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    ("said", "told"),
    [
        (Said("<!doctype html>404", 404), "there is no such page"),
        (Said({"detail": "Not Found"}, 404), "there is no such page"),
        (Said("Method Not Allowed", 405), "there is no such page"),
        (Said("<html>welcome</html>", 200), "there is no such page"),
        (Said("no", 401), "HTTP 401: it wants other keys: see "),
        (Said("no", 403), "HTTP 403: it wants other keys: see "),
        (Said("", 307, {"Location": "http://elsewhere.example/x"}), "HTTP 307: it has moved: name http://elsewhere"),
    ],
)
def test_a_wrong_address_or_key_ends_the_sending_at_once(store, tool, said, told):
    number = run_for(tool, store)
    with Server(said) as there:
        done = sent(store, number, tool, there.root)

    assert told in done.why
    assert (done.left, done.refused, done.complete) == (size(tool), Counter(), False)
    assert len(there.heard) <= DESTINATIONS[tool].in_flight


@pytest.mark.parametrize("tool", TOOLS)
def test_undefined_is_said_or_left_out_and_never_a_number(store, tool):
    cases = [case_for(tool, 0, response=None)]
    number, server = run_for(tool, store, cases), FakeTool(tool)
    with Server(server) as there:
        done = sent(store, number, tool, there.root)

    scores = done.sent["score"]
    assert (scores, done.undefined) == ((3, 4) if tool in NUMBERS_ONLY else (7, 0))
    assert done.complete
    text = str([heard.body for heard in there.heard])
    assert re.search(r"\bnan\b", text, re.IGNORECASE) is None
    for told in {
        "phoenix": ["'label': 'undefined'"],
        "mlflow": ["no response was given", "'value': None"],
        "langsmith": ["'comment': 'no response was given'"],
        "otlp": ["error.type"],
    }.get(tool, ()):
        assert text.count(told) == 4


def test_a_body_is_below_the_tools_limit(store):
    long = "The heron is bad. " * 100
    cases = [case_for("langfuse", i, response=f"{long}{i}") for i in range(3)]
    run, server = store.run(run_for("langfuse", store, cases)), FakeTool("langfuse")
    sizes: list[int] = []

    def measured(heard: Heard) -> Said:
        sizes.append(int(heard.headers["content-length"]))
        return server(heard)

    async def deliver(url: str) -> Delivered:
        channel = ToolChannel(replace(DESTINATIONS["langfuse"], most_bytes=4_000), url, {}, 5.0)
        scores = RunScores(run, config_of(run.info), quote=True)
        try:
            return await Delivery(scores, channel, Outbox(store.database, run.number, "x"), {}).deliver()
        finally:
            channel.close()

    with Server(measured) as there:
        done = asyncio.run(deliver(there.root))

    assert (done.complete, len(server.kept)) == (True, 21)
    assert len(sizes) > 3
    assert max(sizes) <= 4_000
    assert DESTINATIONS["langfuse"].most_bytes == 1_000_000


def test_two_processes_dont_send_the_same_at_the_same_time(store):
    number = run_for("mlflow", store)
    with (
        Server(FakeTool("mlflow")) as there,
        exclusive(store.database, f"sending run {number} to mlflow {there.root}", party="other", patience=0.0),
    ):
        with pytest.raises(StoreError, match="is being done by process"):
            sent(store, number, "mlflow", there.root)
        assert there.heard == []


@pytest.mark.parametrize("url", ["phoenix", "ftp://a", "http://", "http://a:b"])
def test_what_is_no_address_is_refused_before_anything_is_sent(store, url):
    number = run_for("phoenix", store)
    with pytest.raises(ConfigError, match="is no address"):
        sent(store, number, "phoenix", url)


def test_langsmith_gets_the_id_of_the_project_that_the_environment_names(store):
    number, server, env = run_for("langsmith", store), FakeTool("langsmith"), {"LANGSMITH_PROJECT": "p"}
    with Server(Said([])) as there:
        unknown = sent(store, number, "langsmith", there.root, env)
        assert len(there.heard) == 1
    with Server(server) as there:
        done = sent(store, number, "langsmith", there.root, env)

    assert unknown.why == "it knows no project 'p': see LANGSMITH_API_KEY"
    assert unknown.left == 7 * CASES
    assert done.complete
    assert {one["session_id"] for one in server.kept.values()} == {"a400e5d7-0409-5a81-9050-3991208ceec1"}


def test_an_assessment_that_somebody_deleted_is_made_anew(store):
    number, server = run_for("mlflow", store), FakeTool("mlflow")
    with Server(server) as there:
        sent(store, number, "mlflow", there.root)
        # one that is sent again since it says more with quotations; of some metrics none has claims
        gone = next(key for key, one in server.kept.items() if one["assessment_name"] == "groundedness")
        del server.kept[gone]
        server.kept[("a-99",)] = {"trace_id": "other", "metadata": {}, "assessment_name": "other"}
        again = sent(store, number, "mlflow", there.root, quote=True)

    assert again.complete
    once(server, 7 * CASES + 1)


def test_what_a_collector_rejects_is_counted(store):
    number = run_for("otlp", store)
    with Server(Said({"partialSuccess": {"rejectedLogRecords": "3", "errorMessage": "no"}})) as there:
        done = sent(store, number, "otlp", there.root)

    assert (done.sent["score"], done.refused) == (7 * CASES - 3, Counter({"it took a part of a batch": 3}))
    assert not done.complete


def test_a_path_is_put_beneath_an_address():
    for address, path, whole in (
        ("http://a:1", "/v1/logs", "http://a:1/v1/logs"),
        ("http://a:1/v1", "/v1/logs", "http://a:1/v1/logs"),
        ("http://a:1/v1/logs", "/v1/logs", "http://a:1/v1/logs"),
        ("http://a/opik/api", "/api/v1/private/spans", "http://a/opik/api/v1/private/spans"),
        ("http://a/api/v1", "/feedback", "http://a/api/v1/feedback"),
        ("http://v1", "/v1/logs", "http://v1/v1/logs"),
    ):
        assert joined(address, path) == whole


KILLED = """
import sys
from ragtriage.monitor.outputs.send_run import SendOptions, send_run
from ragtriage.runs.evaluation_config import config_of
from ragtriage.store import open_store
where, number, tool, url = sys.argv[1:]
with open_store(where) as store:
    run = store.run(int(number))
    send_run(store.database, run, config_of(run.info), {tool: url}, {}, SendOptions())
"""


@pytest.mark.parametrize("tool", ["mlflow", "phoenix"])
def test_killed_in_the_middle_it_goes_on_and_doubles_nothing(tmp_path, tool):
    where, server = tmp_path / "store", FakeTool(tool)
    enough = 10 if DESTINATIONS[tool].most == 1 else 1
    with open_store(where) as store:
        number = run_for(tool, store)
    children: list[Child] = []

    def kills(heard: Heard) -> Said:
        said = server(heard)
        if len(there.heard) == enough:
            children[0].kill()
            children[0].wait()
        return said

    with Server(kills) as there, Child(where, number, tool, there.root, folder=tmp_path, code=KILLED) as child:
        children.append(child)
        assert child.wait() == -signal.SIGKILL
        assert server.kept
        with open_store(where) as store:
            done = sent(store, number, tool, there.root)

    assert done.complete
    once(server, size(tool))
    assert {path.name for path in where.iterdir()} <= {".gitignore", "runs.sqlite"}


@pytest.mark.parametrize("tool", ["phoenix", "mlflow"])
def test_after_the_texts_of_a_run_are_deleted_nothing_of_them_goes_out(store, tool):
    number, server = run_for(tool, store), FakeTool(tool)
    with Server(server) as there:
        sent(store, number, tool, there.root)
        store.forget_texts(number)
        again = sent(store, number, tool, there.root, quote=True)

    assert again.complete
    once(server, size(tool))
    assert SECRET_TEXT not in str(server.kept)


def test_what_may_have_arrived_is_looked_for_also_after_the_tool_was_away(store):
    number, server = run_for("mlflow", store), FakeTool("mlflow")
    mode = ["takes and is silent"]

    def says(heard: Heard) -> Said:
        said = server(heard) if mode[0] != "is away" else Said()
        return said if mode[0] == "is there" else Said("", reset=True)

    with Server(says) as there:
        first = sent(store, number, "mlflow", there.root, patience=0.0)
        taken = len(server.kept)
        mode[0] = "is away"
        second = sent(store, number, "mlflow", there.root, patience=0.0)
        mode[0] = "is there"
        third = sent(store, number, "mlflow", there.root)

    assert taken > 0
    assert (first.left, second.left, third.complete) == (7 * CASES, 7 * CASES, True)
    once(server, 7 * CASES)


def test_what_langsmith_has_by_its_id_is_changed(store):
    number, server = run_for("langsmith", store), FakeTool("langsmith")
    with Server(server) as there:
        sent(store, number, "langsmith", there.root)
        for one in server.kept.values():
            one["score"] = 0.123
        # another store's outbox, as after a kill before anything was written down
        Outbox(store.database, number, f"langsmith {there.root}").keep(
            {key: OutboxEntry(b"x" * 16, WAITING) for key in keys_of(store, number)}
        )
        again = sent(store, number, "langsmith", there.root)

    assert again.complete
    once(server, 7 * CASES)
    assert 0.123 not in {one["score"] for one in server.kept.values()}


def keys_of(store: Store, number: int) -> set[bytes]:
    run = store.run(number)
    scores = RunScores(run, config_of(run.info))
    found = (one for trace in scores for one in DESTINATIONS["langsmith"].entries(trace, scores.by))
    return {one.key for one in found if isinstance(one, Entry)}
