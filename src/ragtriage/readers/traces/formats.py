"""The formats of trace files that are known."""

from __future__ import annotations

from collections.abc import Sequence

from ragtriage.readers.traces.langfuse import LANGFUSE
from ragtriage.readers.traces.langsmith import LANGSMITH
from ragtriage.readers.traces.mlflow import MLFLOW
from ragtriage.readers.traces.opik import OPIK
from ragtriage.readers.traces.otlp import OTLP
from ragtriage.readers.traces.phoenix import PHOENIX
from ragtriage.readers.traces.pieces import TraceFormat, TraceRow

FORMATS: tuple[TraceFormat, ...] = (OTLP, PHOENIX, OPIK, MLFLOW, LANGSMITH, LANGFUSE)
"""Each; the first that fits counts."""


def format_of(rows: Sequence[TraceRow]) -> TraceFormat | None:
    """The format of a file with these rows; None if they are no traces."""
    return next((one for one in FORMATS if any(map(one.fits, rows))), None)
