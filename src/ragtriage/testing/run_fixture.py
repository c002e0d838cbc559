"""What the fixture `ragtriage_run` gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ragtriage.testing.declared import declared
from ragtriage.testing.judged_run import JudgedRun
from ragtriage.testing.suite import current

if TYPE_CHECKING:
    import pytest


def run_of(request: pytest.FixtureRequest) -> Callable[..., JudgedRun]:
    """A function of a file (and an application that answers its questions) that gives the run of all its cases."""
    home = request.path

    def ragtriage_run(file: str | Path, *, app: str | None = None) -> JudgedRun:
        suite = current()
        cases = declared(file, home, request.node.name, app=app)
        names = suite.metrics.named_in(getattr(request.node, "function", None))
        return JudgedRun(suite.batch(cases), names, suite, home.parent)

    return ragtriage_run
