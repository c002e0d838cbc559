"""`fillings.jsonl`: filled and answered queries as a person edits them, and what is kept while they are made."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ragtriage.core.errors import InputError
from ragtriage.core.validation import Invalid, validated
from ragtriage.testset.generation.fillings import Filling, TemplateFilled
from ragtriage.testset.generation.query_templates import QueryTemplate


@dataclass(frozen=True, slots=True)
class FillingsRead:
    """Fillings that can be used, and sentences about those that can't."""

    fillings: tuple[Filling, ...]
    refused: tuple[str, ...]


def json_line(values: Mapping[str, Any]) -> str:
    """Values as one line of JSON."""
    return json.dumps(values, ensure_ascii=False) + "\n"


def read_fillings(path: Path, templates: Iterable[QueryTemplate]) -> FillingsRead:
    """The fillings of a file, hand-edited or not; one that can't be used is refused and the others go on.

    Raises:
        InputError: the file can't be read, or holds no usable filling.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file: `ragtriage testset fill` writes it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: can't be read: {error}") from None
    known = {template.id: template for template in templates}
    found: dict[str, Filling] = {}
    refused: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            given = json.loads(line)
            if isinstance(given, dict) and given.get("answer") in (None, ""):
                raise Invalid("answer is missing: write [] where there is none")
            one = _checked(validated(Filling, given), known)
            if one.group in found:
                raise Invalid("group is that of an earlier line")
            found[one.group] = one
        except (ValueError, RecursionError) as wrong:  # Invalid is a ValueError
            why = str(wrong) if isinstance(wrong, Invalid) else "is no JSON"
            refused.append(f"{path}, line {number}: {why}")
    if not found:
        raise InputError(
            f"{path}: no filling can be used.{' The first: ' + refused[0] if refused else ' It is empty.'}"
        )
    return FillingsRead(tuple(found.values()), tuple(refused))


def _checked(one: Filling, known: Mapping[str, QueryTemplate]) -> Filling:
    """The filling, if it fits its template.

    Raises:
        Invalid: it doesn't.
    """
    if one.template not in known:
        raise Invalid(f"template is {one.template!r}, which isn't in templates.yaml")
    for name in known[one.template].placeholders:
        if name not in one.values:
            raise Invalid(f"values lacks {name}")
    return one


class PartlyFilled:
    """What was filled so far, one template a line, so that an interrupted step goes on; use it as a context manager.

    Args:
        path: of the file that is being made; this one stands beside it and ends in `.part`.
        inputs: a digest of all that the step is made from; a part that was made from something else is left.
    """

    def __init__(self, path: Path, inputs: str) -> None:
        self._path = path.with_name(path.name + ".part")
        self.done: dict[str, TemplateFilled] = {}
        whole = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = self._path.read_bytes().splitlines(keepends=True) if self._path.exists() else []
            if lines and lines[0] == _encoded({"inputs": inputs}):
                whole = len(lines[0])
                for line in lines[1:]:
                    one = _whole(line)
                    if one is None:
                        break
                    whole += len(line)
                    self.done[one.template] = one
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            os.ftruncate(self._file, whole)
        except OSError as error:
            raise InputError(f"{self._path}: can't be written: {error.strerror or error}") from None
        if not whole:
            self._write({"inputs": inputs})

    def add(self, one: TemplateFilled) -> None:
        """Keep what came of a template."""
        self.done[one.template] = one
        self._write(asdict(one))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._file)
        if kind is None:  # all is done
            self._path.unlink()

    def _write(self, values: Mapping[str, Any]) -> None:
        data = _encoded(values)
        while data:
            data = data[os.write(self._file, data) :]


def _encoded(values: Mapping[str, Any]) -> bytes:
    return json_line(values).encode("utf-8", "replace")


def _whole(line: bytes) -> TemplateFilled | None:
    """What a line holds; None if it was cut off while it was written."""
    try:
        return validated(TemplateFilled, json.loads(line)) if line.endswith(b"\n") else None
    except ValueError:
        return None
