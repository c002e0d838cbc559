"""Opens the models that come with the package in onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ragtriage.core.errors import JudgeError

MODEL = Path(__file__).parent / "model"


def open_model(path: Path) -> Any:
    """An onnxruntime session that runs one text on one thread.

    A text is run by itself and not in a batch: the scale of a quantised activation is taken over the whole tensor, so
    that neighbours in a batch would change a verdict. Two threads keep two cores busy all the same, and nothing is
    padded.

    Raises:
        JudgeError: the model can't be loaded.
    """
    # A heavy package that nothing else needs.
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Beyond the basic optimisations, additions and normalisations are fused into an operator that is slower.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    # The arena would keep what the longest text needed for each thread.
    options.enable_cpu_mem_arena = False
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise JudgeError(f"the embedded model {path} can't be loaded: {error}; reinstall ragtriage") from error
