"""In the place of a model that may not be asked: only what it answered before is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from ragtriage.judges.llm.messages import Prompt, Reply, RequestRejected


class Offline:
    """Sends nothing: every question that isn't remembered fails for the same reason.

    Args:
        reason: why nothing may be sent and how to allow it, a sentence.
    """

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def send(self, prompt: Prompt) -> Reply:  # noqa: ARG002  # as `ModelTransport.send`
        """Refuse a prompt."""
        self._refuse()

    async def embed(self, texts: Sequence[str]) -> tuple[Sequence[Sequence[float]], Reply]:  # noqa: ARG002  # see `send`
        """Refuse texts."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise RequestRejected(self._reason, alone=True)  # alone: it says nothing about the model
