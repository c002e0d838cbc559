"""JSONL files that grow by a line at a time, so that a kill takes away no line that was written."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragtriage.core.errors import ConfigError, InputError

_SUFFIXES = frozenset({".jsonl", ".ndjson"})


def open_to_append(path: Path, what: str) -> int:
    """The descriptor of a file to read and append to; it and its folders are made if they aren't there.

    A last line that was cut off (it is no JSON) is removed, a whole one that lacks its end gets it.

    Args:
        path: the file.
        what: what it holds, for the error.

    Raises:
        ConfigError: its name isn't that of a JSONL file.
        InputError: it can't be written.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise ConfigError(f"{path}: {what} are JSON Lines: give the file a name that ends in .jsonl")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), 0o644)
        _mend_end(file)
    except OSError as error:
        raise InputError(f"{path}: can't be written: {error.strerror or error}") from None
    return file


def _mend_end(file: int) -> None:
    size = start = os.fstat(file).st_size
    end = b""
    while start and b"\n" not in end:
        start = max(0, start - 65536)
        os.lseek(file, start, os.SEEK_SET)
        end = os.read(file, size - start)
    last = end.rpartition(b"\n")[2]
    if not last:
        return
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        os.ftruncate(file, size - len(last))
    else:
        os.write(file, b"\n")


def append(file: int, row: Mapping[str, Any]) -> None:
    """Write one row as a line; when this returns, the operating system has it.

    Raises:
        OSError: the disk is full, or gone.
    """
    line = (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", "replace")
    while line:
        line = line[os.write(file, line) :]
