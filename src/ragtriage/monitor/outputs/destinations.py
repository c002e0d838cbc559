"""The tools that scores can be sent to."""

from __future__ import annotations

from collections.abc import Mapping

from ragtriage.monitor.outputs.entries import Destination
from ragtriage.monitor.outputs.langfuse import LANGFUSE
from ragtriage.monitor.outputs.langsmith import LANGSMITH
from ragtriage.monitor.outputs.mlflow import MLFLOW
from ragtriage.monitor.outputs.opik import OPIK
from ragtriage.monitor.outputs.otlp import OTLP
from ragtriage.monitor.outputs.phoenix import PHOENIX

DESTINATIONS: Mapping[str, Destination] = {one.name: one for one in (OTLP, PHOENIX, LANGFUSE, MLFLOW, OPIK, LANGSMITH)}
"""By name, which is that of the flag."""
