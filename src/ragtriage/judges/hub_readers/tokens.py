"""A folder's tokenizer: texts to word pieces, as the model's authors had them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragtriage.core.errors import JudgeError
from ragtriage.judges.hub_readers.packages import WITH_TORCH, require_extra

_CONVERTED = ("spiece.model", "spm.model", "sentencepiece.bpe.model", "tokenizer.model", "vocab.txt", "vocab.json")
"""Files that transformers makes a tokenizer of."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """One or two texts as a model reads them."""

    ids: tuple[int, ...]
    types: tuple[int, ...]
    """0 for the first text and 1 for the second, where the tokenizer tells them apart."""
    of_second: tuple[tuple[int, int, int], ...] = ()
    """Of the second text: the place of each of its word pieces with its span, (place, start, end)."""


class Tokens:
    """The tokenizer of a folder. It cuts nothing off, however long a text is.

    Args:
        folder: with `tokenizer.json`; or with a SentencePiece model or a vocabulary, which transformers converts.

    Raises:
        JudgeError: there is no tokenizer in the folder, or it can't be read.
        MissingExtraError: a package that converts it isn't installed.
    """

    def __init__(self, folder: Path) -> None:
        self._tokenizer = _opened(folder)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        special = _special(folder)
        self.end = str(special.get("eos_token") or special.get("sep_token") or "</s>")
        """The token that ends a text, as it is written in one."""
        self.padding = self._number(str(special.get("pad_token") or "")) or 0

    def count(self, text: str) -> int:
        """Word pieces of a text, without the marks at its ends."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def one(self, text: str) -> Pieces:
        """A text, or a prompt in which the tokens between texts are written out."""
        found = self._tokenizer.encode(text)
        return Pieces(tuple(found.ids), tuple(found.type_ids))

    def two(self, first: str, second: str) -> Pieces:
        """A pair of texts."""
        found = self._tokenizer.encode(first, second)
        spans = zip(found.sequence_ids, found.offsets, strict=True)
        of_second = tuple(
            (place, start, end) for place, (which, (start, end)) in enumerate(spans) if which == 1 and end > start
        )
        return Pieces(tuple(found.ids), tuple(found.type_ids), of_second)

    def _number(self, token: str) -> int | None:
        found = self._tokenizer.token_to_id(token)
        return None if found is None else int(found)


def in_a_line(error: Exception) -> str:
    """What an error of another package says, as far as it fits into a line."""
    return " ".join(str(error).split())[:300] or type(error).__name__


def _opened(folder: Path) -> Any:
    path = folder / "tokenizer.json"
    if not path.is_file():
        return _converted(folder)
    from tokenizers import Tokenizer  # noqa: PLC0415 - an optional package

    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:
        raise JudgeError(f"the tokenizer {path} can't be read: {in_a_line(error)}") from error


def _converted(folder: Path) -> Any:
    """The tokenizer of a folder without `tokenizer.json`, as transformers converts it."""
    if not any((folder / name).is_file() for name in _CONVERTED):
        raise JudgeError(
            f"there is no tokenizer in {folder}: neither tokenizer.json nor any of {', '.join(_CONVERTED)}: copy it "
            "there from the model's repository"
        )
    require_extra("hub readers without a tokenizer.json", WITH_TORCH)
    from transformers import AutoTokenizer  # noqa: PLC0415 - an optional package

    try:
        found = AutoTokenizer.from_pretrained(folder, use_fast=True, local_files_only=True, trust_remote_code=False)
    except Exception as error:
        raise JudgeError(f"there is no tokenizer in {folder} that can be read: {in_a_line(error)}") from error
    return found.backend_tokenizer


def _special(folder: Path) -> dict[str, Any]:
    """The special tokens that a folder names, as texts."""
    found: dict[str, Any] = {}
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        path = folder / name
        if path.is_file():
            try:
                table = json.loads(path.read_text(encoding="utf-8"))
                found |= {key: value for key, value in table.items() if key.endswith("_token")}
            except (OSError, ValueError, AttributeError) as error:
                raise JudgeError(f"{path} can't be read: {in_a_line(error)}") from error
    return {key: value.get("content") if isinstance(value, dict) else value for key, value in found.items()}
