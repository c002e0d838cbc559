"""Something that one process at a time does with a store: the others wait, and are told who holds them up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ragtriage.core.errors import StoreError
from ragtriage.runs.identity import digest
from ragtriage.store.claims import Claims, Holder
from ragtriage.store.database import Database
from ragtriage.store.lease import host_of

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.5
"""Seconds between two looks whether it is free."""


@contextmanager
def alone(
    database: Database,
    what: str,
    *,
    party: str,
    patience: float,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Hold a claim while the block runs; it lapses with its process, as every claim does.

    Args:
        database: where the claim stands.
        what: is done alone, in a few words.
        party: the processes that this one belongs to: one of them is waited for as long as it lives.
        patience: seconds that another party is waited for.
        sleep: waits.

    Raises:
        StoreError: another party takes longer; says which process it is.
    """
    claims, key = Claims(database, party=party), digest(f"alone\0{what}")
    waited, pause = 0.0, FIRST_PAUSE
    try:
        while not claims.claim([key]):
            holder = claims.holder(key)
            if holder and holder.party != party and waited >= patience:
                raise StoreError(_held_up(what, holder))
            sleep(pause)
            waited += pause
            pause = min(2 * pause, LONGEST_PAUSE)
        yield
    finally:
        claims.close()


def _held_up(what: str, holder: Holder) -> str:
    return (
        f"{what} is being done by process {holder.pid} on {host_of(holder.host)} (last sign of life "
        f"{max(0.0, holder.since):.0f} seconds ago): wait until it ends, or stop it"
    )
