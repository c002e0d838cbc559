"""The examples run as they are, where their framework is installed."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "frameworks"
NEEDS = {"mlflow": ("mlflow", "pandas"), "langsmith": ("langsmith",), "pandas": ("pandas",), "inspect": ("inspect_ai",)}


def test_every_example_is_run() -> None:
    assert {path.stem for path in FOLDER.glob("with_*.py")} == {f"with_{name}" for name in NEEDS}


@pytest.mark.parametrize("name", NEEDS)
def test_an_example_runs_as_it_is_and_finds_the_wrong_promise(name: str, tmp_path: Path) -> None:
    for package in NEEDS[name]:
        if find_spec(package) is None:
            pytest.skip(f"{package} isn't installed")

    done = subprocess.run(
        [sys.executable, FOLDER / f"with_{name}.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "groundedness" in done.stdout
    assert (tmp_path / ".ragtriage" / "runs.sqlite").is_file()


def test_examples_are_short() -> None:
    assert {path.name: n for path in FOLDER.glob("*.py") if (n := len(path.read_text().splitlines())) >= 60} == {}
