"""The version of each kind of answer, and the fingerprint that is made of it.

When a rule changes so that it answers a question differently, raise the versions of its kinds here: stored answers of
an older version are asked again, and those of other kinds stay. Comments and renames need no new version.
`tests/judges/embedded/test_golden_verdicts.py` fails if an answer changed and its version didn't.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import Kind

MODEL = Path(__file__).parent / "model"
"""Where the models that ship lie."""
LARGER_READER = "2"
"""The version of the larger reader that the fitted models are for, as in `larger_reader/pyproject.toml`."""


@dataclass(frozen=True, slots=True)
class KindVersion:
    """The version of the answers to one kind of question, and the fitted files that they depend on."""

    number: int
    tasks: tuple[str, ...] = ()
    """How the names of its fitted models begin; empty if rules answer alone, without the encoder."""
    thresholds: tuple[str, ...] = ()
    """The fitted thresholds by which it is decided."""
    marked: bool = False
    """Whether it depends on where the reader sees claims begin."""
    larger: bool = False
    """Whether the larger reader has a say, where there is one."""


LARGER = "_larger"
"""Stands behind a task whose fusion weighs what the larger reader says, too."""
VERSIONS: Mapping[Kind, KindVersion] = {
    "claims": KindVersion(7, marked=True, larger=True),
    "facts": KindVersion(2),
    "questions": KindVersion(2),
    "sentences": KindVersion(2),
    "declines": KindVersion(7, marked=True, larger=True),
    "supported": KindVersion(12, ("supported",), marked=True, larger=True),
    # Of open requests the model of relevance decides whether something answers them, or is essential.
    "answered": KindVersion(10, ("answered", "relevant"), marked=True, larger=True),
    "essential": KindVersion(7, ("essential", "relevant"), larger=True),
    "needed_sentences": KindVersion(7, ("essential", "relevant"), larger=True),
    "relevant": KindVersion(4, ("relevant",)),
    "same_answer": KindVersion(7, ("same_answer",), marked=True, larger=True),
    "similarity": KindVersion(6, ("similar",), ("repeats",), larger=True),
}
"""The kinds that the embedded judge answers."""


@cache
def larger_reader(distribution: str = "ragtriage-larger-reader", needed: str = LARGER_READER) -> Path:
    """The larger reader's graph, which a distribution of its own carries; its weights lie beside it.

    Raises:
        ConfigError: it isn't installed, or in another version than the fitted models are for.
    """
    what = "the embedded judge reads with ragtriage-larger-reader"
    how = (
        "in a copy of ragtriage's repository, pip install ./larger_reader; or do without it, with the judge "
        "embedded:fast (from Python EmbeddedJudge(fast=True))"
    )
    try:
        found = version(distribution)
        file = Path(str(files(distribution.replace("-", "_")) / "reader.onnx"))
    except ModuleNotFoundError:
        raise ConfigError(f"{what}, which isn't installed: {how}") from None
    if found != needed:
        raise ConfigError(f"{what}, of which version {found} is installed and {needed} is needed: {how}")
    if not (file.exists() and file.with_suffix(".weights").exists()):
        raise ConfigError(f"{what}, whose files are gone from {file.parent}: {how}")
    return file


@cache
def fingerprint_of(kind: Kind, folder: Path = MODEL, *, larger: bool = False) -> str:
    """A hash of all that an answer depends on; a kind that isn't answered has version 0."""
    own = VERSIONS.get(kind, KindVersion(0))
    parts: dict[str, Any] = {"kind": kind, "version": own.number}
    files = [folder / "reader.onnx", MODEL / "vocab.txt"] if own.marked else []
    if own.tasks:
        fitted = json.loads((folder / "coefficients.json").read_text(encoding="utf-8"))
        parts["tasks"] = _of_tasks(fitted["tasks"], own.tasks)
        fusions = _of_tasks(fitted["fusion"], own.tasks)
        parts["fusions"] = {name: one for name, one in fusions.items() if larger or not name.endswith(LARGER)}
        parts["thresholds"] = {name: fitted["thresholds"][name] for name in own.thresholds}
        if parts["fusions"]:
            files += [folder / "reader.onnx", MODEL / "vocab.txt"]
        if parts["tasks"]:
            files += [MODEL / "encoder.onnx", MODEL / "vocab.txt"]
    if own.larger and larger:
        parts["larger"] = LARGER_READER  # to read all of it takes a tenth of a second
    if files:
        parts["onnxruntime"] = version("onnxruntime")  # another version may round another way
    parts["files"] = {path.name: _digest(path) for path in files}
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def _of_tasks(fitted: Mapping[str, Any], tasks: tuple[str, ...]) -> dict[str, Any]:
    return {name: one for name, one in fitted.items() if name.startswith(tasks)}


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
