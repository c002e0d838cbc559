"""For LangChain and LangGraph: `collect` asks a runnable, a graph or an agent, and gives cases."""

from typing import TYPE_CHECKING

from ragtriage.adapters.packages import lazy_names

if TYPE_CHECKING:
    from ragtriage.adapters.opening import acollect, collect

__all__ = ["acollect", "collect"]
__getattr__ = lazy_names(__name__, dict.fromkeys(__all__, "ragtriage.adapters.opening"))
