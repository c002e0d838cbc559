"""Models of folders with ONNX, run by onnxruntime: fp32, fp16 and int8."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np

from ragtriage.core.errors import JudgeError
from ragtriage.judges.hub_readers.families import Numbers
from ragtriage.judges.hub_readers.folder import ReaderFolder
from ragtriage.judges.hub_readers.packages import WITH_ONNX, require_extra
from ragtriage.judges.hub_readers.tokens import in_a_line

_FIRST_WORD = 0
"""What a T5 begins to write with: the number of its padding."""


def onnx_runtime() -> str:
    """What answers depend on beside the files; nothing is loaded for it but the package's list of devices.

    Raises:
        MissingExtraError: the package that reads tokenizers isn't installed.
    """
    require_extra("hub readers", WITH_ONNX)
    return f"onnxruntime {version('onnxruntime')} {'cuda' if _providers()[0].startswith('CUDA') else 'cpu'}"


class OnnxModel:
    """The model of a folder with ONNX; a `Model`.

    Raises:
        JudgeError: it can't be loaded.
    """

    def __init__(self, folder: ReaderFolder) -> None:
        self.runtime = onnx_runtime()
        self._head = folder.family.head
        self._sessions = [_session(str(path)) for path in folder.weights]

    def run(self, ids: Numbers, mask: Numbers, types: Numbers) -> Numbers:
        """See `Model.run`."""
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        found = _outputs(self._sessions[0], given)
        if self._head == "first word":
            start = np.full((len(ids), 1), _FIRST_WORD, np.int64)
            asked = {"input_ids": start, "encoder_hidden_states": found[0], "encoder_attention_mask": mask}
            return np.asarray(_outputs(self._sessions[1], asked)[0][:, 0], np.float32)
        logits = found[0]
        # of an HHEM both the labels of every token and those of the first one are exported
        first = self._head == "first token" and logits.ndim == 3
        return np.asarray(logits[:, 0] if first else logits, np.float32)


def _outputs(session: Any, given: dict[str, Numbers]) -> list[Numbers]:
    """What a session gives for those of the inputs that it has."""
    wanted = {one.name: given[one.name] for one in session.get_inputs() if one.name in given}
    return list(session.run(None, wanted))


def _providers() -> list[str]:
    import onnxruntime  # noqa: PLC0415 - a heavy package

    there = onnxruntime.get_available_providers()
    return [name for name in ("CUDAExecutionProvider", "CPUExecutionProvider") if name in there]


def _session(path: str) -> Any:
    import onnxruntime  # noqa: PLC0415 - a heavy package

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(path, options, providers=_providers())
    except Exception as error:
        raise JudgeError(f"the model {path} can't be loaded by onnxruntime: {in_a_line(error)}") from error
