"""Evaluators write into the present folder."""

from pathlib import Path

import pytest


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that nobody else has is the present one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
