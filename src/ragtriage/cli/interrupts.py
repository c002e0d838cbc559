"""Ctrl-C while a model is asked: requests in flight are paid for, so they are awaited."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ragtriage.cli.console import tell
from ragtriage.execution.evaluating import INTERRUPTED
from ragtriage.judges.session import JudgeSession


@contextmanager
def graceful_ctrl_c(session: JudgeSession) -> Iterator[None]:
    """Let the first Ctrl-C wait for the requests in flight; a second one doesn't."""
    if not session.config.paid or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, leave)
        _in_event_loop(begin_to_stop)

    def begin_to_stop() -> None:
        tell("\nstopping when the requests in flight have come in (Ctrl-C again: don't wait for them)")
        session.ledger.stop(INTERRUPTED)

    def leave(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _in_event_loop(_interrupt)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _in_event_loop(act: Callable[[], None]) -> None:
    """Act between two steps of the event loop, since a signal comes in the middle of one; at once where none runs."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        act()
    else:
        loop.call_soon_threadsafe(act)


def _interrupt() -> None:
    raise KeyboardInterrupt
