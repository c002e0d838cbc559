"""The optional packages that hub readers need, looked for before anything is judged."""

from __future__ import annotations

from importlib.util import find_spec

from ragtriage.core.errors import MissingExtraError

WITH_ONNX, WITH_TORCH = "readers-onnx", "readers"
"""The extras that bring them."""
_OF_EXTRA = {WITH_ONNX: ("tokenizers",), WITH_TORCH: ("tokenizers", "torch", "transformers", "safetensors")}


def require_extra(what: str, extra: str) -> None:
    """Look for the packages of an extra, without loading them.

    Raises:
        MissingExtraError: one of them isn't installed.
    """
    if any(find_spec(name) is None for name in _OF_EXTRA[extra]):
        raise MissingExtraError(what, extra)
