"""Test sessions within the tests."""

from pathlib import Path
from textwrap import dedent

import pytest
from inner_sessions import CASES, JUDGE, PLUGIN, Session, write

import ragtriage
from ragtriage import EmbeddedJudge, open_store


@pytest.fixture(scope="module", autouse=True)
def _loaded(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Load what sessions within this process load, as each of them forgets modules that it was the first to load."""
    import ragtriage.testing.judged_run  # noqa: PLC0415
    import ragtriage.testing.results  # noqa: PLC0415
    from ragtriage.testing import __all__ as names  # noqa: PLC0415

    for name in names:
        getattr(ragtriage.testing, name)
    with open_store(tmp_path_factory.mktemp("store")) as store:
        store.runs()
    EmbeddedJudge()


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
            pytester.makepyfile(test_of_answers=f"from ragtriage.testing import *\n{dedent(lines)}")
        arguments = [*PLUGIN, "-p", "no:cacheprovider", "-p", "no:randomly", *flags]
        return pytester.runpytest_subprocess(*arguments) if apart else pytester.runpytest_inprocess(*arguments)

    return run
