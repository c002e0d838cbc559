"""What sessions within the tests are made of: a few cases, a fake judge, and how the plugin is loaded."""

import json
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

PLUGIN = [] if any(e.name == "ragtriage" for e in entry_points(group="pytest11")) else ["-p", "ragtriage.pytest_plugin"]
"""Loads the plugin where the package was installed before it had one."""

JUDGE = '''
from pathlib import Path

from ragtriage import FakeJudge, Verdict
from ragtriage.core.verdicts import with_chance
from ragtriage.core.questions import DECOMPOSITIONS
from ragtriage.core.verdicts import Component, Failure
from ragtriage.testing import use_judge

def answer(question):
    """Whole texts; what mentions a fee isn't supported, "probably" is in doubt, and a crash can't be judged."""
    with Path(__file__).with_name("asked.txt").open("a") as asked:
        asked.write(f"{question.kind} {question.subject}\\n")
    text = question.subject
    if question.kind in DECOMPOSITIONS:
        if question.kind == "claims" and "nothing" in text:
            return ()
        return tuple(Component(one + ".") for one in text.rstrip(".").split(". "))
    if question.kind == "supported" and "crash" in text:
        return Failure("the judge is ill")
    if question.kind == "supported" and "probably" in text:
        return with_chance(Verdict("yes"), 0.7)
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


def write(path: Path, rows: Any) -> None:
    """A JSONL file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def asked(folder: Path) -> list[str]:
    """What the fake judge was asked in a folder, so far."""
    path = folder / "asked.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
