"""What lies in the folder of a hub model, which models are known by name, where they lie, and fetching one."""

import hashlib
import json
import os
import re
import struct
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, ClassVar

from ragtriage.core.errors import ConfigError, MissingExtraError
from ragtriage.core.validation import STRICT, near_names, validated

ANY = "*"
"""Stands for every language, where a card says only that there are many."""
LENGTH = 512
"""Word pieces that are read at once, unless the model takes fewer: such classifiers saw no more in training."""
ONNX_FILES = ("model.onnx", "model_fp16.onnx", "model_int8.onnx", "model_quantized.onnx")
"""In this order the first that is there is run."""
_DECIDING = ("config.json", "tokenizer.json")
"""Files that decide an answer beside the weights."""
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")
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
    weights: tuple[Path, ...]
    """One ONNX file, or safetensors."""
    yes: int
    """Where the label *entailment* stands in the output."""
    against: int | None
    """Where *contradiction* stands; None if the model tells it apart from saying nothing."""
    length: int
    """Word pieces that are read at once."""
    languages: tuple[str, ...]
    """ISO 639-1 codes; `*` for any."""

    @property
    def onnx(self) -> bool:
        """Whether onnxruntime runs it; else transformers and torch."""
        return self.weights[0].suffix == ".onnx"

    @property
    def quantized(self) -> bool:
        """Whether its activations are quantised, so that neighbours in a batch would change a result."""
        return self.onnx and any(part in self.weights[0].stem for part in ("int8", "quant"))

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

    def parameters(self) -> tuple[int, int]:
        """How many numbers the model has in all, and how many of them each word piece is multiplied with.

        The difference is the table of word vectors. Of ONNX both are told by the size and the configuration.
        """
        config = _config(self.path)
        table = _whole(config, "vocab_size") * _whole(config, "hidden_size")
        if self.onnx:
            total = self.size() // (1 if self.quantized else 2 if "fp16" in self.weights[0].stem else 4)
        else:
            total = sum(_numbers_in(file) for file in self.weights)
        return total, max(total - table, total // 10)

    def _stored(self) -> tuple[Path, ...]:
        """The weights, with what large ONNX models keep beside them (`model.onnx_data`)."""
        beside = self.weights[0].parent.glob(f"{self.weights[0].name}[._]data*") if self.onnx else ()
        return (*self.weights, *sorted(beside))


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
            (folder,) if path != folder else _weights(path),
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
            raise ConfigError(
                f"there is no {name} in {path}: give a folder as a hub has it, or a name of `ragtriage readers`"
            )


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


def _weights(path: Path) -> tuple[Path, ...]:
    """ONNX where there is any, else safetensors."""
    places = [place / name for name in ONNX_FILES for place in (path, path / "onnx")]
    if found := next((file for file in places if file.is_file()), None):
        return (found,)
    if tensors := tuple(sorted(path.glob("*.safetensors"))):
        return tensors
    if pickled := next((file for pattern in _PICKLED for file in path.glob(pattern)), None):
        raise ConfigError(
            f"{path} holds its weights as {pickled.name}, a pickle, which can run any code when it is loaded: take a "
            "revision with model.safetensors or ONNX, or convert it where you trust it"
        )
    raise ConfigError(f"{path} holds no weights: neither *.safetensors nor ONNX")


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


def _numbers_in(file: Path) -> int:
    """How many numbers a safetensors file holds, by its header."""
    try:
        with file.open("rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            header = json.loads(opened.read(min(length, file.stat().st_size)))
        return sum(prod(one["shape"]) for name, one in header.items() if name != "__metadata__")
    except (struct.error, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"{file} isn't a whole file of safetensors: {error}") from None


@cache
def _digest(file: Path, _size: int, _changed: int) -> str:
    """Of a file's content; remembered for as long as its size and time stay."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


VARIABLE = "RAGTRIAGE_READERS"
FETCHED = ("config.json", "tokenizer.json", "*.safetensors", "README.md", "LICENSE*")
"""The files that are fetched: never code, and never a pickle."""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """One known hub model."""

    name: str
    repository: str
    revision: str
    """The whole commit."""
    megabytes: int
    """Of the files that are fetched."""
    license: str
    languages: tuple[str, ...]
    accuracy: str
    """As its authors published it; empty where no figure was found."""
    source: str
    """Where that stands, or the model's page."""

    __pydantic_config__: ClassVar[Any] = STRICT


@cache
def known_models() -> Mapping[str, KnownModel]:
    """Name → model, in the order of the table."""
    table = tomllib.loads(Path(__file__).with_name("known.toml").read_text(encoding="utf-8"))
    return {name: validated(KnownModel, {**row, "name": name}, "known model") for name, row in table.items()}


def known_model(name: str) -> KnownModel:
    """The model of this name."""
    if found := known_models().get(name):
        return found
    near = next(iter(near_names(name, tuple(known_models()))), "")
    hint = f"did you mean {near}?" if near else "`ragtriage readers` lists the known ones"
    raise ConfigError(f"there is no hub model {name!r}, and no folder of this name: {hint}")


def models_folder() -> Path:
    """Where fetched models lie: $RAGTRIAGE_READERS, else `ragtriage/readers` in the user's cache."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ragtriage" / "readers"


def is_here(name: str) -> bool:
    """Whether the model of this name was fetched."""
    return (models_folder() / name / "config.json").is_file()


def open_model(typed: str) -> HubFolder:
    """The folder that a user means: by the path that he typed, or where the model of this name lies."""
    given = Path(typed).expanduser()
    if given.exists():
        return open_folder(typed, given)
    if "/" in typed or os.sep in typed or given.suffix == ".onnx":
        raise ConfigError(f"the hub model {typed!r} isn't there: give a folder, or a name of `ragtriage readers`")
    known_model(typed)
    if not is_here(typed):
        raise ConfigError(
            f"the hub model {typed!r} isn't on this machine, and nothing is fetched unasked: "
            f"`ragtriage readers get {typed}` fetches it to {models_folder() / typed}"
        )
    return open_folder(typed, models_folder() / typed)


def fetch(model: KnownModel) -> HubFolder:
    """Fetch a model at its commit with huggingface_hub; what is there already isn't fetched again."""
    try:
        from huggingface_hub import snapshot_download  # noqa: PLC0415 - an optional package
    except ImportError:
        raise MissingExtraError("fetched hub models", "readers-onnx") from None
    place = models_folder() / model.name
    try:
        snapshot_download(
            model.repository,
            revision=model.revision,
            allow_patterns=list(FETCHED),
            local_dir=place,
            endpoint=os.environ.get("HF_ENDPOINT"),
        )
    except Exception as error:
        why = " ".join(str(error).split())[:300] or type(error).__name__
        raise ConfigError(
            f"{model.repository} couldn't be fetched: {why}; what was fetched stays, so give the same command again "
            f"(the model's page: {model.source})"
        ) from error
    return open_folder(model.name, place)
