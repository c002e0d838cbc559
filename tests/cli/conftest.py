"""The command, run in this process and in one of its own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_models import KEY

from forked import COMMAND, LOADED, Child
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
    """The same in a process of its own, with standard input, where a package may be missing."""

    def run(*args: object, stdin: str = "", without: str = "") -> Said:
        lacking = f"import sys; assert {without!r} not in sys.modules; sys.modules[{without!r}] = None; "
        code = f"{lacking if without else ''}{COMMAND}"
        if without not in LOADED:
            with Child(*args, folder=tmp_path, code=code) as child:
                out, err = child.communicate(stdin)
                return Said(child.wait(), out, err)
        done = subprocess.run(  # our own command
            [sys.executable, "-c", code, *map(str, args)],
            cwd=tmp_path,
            env={k: v for k, v in os.environ.items() if k != "RAGTRIAGE_STORE"},
            input=stdin,
            text=True,
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    return run
