"""Files made on the spot."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ragtriage.core.case import Case
from ragtriage.readers import CaseFile, Rejected, open_cases

Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write a file: bytes and text as they are, a list as JSON Lines."""

    def write(content: bytes | str | list[Any], name: str = "cases.jsonl") -> Path:
        path = tmp_path / name
        if isinstance(content, list):
            content = "".join(json.dumps(row) + "\n" for row in content)
        path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def read(make: Make) -> Callable[..., tuple[CaseFile, list[Case], list[Rejected]]]:
    """Write a file and read it whole."""

    def reading(content: bytes | str | list[Any], name: str = "cases.jsonl", **options: Any) -> Any:
        file = open_cases(make(content, name), **options)
        rows = list(file.rows())
        cases = [row for row in rows if isinstance(row, Case)]
        return file, cases, [row for row in rows if isinstance(row, Rejected)]

    return reading
