"""The runs of a watch are sent when all are judged."""

from pathlib import Path

import pytest
from fake_tools import FakeTool
from watched import CONFIG, fake, row

from cli_rows import written
from ragtriage.core.errors import StoreError
from ragtriage.monitor.outputs.send_run import SendOptions, SentScores, send_runs
from ragtriage.monitor.replay import WatchOptions, WindowClosed, replay
from ragtriage.monitor.windows import WindowSize
from ragtriage.readers import open_cases
from ragtriage.store import Store
from ragtriage.store.lease import exclusive
from servers import Said, Server, nobody

WINDOWS = 4


@pytest.fixture
def traffic(tmp_path: Path) -> Path:
    """So many windows of an hour, six cases each."""
    rows = [row(i, trace_id=f"{i + 1:032x}", span_id=f"{i + 1:016x}") for i in range(6 * WINDOWS)]
    return written(tmp_path / "t.jsonl", rows)


def watch(store: Store, traffic: Path, notify=lambda _: None, file: Path | None = None, **addresses: str) -> SentScores:
    """Replay the traffic, and send what is judged."""
    sent: list[SentScores] = []

    def send(runs):
        sent.append(send_runs(store.database, runs, CONFIG, addresses, file, {}, SendOptions(patience=0.0)))

    options = WatchOptions(size=WindowSize.parse("1h"))
    replay([open_cases(traffic)], fake(), store, CONFIG, options, notify, send)
    (once,) = sent
    return once


def test_no_tool_is_asked_before_all_is_judged(store, traffic, tmp_path):
    heard, file = [], tmp_path / "scores.jsonl"
    with Server(FakeTool("phoenix")) as there:

        def closed(event: object) -> None:
            if isinstance(event, WindowClosed):
                heard.append(len(there.heard))

        sent = watch(store, traffic, closed, file, phoenix=there.root)

    (done,) = sent.tools
    assert heard == [0] * WINDOWS
    assert (done.sent["score"], done.complete) == (6 * WINDOWS, True)
    assert sent.file.records == 6 * WINDOWS


def test_a_tool_that_is_dead_is_tried_for_one_window_and_sent_all_by_the_same_command(store, traffic):
    with Server(Said("down", 503)) as there:
        (done,) = watch(store, traffic, langfuse=there.root).tools
        asked = len(there.heard)

    assert asked == 1
    assert (done.left, done.why, done.sent.total()) == (6 * WINDOWS, "HTTP 503", 0)
    with Server(FakeTool("langfuse")) as there:
        (again,) = watch(store, traffic, langfuse=there.root).tools
    assert (again.sent["score"], again.complete) == (6 * WINDOWS, True)


def test_one_that_is_dead_takes_nothing_from_the_others(store, traffic):
    dead = nobody().removesuffix("/v1")
    with Server(FakeTool("phoenix")) as there:
        phoenix, opik = watch(store, traffic, phoenix=there.root, opik=dead).tools

    assert (phoenix.sent["score"], phoenix.complete) == (6 * WINDOWS, True)
    assert (opik.left, opik.complete) == (6 * WINDOWS, False)


def test_what_goes_wrong_is_raised_when_all_is_judged(store, traffic):
    with Server(FakeTool("phoenix")) as there:
        lock = exclusive(store.database, f"sending run 1 to phoenix {there.root}", party="other", patience=0.0)
        with lock, pytest.raises(StoreError, match="sending run 1"):
            watch(store, traffic, phoenix=there.root)
    with store as there:
        assert len(there.runs()) == WINDOWS
