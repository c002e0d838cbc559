"""Models of folders with safetensors, run by transformers and torch; on a GPU where there is one.

Only classes of transformers itself are made, by the configuration of the folder: code that lies in it is never run, and
weights are read from safetensors alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage.core.errors import JudgeError
from ragtriage.judges.hub_readers.families import Numbers
from ragtriage.judges.hub_readers.folder import FOUNDATION, T5_KINDS, ReaderFolder
from ragtriage.judges.hub_readers.packages import WITH_TORCH, require_extra
from ragtriage.judges.hub_readers.tokens import in_a_line

_PREFIX = "t5."
"""Before the names of an HHEM's weights: its own class keeps the T5 under this name."""
_CLASSES = {
    "sequence": "AutoModelForSequenceClassification",
    "tokens": "AutoModelForTokenClassification",
    "first word": "AutoModelForSeq2SeqLM",
    "vectors": "AutoModel",
}

_LOADING = threading.Lock()
"""transformers is imported bit by bit, and changes its own classes while it loads a model: two threads at once would
find half of it, or leave weights untied."""


def torch_runtime() -> str:
    """What answers depend on beside the files; nothing is loaded for it.

    Raises:
        MissingExtraError: torch, transformers or safetensors isn't installed.
    """
    require_extra("hub readers with safetensors", WITH_TORCH)
    device = "cuda" if Path("/dev/nvidiactl").exists() else "cpu"
    return f"torch {version('torch')} transformers {version('transformers')} {device}"


class TorchModel:
    """The model of a folder with safetensors; a `Model`.

    Raises:
        JudgeError: it can't be loaded.
        MissingExtraError: torch, transformers or safetensors isn't installed.
    """

    def __init__(self, folder: ReaderFolder) -> None:
        self.runtime = torch_runtime()
        self._head = folder.family.head
        with _LOADING:
            import torch  # noqa: PLC0415 - an optional package
            import transformers  # noqa: PLC0415 - an optional package

            self._torch = torch
            self._device = "cuda" if torch.cuda.is_available() else "cpu"
            with _quiet(transformers.utils.logging):
                self._model: Any = self._loaded(folder, transformers)

    def _loaded(self, folder: ReaderFolder, transformers: Any) -> Any:
        try:
            made = _hhem(folder, transformers) if self._head == "first token" else _made(folder, transformers)
            return made.float().to(self._device).eval()
        except JudgeError:
            raise
        except Exception as error:
            raise JudgeError(
                f"the model in {folder.path} can't be loaded: {in_a_line(error)}; the folder may be incomplete, or "
                "need a newer transformers"
            ) from error

    def run(self, ids: Numbers, mask: Numbers, types: Numbers) -> Numbers:
        """See `Model.run`."""
        torch = self._torch
        given = {"input_ids": ids, "attention_mask": mask}
        if getattr(self._model.config, "type_vocab_size", 0) > 1:
            given["token_type_ids"] = types
        asked = {name: torch.from_numpy(value).to(self._device) for name, value in given.items()}
        if self._head == "first word":
            start = self._model.config.decoder_start_token_id or 0
            asked["decoder_input_ids"] = torch.full((len(ids), 1), start, dtype=torch.long, device=self._device)
        with torch.inference_mode():
            said = self._model(**asked)
        found = said.last_hidden_state if self._head == "vectors" else said.logits
        if self._head in {"first word", "first token"}:
            found = found[:, 0]
        return np.asarray(found.float().cpu().numpy())


@contextmanager
def _quiet(logging: Any) -> Iterator[None]:
    """No progress bars and no notes: what is wrong with a folder is an error here."""
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)


def _made(folder: ReaderFolder, transformers: Any) -> Any:
    """A model of one of transformers' own classes; a weight that is missing is an error and not drawn at random."""
    config = transformers.AutoConfig.from_pretrained(folder.path, local_files_only=True, trust_remote_code=False)
    encodes = folder.family.head == "vectors" and config.model_type in T5_KINDS
    # of a T5 a sentence encoder has the encoder alone
    name = "AutoModelForTextEncoding" if encodes else _CLASSES[folder.family.head]
    made, told = getattr(transformers, name).from_pretrained(
        folder.path,
        local_files_only=True,
        trust_remote_code=False,
        use_safetensors=True,
        output_loading_info=True,
    )
    _require(folder, told["missing_keys"], told.get("mismatched_keys", ()))
    return made


def _hhem(folder: ReaderFolder, transformers: Any) -> Any:
    """HHEM: a T5 encoder with two labels at each token, of which those at the first count.

    Its repository keeps it under a class of its own, which is never run: the T5 is made by the configuration of its
    foundation, and the weights are put into it by their names.
    """
    from safetensors.torch import load_file  # noqa: PLC0415 - an optional package

    config = transformers.AutoConfig.from_pretrained(folder.path / FOUNDATION, local_files_only=True)
    config.num_labels = 2
    made = transformers.T5ForTokenClassification(config)
    weights = {name: value for file in folder.weights for name, value in load_file(str(file)).items()}
    named = {name.removeprefix(_PREFIX): value for name, value in weights.items()}
    shared = named.get("transformer.shared.weight")
    if shared is not None:  # one table under two names, of which older versions keep one
        named.setdefault("transformer.encoder.embed_tokens.weight", shared)
    told = made.load_state_dict(named, strict=False)
    _require(folder, told.missing_keys, told.unexpected_keys)
    return made


def _require(folder: ReaderFolder, missing: Any, wrong: Any) -> None:
    """Refuse a model of which not all weights are there: it would answer at random."""
    lacking = [str(name) for name in (*missing, *wrong) if "position_ids" not in str(name)]
    # a sentence encoder is used without the layer that some classes put on top
    lacking = [name for name in lacking if not (folder.family.head == "vectors" and name.startswith("pooler."))]
    if lacking:
        raise JudgeError(
            f"the weights in {folder.path} don't fit its configuration: {', '.join(sorted(lacking)[:3])}"
            f"{' …' if len(lacking) > 3 else ''} missing or of another shape"
        )
