"""How long the texts of windows are kept, and the windows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ragtriage.core.errors import ConfigError
from ragtriage.core.steps import Step
from ragtriage.monitor.lots import moment_of
from ragtriage.store import Store
from ragtriage.store.watch_tables import WatchTables, WindowRow


@dataclass(frozen=True, slots=True)
class Keeping:
    """For how many days; None keeps them."""

    texts: int | None = None
    """0 deletes the texts of a window as soon as it is closed."""
    runs: int | None = None

    @classmethod
    def parse(cls, texts: str | None, runs: str | None) -> Keeping:
        """`30d`, for texts also `0`."""
        return cls(_days(texts, "--keep-texts"), _days(runs, "--keep-runs"))

    def apply(self, store: Store, tables: WatchTables, also: Sequence[Step] = (), now: datetime | None = None) -> None:
        """Delete what is older, by the end of its window, or where it has none, by when it was judged."""
        now = now or datetime.now(UTC)
        windows = [(one, _ended(store, one)) for one in tables.windows()]
        if self.texts is not None:
            old = [one.run for one, end in windows if end < now - timedelta(days=self.texts)]
            if texts := [run for run in old if store.cases_with_texts(run)]:
                store.forget_texts(texts, also=also)
        if self.runs is not None and (
            old := [one.run for one, end in windows if end < now - timedelta(days=self.runs)]
        ):
            store.delete(old)


def _ended(store: Store, window: WindowRow) -> datetime:
    if (ended := moment_of(window.ends)) is not None:
        return ended
    info = store.run(window.run).info
    return datetime.fromisoformat(info.finished or info.created)


def _days(text: str | None, flag: str) -> int | None:
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,6})d|0", text.strip())
    if not found:
        raise ConfigError(f"{flag} {text}: write a number of days, for example 30d")
    return int(found[1] or 0)
