"""`fillings.jsonl`: filled and answered queries as a person edits them, and what is kept while they are made."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.core.files import open_private, private_folder, why_unreadable
from ragtriage.core.validation import Invalid, validated
from ragtriage.testset.generation.fillings import FilledTemplate, Filling
from ragtriage.testset.generation.query_templates import QueryTemplate


def json_line(values: Mapping[str, Any]) -> str:
    """Values as one line of JSON."""
    return json.dumps(values, ensure_ascii=False) + "\n"


def read_fillings(path: Path, templates: Iterable[QueryTemplate]) -> tuple[tuple[Filling, ...], tuple[str, ...]]:
    """The fillings of a file, hand-edited or not, and sentences about those that can't be used.

    Raises:
        InputError: the file can't be read, or holds no usable filling.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file: `ragtriage testset fill` writes it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: can't be read: {why_unreadable(error)}") from None
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
    return tuple(found.values()), tuple(refused)


def _checked(one: Filling, known: Mapping[str, QueryTemplate]) -> Filling:
    """The filling, if it fits its template; else Invalid is raised."""
    if one.template not in known:
        raise Invalid(f"template is {one.template!r}, which isn't in templates.yaml")
    for name in known[one.template].placeholders:
        if name not in one.values:
            raise Invalid(f"values lacks {name}")
    return one


@contextmanager
def partly_filled(
    path: Path, inputs: str
) -> Iterator[tuple[Mapping[str, FilledTemplate], Callable[[FilledTemplate], None]]]:
    """What was filled so far by template, and what keeps one more, so that an interrupted step goes on.

    Args:
        path: one template a line.
        inputs: a digest of all that the step is made from; what was made from something else is left.
    """
    done: dict[str, FilledTemplate] = {}
    head = _encoded({"inputs": inputs})
    whole = 0
    try:
        private_folder(path.parent)
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        if lines[:1] == [head]:
            whole = len(head)
            for line in lines[1:]:
                one = _whole(line)
                if one is None:
                    break
                whole += len(line)
                done[one.template] = one
        file = open_private(path, "ab")
        file.truncate(whole)
    except OSError as error:
        raise InputError(f"{path}: can't be written: {error.strerror or error}") from None
    with file:

        def write(data: bytes) -> None:
            file.write(data)
            file.flush()

        def keep(one: FilledTemplate) -> None:
            done[one.template] = one
            write(_encoded(asdict(one)))

        if not whole:
            write(head)
        yield done, keep


def _encoded(values: Mapping[str, Any]) -> bytes:
    return json_line(values).encode("utf-8", "replace")


def _whole(line: bytes) -> FilledTemplate | None:
    """What a line holds; None if it was cut off while it was written."""
    try:
        return validated(FilledTemplate, json.loads(line)) if line.endswith(b"\n") else None
    except ValueError:
        return None
