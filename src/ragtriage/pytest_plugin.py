"""The pytest plugin: cases of a file as tests, judged together.

It loads nothing, writes nothing and connects to nothing until a test uses `ragtriage.testing` or the fixture
`ragtriage_run`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ragtriage.testing.options import CONFIGS, NotJudged, Undecided, add_options, undefined_of

if TYPE_CHECKING:
    from ragtriage.testing.judged_run import JudgedRun
    from ragtriage.testing.suite import Suite

MARKER = "ragtriage"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register flags and ini options."""
    add_options(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and note which session runs."""
    config.addinivalue_line("markers", f"{MARKER}: tests that judge answers; every one gets it by itself")
    undefined_of(config)
    CONFIGS.append(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End what tests used."""
    if config in CONFIGS:
        CONFIGS.remove(config)
    if _used():
        from ragtriage.testing.suite import closed  # noqa: PLC0415  # loaded by a test

        closed(config)
    gathered = config.stash.get(_GATHERED, None)
    if gathered and not hasattr(config, "workerinput"):
        from ragtriage.testing.results import files_to_delete  # noqa: PLC0415  # only where a test judged

        for path in files_to_delete(gathered):
            Path(path).unlink(missing_ok=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that judge, before `-m` selects."""
    for item in items:
        if _cases_of(item) or _asks_for_a_run(item):
            item.add_marker(MARKER)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Take note of the cases that were selected: they are judged together."""
    if not _used() or session.config.option.collectonly:
        return
    from ragtriage.testing.suite import current  # noqa: PLC0415  # loaded by a test

    chosen = [(case, getattr(item, "function", None)) for item in session.items for case in _cases_of(item)]
    runs = [getattr(item, "function", None) for item in session.items if _asks_for_a_run(item)]
    if chosen:
        current().select(((case.cases, case.position, test) for case, test in chosen), runs)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """An undefined score that a fixture needs."""
    try:
        return (yield)
    except Undecided as undecided:
        _decide(item, undecided)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """An undefined score, and the scores that go into the report."""
    try:
        return (yield)
    except Undecided as undecided:
        return _decide(item, undecided, may_pass=True)
    finally:
        if (suite := _suite(item.config)) is not None:
            properties = suite.results.properties()
            item.user_properties += [one for one in properties if one not in item.user_properties]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """A judge that failed is an error and no failure of the answer; what a test looked at goes with its report."""
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, NotJudged) and report.when == "call":
        report.when = "setup"  # what makes an error of it in every output; the test could not begin to decide
    suite = _suite(item.config)
    gathered = suite.results.taken() if suite is not None else None
    if gathered is not None:
        report.ragtriage = gathered  # in types that travel between processes
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Gather what the tests looked at, from all processes."""
    if hasattr(report, "ragtriage") and CONFIGS:
        CONFIGS[-1].stash.setdefault(_GATHERED, []).append(report.ragtriage)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object | None) -> None:
    """Note a worker of pytest-xdist that crashed."""
    if error:
        node.config.stash.setdefault(_CRASHED, []).append(node.gateway.id)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was judged, once, if anything was."""
    gathered = config.stash.get(_GATHERED, None)
    if gathered:
        from ragtriage.testing.results import summary_lines  # noqa: PLC0415  # only where a test judged

        crashed: list[str] = config.stash.get(_CRASHED, [])
        terminalreporter.ensure_newline()
        terminalreporter.section("ragtriage")
        for line in summary_lines(gathered, crashed):
            terminalreporter.write_line(line)


@pytest.fixture
def ragtriage_run(request: pytest.FixtureRequest) -> Callable[..., JudgedRun]:
    """The run of a whole file, whatever was deselected: `ragtriage_run("answers.jsonl")`."""
    from ragtriage.testing.judged_run import run_of  # noqa: PLC0415  # only where a test uses it

    return run_of(request)


_GATHERED = pytest.StashKey[list[dict[str, Any]]]()
_CRASHED = pytest.StashKey[list[str]]()


def _used() -> bool:
    """Whether a test has loaded what judges."""
    return "ragtriage.testing.suite" in sys.modules


def _suite(config: pytest.Config) -> Suite | None:
    """The suite of a session, None if no test used it."""
    if not _used():
        return None
    from ragtriage.testing.suite import found  # noqa: PLC0415  # loaded by a test

    return found(config)


def _cases_of(item: pytest.Item) -> list[Any]:
    """The judged cases that a test is given by its parameters."""
    if not _used():
        return []
    from ragtriage.testing.judged_case import JudgedCase  # noqa: PLC0415  # loaded by a test

    callspec = getattr(item, "callspec", None)
    return [value for value in callspec.params.values() if isinstance(value, JudgedCase)] if callspec else []


def _asks_for_a_run(item: pytest.Item) -> bool:
    return "ragtriage_run" in getattr(item, "fixturenames", ())


def _decide(item: pytest.Item, undecided: Undecided, *, may_pass: bool = False) -> None:
    """Skip, fail or pass a test that needs an undefined score."""
    config = item.config
    policy = undefined_of(config)
    if policy == "fail":
        raise pytest.fail.Exception(str(undecided), pytrace=False) from None
    if policy == "skip" or not may_pass:
        raise pytest.skip.Exception(str(undecided), _use_item_location=True) from None
