"""`fillings.jsonl`: filled and answered queries as a person edits them, and what is kept while they are made."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.testset.generation.fillings import Filling, TemplateFilled
from ragtriage.testset.generation.query_templates import QueryTemplate
from ragtriage.testset.generation.true_answers import Answer

_KINDS: tuple[tuple[str, Any, str], ...] = (
    ("group", str, "text"),
    ("template", str, "text"),
    ("values", dict, "object"),
    ("answer", str | int | float | list, "text, number, true or false, or list"),
    ("answer_type", str, "text"),
    ("sql", str, "text"),
    ("parameters", dict, "object"),
    ("keys", dict, "object"),
)
"""The fields of a line, the type of each, and what people call it."""
_TYPES = {"text", "integer", "number", "date", "datetime", "time", "yes/no", "list", "none"}


@dataclass(frozen=True, slots=True)
class FillingsRead:
    """Fillings that can be used, and sentences about those that can't."""

    fillings: tuple[Filling, ...]
    refused: tuple[str, ...]


def filling_line(one: Filling) -> str:
    """A filling as a line of its file."""
    return json_line(_values(one))


def json_line(values: Mapping[str, Any]) -> str:
    """Values as one line of JSON."""
    return json.dumps(values, ensure_ascii=False) + "\n"


def read_fillings(path: Path, templates: Iterable[QueryTemplate]) -> FillingsRead:
    """The fillings of a file, hand-edited or not; one that can't be used is refused and the others go on.

    Raises:
        InputError: the file can't be read, or holds no usable filling.
    """
    known = {template.id: template for template in templates}
    found: dict[str, Filling] = {}
    refused: list[str] = []
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        values = _parsed(line)
        wrong = _wrong(values, known)
        if not wrong and values["group"] in found:
            wrong = "group is that of an earlier line"
        if wrong:
            refused.append(f"{path}, line {number}: {wrong}")
        else:
            found[values["group"]] = _trusted(values)
    if not found:
        raise InputError(
            f"{path}: no filling can be used.{' The first: ' + refused[0] if refused else ' It is empty.'}"
        )
    return FillingsRead(tuple(found.values()), tuple(refused))


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
            if lines and _parsed(lines[0]) == {"inputs": inputs}:
                whole = len(lines[0])
                for line in lines[1:]:
                    values = _parsed(line) if line.endswith(b"\n") else None
                    if values is None:
                        break
                    whole += len(line)
                    self.done[values["template"]] = _result(values)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
            os.ftruncate(self._file, whole)
        except OSError as error:
            raise InputError(f"{self._path}: can't be written: {error.strerror or error}") from None
        if not whole:
            self._write({"inputs": inputs})

    def add(self, one: TemplateFilled) -> None:
        """Keep what came of a template."""
        self.done[one.template] = one
        self._write(
            {
                "template": one.template,
                "counts": dict(one.counts),
                "sampled": one.sampled,
                "problem": one.problem,
                "fillings": [_values(filling) for filling in one.fillings],
            }
        )

    def close(self, *, finished: bool) -> None:
        """Close the file, and take it away if all is done."""
        os.close(self._file)
        if finished:
            self._path.unlink()

    def _write(self, values: Mapping[str, Any]) -> None:
        data = json_line(values).encode("utf-8", "replace")
        while data:
            data = data[os.write(self._file, data) :]


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file: `ragtriage testset fill` writes it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: can't be read: {error}") from None


def _parsed(line: str | bytes) -> Any:
    """What a line holds; None if it isn't JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _values(one: Filling) -> dict[str, Any]:
    value = one.answer.value
    return {
        "group": one.group,
        "template": one.template,
        "values": dict(one.values),
        "answer": list(value) if isinstance(value, tuple) else value,
        "answer_type": one.answer.type,
        "sql": one.sql,
        "parameters": dict(one.parameters),
        "keys": dict(one.keys),
    }


def _result(values: Mapping[str, Any]) -> TemplateFilled:
    return TemplateFilled(
        values["template"],
        tuple(_trusted(one) for one in values["fillings"]),
        values["counts"],
        values["sampled"],
        values["problem"],
    )


def _trusted(values: Mapping[str, Any]) -> Filling:
    answer = values["answer"]
    return Filling(
        values["group"],
        values["template"],
        values["values"],
        values["sql"],
        values["parameters"],
        Answer(tuple(answer) if isinstance(answer, list) else answer, values["answer_type"]),
        values["keys"],
    )


def _wrong(values: Any, known: Mapping[str, QueryTemplate]) -> str:  # noqa: PLR0911  # one sentence a way to be wrong
    """What is wrong with a line; empty if nothing is."""
    if not isinstance(values, dict):
        return "is no JSON object"
    for name, kinds, what in _KINDS:
        if not isinstance(values.setdefault(name, {} if kinds is dict else None), kinds):
            return f"{name} is missing or no {what}"
    if extra := sorted(values.keys() - {name for name, *_ in _KINDS}):
        return f"{extra[0]} is no field of a filling"
    if values["template"] not in known:
        return f"template is {values['template']!r}, which isn't in templates.yaml"
    for name in known[values["template"]].placeholders:
        if not isinstance(values["values"].get(name), str | int | float):
            return f"values lacks {name}"
    if values["answer_type"] not in _TYPES:
        return f"answer_type is {values['answer_type']!r}: use {', '.join(sorted(_TYPES))}"
    return "" if values["answer"] != "" else "answer is empty: write [] where there is none"
