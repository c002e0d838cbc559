"""Ctrl-C while a model is asked: what is in flight is paid for, so it is waited for."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ragtriage.cli.app_options import INTERRUPTED
from ragtriage.judges.build import ConfiguredJudge

__all__ = ["INTERRUPTED", "stoppable"]


@contextmanager
def stoppable(chosen: ConfiguredJudge) -> Iterator[None]:
    """Ctrl-C lets requests in flight come in, since they are paid; a second one doesn't wait for them."""
    if not chosen.paid or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        signal.signal(signal.SIGINT, leave)
        _between_steps(begin_to_stop)

    def begin_to_stop() -> None:
        sys.stderr.write("\nstopping when the requests in flight have come in (Ctrl-C again: don't wait for them)\n")
        chosen.stop(INTERRUPTED)

    def leave(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _between_steps(_interrupt)

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _between_steps(act: Callable[[], None]) -> None:
    """Act between two steps of the event loop, since a signal comes in the middle of one; at once where none runs."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        act()
    else:
        loop.call_soon_threadsafe(act)


def _interrupt() -> None:
    raise KeyboardInterrupt
