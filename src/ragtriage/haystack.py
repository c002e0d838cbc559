"""Scores in Haystack: `pipeline.add_component("triage", ragtriage.haystack.RagtriageEvaluator(["groundedness"]))`.

Importing this imports no Haystack.
"""

from __future__ import annotations

from typing import Any

from ragtriage.adapters.haystack_evaluator import evaluator_class

__all__ = ["RagtriageEvaluator"]  # noqa: F822  # made by __getattr__


def __getattr__(name: str) -> Any:
    """The component is made when it is first used."""
    if name != "RagtriageEvaluator":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return evaluator_class()
