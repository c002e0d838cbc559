"""The one door from a test to the comparison of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from ragtriage.core.errors import ConfigError
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.store import Store, StoredRun


class RunComparison(Protocol):
    """Two sides compared, and what its gates say."""

    def gate(self, metric: str, *, margin: float = 0.0) -> str:
        """`worse`, `can't tell`, `no worse` or `better`; see `--fail-if-worse`."""
        ...


def compared(
    new: StoredRun, base: str | int | Path, store: Store, config: EvaluationConfig, home: Path
) -> RunComparison:
    """Compare a run with a baseline file or a stored run.

    Args:
        new: the new side.
        base: the old side.
        store: where runs are.
        config: the thresholds and rules by which both are read.
        home: the folder beside which a file is named.

    Raises:
        ConfigError: runs can't be compared yet.
    """
    _: Any = (new, base, store, config, home)
    raise ConfigError("comparing a run in a test isn't there yet: it comes with `ragtriage compare`")
