"""What lies in the folder of a hub reader: its family, its weights, its languages, and the digest of all of it."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from ragtriage.core.errors import ConfigError
from ragtriage.judges.hub_readers.external_data import external_data
from ragtriage.judges.hub_readers.families import FAMILIES, Family, Labels
from ragtriage.judges.hub_readers.known import MANIFEST, UNFINISHED, KnownReader, known_reader
from ragtriage.judges.hub_readers.model_card import ANY, languages_of_card

FOUNDATION = "foundation"
"""The folder inside that of an HHEM with the configuration and the tokenizer of the T5 that it is made of."""
ONNX_FILES = (
    "model.onnx", "model_fp16.onnx", "model_int8.onnx", "model_quantized.onnx", "model_qint8_avx512_vnni.onnx",
    "model_quint8_avx2.onnx", "model_uint8.onnx",
)  # fmt: skip
"""In this order the first that is there is run."""
MODULES = "modules.json"
"""What makes a folder one of Sentence Transformers."""
_NEEDED: Mapping[str, tuple[str, ...]] = {"Pooling": ("config.json",), "Dense": ("config.json", "model.safetensors")}
"""Kind of a module → the files without which it can't be used."""
SEQ2SEQ_FILES = ("encoder_model.onnx", "decoder_model.onnx")
_DECIDING = (
    "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "spiece.model", "spm.model",
    "sentencepiece.bpe.model", "vocab.txt", "vocab.json", "merges.txt", "added_tokens.json", "modules.json",
    "sentence_bert_config.json", "config_sentence_transformers.json",
)  # fmt: skip
"""Files that decide an answer beside the weights."""
T5_KINDS = frozenset({"t5", "mt5", "umt5"})
"""Model types of a T5."""
_PICKLED = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl")


