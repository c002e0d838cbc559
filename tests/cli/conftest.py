"""The command, run in this process and in one of its own."""

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_models import KEY

from forked import Child
from in_process import Said, said_by
from in_process_pool import InProcess
from ragtriage.cli import evaluate_on
from ragtriage.execution.pools import PRELOADED, PRELOADED_TO_PAY

Command = Callable[..., Said]

# The server that forks processes is started once, by whichever test comes first.
PRELOADED.extend(PRELOADED_TO_PAY)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """`command("evaluate", "rows.jsonl")`, as the console script does it, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAGTRIAGE_STORE", raising=False)
    return lambda *args: said_by(args)


@pytest.fixture
def openai(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for OpenAI's models, whatever this machine has."""
    for name in ("OPENAI_BASE_URL", "OTEL_PYTHON_TRACER_PROVIDER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--on local:1` starts no process, where a real one isn't the point."""
    monkeypatch.setattr(evaluate_on, "LocalProcesses", lambda job, _, coordinator: InProcess(job, coordinator))


@pytest.fixture
def process(tmp_path: Path) -> Command:
    """The same in a process of its own."""

    def run(*args: object) -> Said:
        with Child(*args, folder=tmp_path) as child:
            out, err = child.communicate()
            return Said(child.wait(), out, err)

    return run
