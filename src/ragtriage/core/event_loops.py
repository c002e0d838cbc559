"""Event loops of our own: also where one runs already, as in a notebook; and with threads that nothing waits for."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


def _in_a_daemon(call: Callable[[], T]) -> Future[T]:
    """Call something in a thread of its own."""
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()  # it can't be cancelled any more: a result that comes late harms nobody

    def work() -> None:
        try:
            done.set_result(call())
        except BaseException as error:  # noqa: BLE001  # whatever it is, it belongs to whoever waits
            done.set_exception(RuntimeError("StopIteration") if isinstance(error, StopIteration) else error)

    threading.Thread(target=work, daemon=True, name="ragtriage-application").start()
    return done


async def in_a_thread(call: Callable[[], T]) -> T:
    """Call something in a thread of its own, in the caller's context; one that hangs holds up no other."""
    return await asyncio.wrap_future(_in_a_daemon(partial(copy_context().run, call)))


class _DaemonThreads(ThreadPoolExecutor):
    """A thread for every call: one that hangs holds up no other, nor the end of the program."""

    def submit(self, call: Callable[..., T], /, *args: Any, **named: Any) -> Future[T]:
        """Call it."""
        return _in_a_daemon(partial(call, *args, **named))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002  # its own
        """Nothing to wait for."""


def run_unbounded(work: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run`, where what is handed to a thread neither queues for one nor is waited for at the end."""

    async def working() -> T:
        asyncio.get_running_loop().set_default_executor(_DaemonThreads())
        return await work

    return asyncio.run(working())


def without_event_loop(work: Callable[[], T]) -> T:
    """Do it here, or in another thread where an event loop runs; it sees the caller's context variables either way."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1, "ragtriage") as thread:
        return thread.submit(copy_context().run, work).result()
