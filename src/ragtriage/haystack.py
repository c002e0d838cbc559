"""For Haystack: `collect` asks a pipeline or an agent; `RagtriageEvaluator` is a component that judges.

Importing this imports no Haystack.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ragtriage.adapters.packages import lazy_names

if TYPE_CHECKING:
    from ragtriage.adapters.opening import acollect, collect

__all__ = ["RagtriageEvaluator", "acollect", "collect"]  # noqa: F822  # made by __getattr__
_collecting = lazy_names(__name__, dict.fromkeys(("acollect", "collect"), "ragtriage.adapters.opening"))


def __getattr__(name: str) -> Any:
    """The component is made when it is first used."""
    if name == "RagtriageEvaluator":
        return import_module("ragtriage.adapters.haystack").evaluator_class()
    return _collecting(name)
