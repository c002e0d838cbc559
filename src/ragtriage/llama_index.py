"""Scores in LlamaIndex: `BatchEvalRunner(ragtriage.llama_index.evaluators(["groundedness"]), workers=32)`.

Importing this imports no LlamaIndex.
"""

from ragtriage.adapters.llama_index_evaluators import evaluators

__all__ = ["evaluators"]
