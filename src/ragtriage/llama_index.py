"""For LlamaIndex: `collect` asks an engine, a retriever, an agent or a workflow; `evaluators` are for its runner.

Importing this imports no LlamaIndex.
"""

from typing import TYPE_CHECKING

from ragtriage.adapters.packages import lazy_names

if TYPE_CHECKING:
    from ragtriage.adapters.llama_index import evaluators
    from ragtriage.adapters.opening import acollect, collect

__all__ = ["acollect", "collect", "evaluators"]
_COLLECTING = dict.fromkeys(("acollect", "collect"), "ragtriage.adapters.opening")
__getattr__ = lazy_names(__name__, {**_COLLECTING, "evaluators": "ragtriage.adapters.llama_index"})