@dataclass(frozen=True, slots=True)
class ReaderFolder:
    """A hub reader on this machine; nothing is loaded yet."""

    typed: str
    """What the user typed for it."""
    path: Path
    family: Family
    labels: Labels
    weights: tuple[Path, ...]
    """ONNX (one file, or encoder and decoder), or safetensors."""
    length: int
    """Word pieces of a pass."""
    languages: tuple[str, ...]
    """ISO 639-1 codes; `*` for any."""
    parts: tuple[Path, ...] = ()
    """Of a sentence encoder: the folders of the modules behind the transformer, in order."""
    known: KnownReader | None = None

    @property
    def onnx(self) -> bool:
        """Whether onnxruntime runs it; else transformers and torch."""
        return self.weights[0].suffix == ".onnx"

    @property
    def quantized(self) -> bool:
        """Whether its activations are quantised, so that neighbours in a batch would change a result."""
        return self.onnx and any(part in self.weights[0].stem for part in ("int8", "quant", "uint8"))

    @property
    def tokenizer(self) -> Path:
        """The folder with the tokenizer."""
        inside = self.path / FOUNDATION
        return inside if inside.is_dir() and not (self.path / "tokenizer.json").is_file() else self.path

    @property
    def temperature(self) -> float | None:
        """By which the model's log odds are divided so that they are calibrated; None where nobody measured it."""
        return self.known.temperature if self.known else None

    def digest(self) -> str:
        """12 hexadecimal digits that change with any file that decides an answer."""
        named = [self.path / name for name in _DECIDING]
        named += [self.tokenizer / name for name in _DECIDING] if self.tokenizer != self.path else []
        named += [file for part in self.parts for file in sorted(part.glob("*")) if file.is_file()]
        found = {
            str(file.relative_to(self.path)): _digest(file, file.stat().st_size, file.stat().st_mtime_ns)
            for file in [*named, *self.weights, *self.data]
            if file.is_file()
        }
        return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def data(self) -> tuple[Path, ...]:
        """The files beside ONNX in which its weights lie, where they aren't in it."""
        return tuple(file for model in self.weights for file in external_data(model)) if self.onnx else ()

    def size(self) -> int:
        """Bytes of the weights."""
        return sum(file.stat().st_size for file in (*self.weights, *self.data))

    def parameters(self) -> tuple[int, int]:
        """How many numbers the model has in all, and how many of them each word piece is multiplied with.

        The difference is the table of word vectors. Of ONNX both are told by the size and the configuration.
        """
        file = self.tokenizer / "config.json"
        file = file if file.is_file() else self.path / "config.json"
        config = json_of(file)
        wide = _whole(file, config, "hidden_size") or _whole(file, config, "d_model")
        table = _whole(file, config, "vocab_size") * wide
        if self.onnx:
            each = 1 if self.quantized else 2 if "fp16" in self.weights[0].stem else 4
            total = self.size() // each
        else:
            total = sum(_numbers_in(file) for file in self.weights)
        return total, max(total - table, total // 10)


def open_folder(typed: str, folder: Path) -> ReaderFolder:
    """Look at a folder, or at one model file in it.

    Raises:
        ConfigError: it isn't there, holds no weights that are safe to load, or is of no known family; says which.
    """
    path, weights = (folder, ()) if folder.suffix != ".onnx" else (_folder_of(folder), (folder,))
    if not path.is_dir() or not (path / "config.json").is_file():
        raise ConfigError(
            f"the reader {typed!r}: there is no model in {path} (no config.json): give a folder as a hub has it, or "
            "a name of `ragtriage readers`"
        )
    if (path / UNFINISHED).is_file():
        raise ConfigError(
            f"the reader {typed!r}: what was fetched to {path} isn't whole, or not what was published: give "
            "`ragtriage readers get` again"
        )
    config = json_of(path / "config.json")
    known = known_reader(str(json_of(path / MANIFEST).get("name", "")))
    family, labels = _family(typed, path, config)
    if known and known.family != family.name:
        raise ConfigError(
            f"the reader {typed!r}: {path} holds a {family.title}, and {known.name} is another: fetch it again with "
            f"`ragtriage readers get {known.name}`"
        )
    parts = _parts(path) if family.name == "encoder" else ()
    found = weights or _weights(typed, path, family)
    if found[0].suffix == ".onnx":
        _require_data(typed, found)
    if family.name == "hhem" and found[0].suffix != ".onnx" and not (path / FOUNDATION / "config.json").is_file():
        raise ConfigError(
            f"the reader {typed!r}: {path} lacks the folder {FOUNDATION!r} with config.json and the tokenizer of the "
            "T5 that it is made of (google/flan-t5-base): `ragtriage readers get hhem-2.1-open` fetches both"
        )
    return ReaderFolder(
        typed,
        path,
        family,
        labels,
        found,
        known.length if known and known.length else _length(path, family, config),
        known.languages if known else languages_of_card(path),
        parts,
        known,
    )


def _folder_of(model: Path) -> Path:
    """The folder of a model file, which may lie in one named `onnx`."""
    return model.parent.parent if model.parent.name == "onnx" else model.parent


def _family(typed: str, path: Path, config: Mapping[str, Any]) -> tuple[Family, Labels]:
    """By the configuration alone."""
    kind = str(config.get("model_type", ""))
    architectures = config.get("architectures")
    architecture = str(architectures[0]) if isinstance(architectures, list) and architectures else ""
    names = _label_names(path / "config.json", config)
    count = len(names) or _whole(path / "config.json", config, "num_labels") or 2
    found, labels = "", Labels()
    if kind.lower() == "hhemv2" or architecture.startswith("HHEMv2"):
        found = "hhem"
    elif architecture.endswith("ForTokenClassification") and count == 2:
        found = "spans"
    elif (path / MODULES).is_file() and kind in T5_KINDS:
        found = "encoder"
    elif architecture.endswith("ForConditionalGeneration") and kind in T5_KINDS:
        found = "minicheck-t5"
    elif architecture.endswith("ForSequenceClassification"):
        found, labels = _classifier(count, names)
    elif (path / MODULES).is_file():
        found = "encoder"
    if found:
        return FAMILIES[found], labels
    told = f"{architecture or 'no architecture'}, labels {', '.join(names.values()) or 'unknown'}"
    raise ConfigError(
        f"the reader {typed!r}: {path} is of no family that is known ({told}): there are "
        + ", ".join(family.title for family in FAMILIES.values())
    )


def _classifier(count: int, names: Mapping[int, str]) -> tuple[str, Labels]:
    """The family of a classifier of whole texts, "" if it is of none, and where its labels stand."""
    entails = next((at for at, label in names.items() if label.startswith("entail")), None)
    if count == 1:
        return "reranker", Labels()
    if entails is not None:
        against = next((at for at, label in names.items() if label.startswith("contradict")), None)
        return "entailment", Labels(entails, against)
    unnamed = count == 2 and set(names.values()) <= {"0", "1", "label_0", "label_1"}
    return "minicheck" if unnamed else "", Labels()


def _weights(typed: str, path: Path, family: Family) -> tuple[Path, ...]:
    """ONNX where there is any, else safetensors."""
    places = (path, path / "onnx")
    if family.head == "first word":
        for place in places:
            if all((place / name).is_file() for name in SEQ2SEQ_FILES):
                return tuple(place / name for name in SEQ2SEQ_FILES)
    else:
        for name in ONNX_FILES:
            if found := next((place / name for place in places if (place / name).is_file()), None):
                return (found,)
    if tensors := tuple(sorted(path.glob("*.safetensors"))):
        return tensors
    if pickled := next((file for pattern in _PICKLED for file in path.glob(pattern)), None):
        raise ConfigError(
            f"the reader {typed!r}: {path} holds its weights as {pickled.name}, a pickle, which can run any code when "
            "it is loaded: take a revision with model.safetensors or ONNX, or convert it where you trust it"
        )
    raise ConfigError(f"the reader {typed!r}: {path} holds no weights: neither *.safetensors nor ONNX")


def _require_data(typed: str, models: Sequence[Path]) -> None:
    """The files in which weights of ONNX lie have to be there too."""
    for model in models:
        for file in external_data(model):
            if not file.is_file():
                raise ConfigError(
                    f"the reader {typed!r}: {model.name} keeps its weights in {file.name}, which isn't beside it in "
                    f"{model.parent}: copy that file there too"
                )


def modules_of(path: Path) -> tuple[tuple[str, Path], ...]:
    """The modules of a sentence encoder, in order: the last part of the type, and the folder.

    Raises:
        ConfigError: they can't be read.
    """
    file = path / MODULES
    listed = _parsed(file)
    if not isinstance(listed, list) or not all(isinstance(one, dict) and one.get("type") for one in listed):
        raise ConfigError(f"{file} can't be read: it isn't a list of modules, each with its type: fetch it again")
    return tuple((str(one["type"]).rpartition(".")[2], path / str(one.get("path") or "")) for one in listed)


def _parts(path: Path) -> tuple[Path, ...]:
    """The folders of the modules of a sentence encoder behind its transformer."""
    found = tuple((kind, part) for kind, part in modules_of(path) if part != path)
    for kind, part in found:
        for name in _NEEDED.get(kind, ()):
            if not (part / name).is_file():
                raise ConfigError(
                    f"the sentence encoder in {path} is incomplete: {part.name}/{name} isn't there: fetch it again"
                )
    return tuple(part for _, part in found)


def _length(path: Path, family: Family, config: Mapping[str, Any]) -> int:
    """Word pieces of a pass: the family's, unless the model can't read as many, or its folder names fewer."""
    file = path / "config.json"
    places = _whole(file, config, "max_position_embeddings")
    if family.name == "encoder":
        beside = path / "sentence_bert_config.json"
        return _whole(beside, json_of(beside), "max_seq_length") or min(family.length, places or family.length)
    if family.name == "minicheck" and config.get("model_type") == "deberta-v2":
        return 2048  # its positions are relative, and its authors read as many
    if not places or family.head in {"first word", "first token"}:
        return family.length
    # RoBERTa counts its positions from behind the number of its padding
    roberta = "roberta" in str(config.get("model_type"))
    offset = _whole(file, config, "pad_token_id") + 1 if roberta else 0
    return max(1, min(family.length, places - offset))


def _label_names(file: Path, config: Mapping[str, Any]) -> dict[int, str]:
    """The labels of a classifier, in small letters, by their place."""
    told = config.get("id2label") or {}
    try:
        return {int(place): str(label).lower() for place, label in told.items()}
    except (AttributeError, ValueError):
        raise ConfigError(
            f"{file} can't be read: id2label is {told!r}, and not the labels by their number: fetch it again"
        ) from None


def _whole(file: Path, config: Mapping[str, Any], name: str) -> int:
    """A whole number of a configuration; 0 where it isn't named."""
    value = config.get(name) or 0
    if not isinstance(value, int) or value < 0:
        raise ConfigError(f"{file} can't be read: {name} is {value!r}, and not a whole number: fetch it again")
    return value


def json_of(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty where there is no file, or no object in it.

    Raises:
        ConfigError: it can't be read.
    """
    found = _parsed(path) if path.is_file() else {}
    return found if isinstance(found, dict) else {}


def _parsed(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} can't be read: {error}: fetch it again") from error


def _numbers_in(file: Path) -> int:
    """How many numbers a safetensors file holds, by its header."""
    try:
        with file.open("rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            header = json.loads(opened.read(min(length, file.stat().st_size)))
        return sum(prod(one["shape"]) for name, one in header.items() if name != "__metadata__")
    except (struct.error, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"{file} isn't a whole file of safetensors: {error}: fetch it again") from error


@cache
def _digest(file: Path, _size: int, _changed: int) -> str:
    """Of a file's content; remembered for as long as its size and time stay."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def reads(languages: Collection[str], language: str) -> bool:
    """Whether a reader of these languages reads that one."""
    return ANY in languages or language in languages
