"""Runs that are sent while later ones are judged."""

import threading
from pathlib import Path

import pytest
from fake_tools import FakeTool
from watched import CONFIG, fake, row

from cli_rows import written
from ragtriage.core.errors import StoreError
from ragtriage.monitor.outputs.send_run import RunSender, SendOptions
from ragtriage.monitor.replay import WatchOptions, WindowClosed, replay
from ragtriage.monitor.windows import WindowSize
from ragtriage.readers import open_cases
from ragtriage.store import Store
from ragtriage.store.lease import exclusive
from ragtriage.store.watch_tables import waiting_entries
from servers import Heard, Said, Server, nobody

WINDOWS = 4


@pytest.fixture
def traffic(tmp_path: Path) -> Path:
    """So many windows of an hour, six cases each."""
    rows = [row(i, trace_id=f"{i + 1:032x}", span_id=f"{i + 1:016x}") for i in range(6 * WINDOWS)]
    return written(tmp_path / "t.jsonl", rows)


def sender(store: Store, patience: float = 0.0, **addresses: str) -> RunSender:
    return RunSender(store.database, CONFIG, addresses, None, {}, SendOptions(patience=patience))


def watch(store: Store, traffic: Path, out: RunSender, notify=lambda _: None):
    options = WatchOptions(size=WindowSize.parse("1h"))
    return replay([open_cases(traffic)], fake(), store, CONFIG, options, notify, out)


def test_a_tool_that_is_slow_holds_up_no_judging(store, traffic):
    judged, tool, before = threading.Event(), FakeTool("phoenix"), []

    def slow(heard: Heard) -> Said:
        before.append(judged.wait(20))
        return tool(heard)

    def closed(event: object) -> None:
        if isinstance(event, WindowClosed) and event.row.ends == "2026-11-01T04:00:00+00:00":
            judged.set()

    with Server(slow) as there, sender(store, phoenix=there.root) as out:
        watch(store, traffic, out, closed)
        (done,) = out.sent.tools

    assert before == [True] * WINDOWS
    assert (done.sent["score"], done.complete) == (6 * WINDOWS, True)


def test_a_tool_that_is_dead_is_tried_for_one_window(store, traffic):
    """All that it should have got waits in the outbox, so that `send` finds it."""
    with Server(Said("down", 503)) as there:
        with sender(store, langfuse=there.root) as out:
            watch(store, traffic, out)
            (done,) = out.sent.tools
        asked = len(there.heard)

    assert asked == 1
    assert (done.left, done.why, done.sent.total()) == (6 * WINDOWS, "HTTP 503", 0)
    assert [(one.run, one.entries) for one in waiting_entries(store.database)] == [(i + 1, 6) for i in range(WINDOWS)]


def test_one_that_is_dead_takes_nothing_from_the_others(store, traffic):
    tool = FakeTool("phoenix")
    dead = nobody().removesuffix("/v1")
    with Server(tool) as there, sender(store, phoenix=there.root, opik=dead) as out:
        watch(store, traffic, out)
        phoenix, opik = out.sent.tools

    assert (phoenix.sent["score"], phoenix.complete) == (6 * WINDOWS, True)
    assert (opik.left, opik.complete) == (6 * WINDOWS, False)


def test_what_goes_wrong_in_its_thread_is_raised_where_it_is_waited_for(store, traffic):
    with Server(FakeTool("phoenix")) as there:
        lock = exclusive(store.database, f"sending run 1 to phoenix {there.root}", party="other", patience=0.0)
        with lock, sender(store, phoenix=there.root) as out, pytest.raises(StoreError, match="sending run 1"):
            watch(store, traffic, out)
    with store as there:
        assert len(there.runs()) == WINDOWS
