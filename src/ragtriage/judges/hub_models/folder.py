"""What lies in the folder of a hub model: one with ONNX, as a hub has it."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ragtriage.core.errors import ConfigError

ANY = "*"
"""Stands for every language, where a card says only that there are many."""
LENGTH = 512
"""Word pieces that are read at once, unless the model takes fewer: such classifiers saw no more in training."""
ONNX_FILES = ("model.onnx", "model_fp16.onnx", "model_int8.onnx", "model_quantized.onnx")
"""In this order the first that is there is run."""
_DECIDING = ("config.json", "tokenizer.json")
"""Files that decide an answer beside the weights."""
_UNNAMED = ("en",)
"""What is taken for the languages of a folder whose card names none."""
_HEAD = re.compile(r"\A---\s*\n(.*?)\n---\s*$", re.DOTALL | re.MULTILINE)
_LANGUAGE = re.compile(r"^language:[ \t]*(.*)\n((?:[ \t]*-[ \t].*\n?)*)", re.MULTILINE)
_CODE = re.compile(r"[a-z]{2}\b")


@dataclass(frozen=True, slots=True)
class HubFolder:
    """A hub model on this machine; nothing is loaded yet."""

    typed: str
    """What the user typed for it."""
    path: Path
    weights: Path
    """An ONNX file."""
    yes: int
    """Where the label *entailment* stands in the output."""
    against: int | None
    """Where *contradiction* stands; None if the model tells it apart from saying nothing."""
    length: int
    """Word pieces that are read at once."""
    languages: tuple[str, ...]
    """ISO 639-1 codes; `*` for any."""

    @property
    def quantized(self) -> bool:
        """Whether its activations are quantised, so that neighbours in a batch would change a result."""
        return any(part in self.weights.stem for part in ("int8", "quant"))

    def reads(self, language: str) -> bool:
        """Whether the model reads a language."""
        return ANY in self.languages or language in self.languages

    def digest(self) -> str:
        """12 hexadecimal digits that change with any file that decides an answer."""
        files = [*(self.path / name for name in _DECIDING), *self._stored()]
        found = {
            str(file.relative_to(self.path)): _digest(file, file.stat().st_size, file.stat().st_mtime_ns)
            for file in files
        }
        return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:12]

    def size(self) -> int:
        """Bytes of the weights."""
        return sum(file.stat().st_size for file in self._stored())

    def _stored(self) -> tuple[Path, ...]:
        """The weights, with what large ONNX models keep beside them (`model.onnx_data`)."""
        beside = self.weights.parent.glob(f"{self.weights.name}[._]data*")
        return (self.weights, *sorted(beside))


def open_folder(typed: str, folder: Path) -> HubFolder:
    """Look at a folder, or at one ONNX file in it."""
    path = folder
    if folder.suffix == ".onnx":  # which may lie in a folder of its own
        path = folder.parent.parent if folder.parent.name == "onnx" else folder.parent
    try:
        _require_files(path)
        config = _config(path)
        yes, against = _labels(path, config)
        return HubFolder(
            typed,
            path,
            folder if path != folder else _weights(path),
            yes,
            against,
            _length(config),
            languages_of_card(path),
        )
    except ConfigError as error:
        raise ConfigError(f"the hub model {typed!r}: {error}") from None


def _require_files(path: Path) -> None:
    for name in _DECIDING:
        if not (path / name).is_file():
            raise ConfigError(f"there is no {name} in {path}: give a folder as a hub has it")


def languages_of_card(folder: Path) -> tuple[str, ...]:
    """The ISO 639-1 codes that `README.md` lists under `language`; `*` where it says only multilingual.

    English alone where there is no card, or none is named there.
    """
    card = folder / "README.md"
    head = _HEAD.search(card.read_text(encoding="utf-8", errors="replace")) if card.is_file() else None
    found = _LANGUAGE.search(head[1] + "\n") if head else None
    if not found:
        return _UNNAMED
    named = [part.strip(" \t-'\"[],") for part in re.split(r"[\n,]", found[1] + "\n" + found[2])]
    codes = tuple(dict.fromkeys(name for name in named if _CODE.fullmatch(name)))
    return codes or ((ANY,) if "multilingual" in named else _UNNAMED)


def _labels(path: Path, config: Mapping[str, Any]) -> tuple[int, int | None]:
    """Where the labels *entailment* and *contradiction* stand."""
    told = config.get("id2label") or {}
    try:
        names = {int(place): str(label).lower() for place, label in told.items()}
    except (AttributeError, ValueError):
        raise ConfigError(f"id2label in {path / 'config.json'} is {told!r}, and not the labels by number") from None
    architectures = config.get("architectures")
    architecture = str(architectures[0]) if isinstance(architectures, list) and architectures else ""
    yes = next((at for at, label in names.items() if label.startswith("entail")), None)
    if yes is None or not architecture.endswith("ForSequenceClassification"):
        raise ConfigError(
            f"{path} isn't a classifier of pairs with a label named entailment ({architecture or 'no architecture'}, "
            f"labels {', '.join(names.values()) or 'unknown'})"
        )
    return yes, next((at for at, label in names.items() if label.startswith("contradict")), None)


def _weights(path: Path) -> Path:
    places = [place / name for name in ONNX_FILES for place in (path, path / "onnx")]
    if found := next((file for file in places if file.is_file()), None):
        return found
    raise ConfigError(
        f"{path} holds no ONNX ({', '.join(ONNX_FILES)}, there or in onnx/): take a revision that has it, or export "
        "the model with optimum"
    )


def _length(config: Mapping[str, Any]) -> int:
    places = _whole(config, "max_position_embeddings")
    # RoBERTa counts its positions from behind the number of its padding
    offset = _whole(config, "pad_token_id") + 1 if "roberta" in str(config.get("model_type")) else 0
    return max(1, min(LENGTH, places - offset)) if places else LENGTH


def _config(path: Path) -> Mapping[str, Any]:
    file = path / "config.json"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{file} can't be read: {error}") from None
    return found if isinstance(found, dict) else {}


def _whole(config: Mapping[str, Any], name: str) -> int:
    """A whole number of a configuration; 0 where it isn't named."""
    value = config.get(name) or 0
    if not isinstance(value, int) or value < 0:
        raise ConfigError(f"{name} in its config.json is {value!r}, and not a whole number")
    return value


@cache
def _digest(file: Path, _size: int, _changed: int) -> str:
    """Of a file's content; remembered for as long as its size and time stay."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def open_model(typed: str) -> HubFolder:
    """The folder, or the ONNX file in one, that a user typed."""
    given = Path(typed).expanduser()
    if not given.exists():
        raise ConfigError(f"the hub model {typed!r} isn't there: give a folder as a hub has it, or its ONNX file")
    return open_folder(typed, given)
