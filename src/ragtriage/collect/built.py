"""Applications that a function of the user's builds: one for each query that is asked at the same time."""

from __future__ import annotations

from collections.abc import Callable

from ragtriage.collect.application import Application, ApplicationReply
from ragtriage.core.case import Case


class BuiltApplication:
    """Asks as many applications as are needed at once, each one query at a time; `first` is one that was built."""

    most_at_once: int | None = None

    def __init__(self, first: Application, build: Callable[[], Application]) -> None:
        self.name, self.takes_temperature, self.notes = first.name, first.takes_temperature, first.notes
        self._build = build
        self._idle = [first]

    async def ask(self, case: Case) -> ApplicationReply:
        """Ask one that isn't asked now. One that took too long isn't asked again: it may be at it still."""
        application = self._idle.pop() if self._idle else self._build()
        try:
            reply = await application.ask(case)
        except Exception:  # not where it was cancelled
            self._idle.append(application)
            raise
        self._idle.append(application)
        return reply

    async def close(self) -> None:
        """Let go of all."""
        for application in self._idle:
            await application.close()

    def again(self, temperature: float | None) -> BuiltApplication:
        """Further ones, asked at this temperature."""

        def build() -> Application:
            return self._build().again(temperature)

        return BuiltApplication(build(), build)
