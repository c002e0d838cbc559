"""Work that begins an event loop of its own, also where one runs already, as in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


def without_event_loop(work: Callable[[], T]) -> T:
    """Do it here, or in another thread where an event loop runs; it sees the caller's context variables either way."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1, "ragtriage") as thread:
        return thread.submit(copy_context().run, work).result()
