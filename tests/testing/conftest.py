"""Test sessions within the tests: a folder with a few cases, a fake judge, and the plugin."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

import ragtriage
from ragtriage import open_store

PLUGIN = [] if any(e.name == "ragtriage" for e in entry_points(group="pytest11")) else ["-p", "ragtriage.pytest_plugin"]
"""Loads the plugin where the package was installed before it had one."""

JUDGE = '''
from pathlib import Path

from ragtriage import FakeJudge, Verdict
from ragtriage.core.questions import DECOMPOSITIONS
from ragtriage.core.verdicts import Component, Failure
from ragtriage.testing import use_judge

def answer(question):
    """Whole texts; what mentions a fee isn't supported, and what mentions a crash can't be judged."""
    with Path(__file__).with_name("asked.txt").open("a") as asked:
        asked.write(f"{question.kind} {question.subject}\\n")
    text = question.subject
    if question.kind in DECOMPOSITIONS:
        if question.kind == "claims" and "nothing" in text:
            return ()
        return tuple(Component(one + ".") for one in text.rstrip(".").split(". "))
    if question.kind == "supported" and "crash" in text:
        return Failure("the judge is ill")
    no = "fee" in text or question.kind in {"declines", "similarity"}
    why = "no source says so" if no else ""
    return Verdict("no" if no else "yes", 0.1 if no else 0.9, 0.9, why, sure="rumour" not in text)

def pytest_configure(config):
    use_judge(config, FakeJudge(answer))
'''

CASES = (
    {"id": "q1", "query": "May I change my ticket?", "sources": ["A ticket can be changed."],
     "response": "A ticket can be changed.", "topic": "tickets"},
    {"id": "q2", "query": "What does it cost?", "sources": ["A ticket can be changed."],
     "response": "A ticket can be changed. The fee is 5 euros.", "topic": "fees"},
    {"id": "q3", "query": "Thanks!", "sources": ["A ticket can be changed."],
     "response": "nothing", "topic": "tickets"},
)  # fmt: skip
"""One grounded, one with an unsupported claim, one that claims nothing."""

Session = Callable[..., pytest.RunResult]


@pytest.fixture(scope="module", autouse=True)
def _loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Load what sessions within this process load, as each of them forgets modules that it was the first to load."""
    import ragtriage.testing.reports  # noqa: PLC0415
    import ragtriage.testing.run_fixture  # noqa: PLC0415
    import ragtriage.testing.session_summary  # noqa: PLC0415
    from ragtriage.testing import __all__ as names  # noqa: PLC0415

    for name in names:
        getattr(ragtriage.testing, name)
    with open_store(tmp_path_factory.mktemp("store")) as store:
        store.runs()


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Runs tests of these lines in a folder with `answers.jsonl`; further files and flags as they are given."""
    monkeypatch.delenv("RAGTRIAGE_STORE", raising=False)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(ragtriage.__file__).parents[1]))
    write(pytester.path / "answers.jsonl", CASES)
    pytester.makeconftest(JUDGE)

    def run(lines: str, *flags: str, apart: bool = False) -> pytest.RunResult:
        if lines:
            pytester.makepyfile(test_answers=f"from ragtriage.testing import *\n{lines}")
        arguments = [*PLUGIN, "-p", "no:cacheprovider", "-p", "no:randomly", *flags]
        return pytester.runpytest_subprocess(*arguments) if apart else pytester.runpytest_inprocess(*arguments)

    return run


def write(path: Path, rows: Any) -> None:
    """A JSONL file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def asked(folder: Path) -> list[str]:
    """What the fake judge was asked in a folder, so far."""
    path = folder / "asked.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
