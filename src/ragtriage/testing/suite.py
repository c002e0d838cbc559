"""What the tests of one session share: the options, the store, the judge, and the cases that were selected."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from ragtriage.config import Settings, find_settings, judge_config
from ragtriage.core.case import Case, Record
from ragtriage.core.errors import StoreError
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.store import Store, open_store, project_meant
from ragtriage.testing.batch import Batch, SuiteMetrics, words_in
from ragtriage.testing.case_list import CaseList
from ragtriage.testing.judging import judge_case
from ragtriage.testing.options import CONFIGS, SuiteOptions, options_of
from ragtriage.testing.results import Results
from ragtriage.testing.session_judge import Judges

OFFLINE = "no answer to this question is remembered, and no model may be asked: add --ragtriage-network to ask it"
TURNED_OFF = "ragtriage's pytest plugin is turned off (-p no:ragtriage)"
MADE_IN_TESTS = "made in tests"


def current() -> Suite:
    """The suite of the session that runs now. Where the plugin is turned off, the test is skipped."""
    if not CONFIGS:
        pytest.skip(TURNED_OFF)
    config = CONFIGS[-1]
    suite = found(config)
    if suite is None:
        suite = config.stash[_KEY] = Suite(options_of(config))
    return suite


def found(config: pytest.Config) -> Suite | None:
    """The suite of a session, None if no test used it."""
    return config.stash.get(_KEY, None)


def use_judge(config: pytest.Config, judge: Judge) -> None:
    """Let a judge of one's own judge in this session, whatever its options name; call it in `pytest_configure`.

    Args:
        config: of the session.
        judge: fulfils `ragtriage.judges.protocol.Judge`, such as a `FakeJudge`.
    """
    config.stash[_KEY] = Suite(options_of(config), Judges(judge))


def closed(config: pytest.Config) -> None:
    """End a session's suite, if a test used it."""
    suite = found(config)
    if suite is not None:
        del config.stash[_KEY]
        suite.close()


class Suite:
    """One test session, as far as it judges. Nothing is opened before a verdict is asked for."""

    def __init__(self, options: SuiteOptions, judges: Judges | None = None) -> None:
        self.options = options
        self.results = Results()
        self._given = judges
        self._batches: dict[tuple[str, ...], Batch] = {}
        self._store: tuple[int, Store] | None = None
        self._judges: tuple[int, Judges] | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._older: Store | None = None

    @cached_property
    def settings(self) -> Settings:
        """The user's, of the rootdir or above."""
        return find_settings(self.options.rootdir)

    @cached_property
    def metrics(self) -> SuiteMetrics:
        """The metrics that tests may name."""
        return SuiteMetrics(self.settings)

    @property
    def store(self) -> Store:
        """Where runs and answers are kept; a temporary one where the default place can't be written.

        A process that was forked opens a connection of its own.
        """
        if self._store is None or self._store[0] != os.getpid():
            self._store = os.getpid(), self._opened()
        return self._store[1]

    @property
    def judges(self) -> Judges:
        """Who judges. The names, and what they need, are checked when it is first asked for."""
        if self._given is not None:
            return self._given
        if self._judges is None or self._judges[0] != os.getpid():
            offline = None if self.options.network else OFFLINE
            session = JudgeSession.of(judge_config(self.settings, self.options.given), offline=offline)
            self._judges = os.getpid(), Judges(session, self._older)
        return self._judges[1]

    def batch(self, cases: CaseList) -> Batch:
        """Where the cases of a list are judged together; lists of the same file share it."""
        if cases.key not in self._batches:
            self._batches[cases.key] = Batch(cases, self)
        return self._batches[cases.key]

    def select(self, chosen: Iterable[tuple[CaseList, int, Any]], runs: Iterable[Any] = ()) -> None:
        """Take note of the selected tests: their lists, positions in them, and functions, which name metrics.

        A file that a function in `runs` names is judged whole.
        """
        for cases, position, test in chosen:
            batch = self.batch(cases)
            batch.select(cases.cases[position].id)
            batch.name_metrics_of(test)
        for test in runs:
            words = words_in(test)
            for batch in self._batches.values():
                if batch.cases.key[0] == "file" and Path(batch.cases.key[1]).name in words:
                    batch.select_all(self.metrics.default)

    def judge(self, case: Case, names: frozenset[str]) -> Record:
        """Judge one case at once."""
        store = self.store
        record, judged = judge_case(case, self.judges, store, self.metrics.config(names))
        self.results.judged(MADE_IN_TESTS, judged)
        return record

    def close(self) -> None:
        """Make the answers safe, and let go of the model and the store."""
        if self._judges is not None and self._judges[0] == os.getpid():
            with suppress(StoreError):
                self._judges[1].close()
        for store in (self._store[1] if self._store and self._store[0] == os.getpid() else None, self._older):
            if store is not None:
                with suppress(StoreError):
                    store.close()
        if self._folder is not None:
            self._folder.cleanup()

    def _opened(self) -> Store:
        if self.options.store is not None:
            meant = project_meant(self.settings.project, self.options.store)
            return open_store(self.options.store, project=meant)
        place = self.options.default_store
        try:
            if _writable(place):
                return open_store(place, project=self.settings.project)
            told = "it is read-only"
            with suppress(StoreError):
                self._older = open_store(place, create=False)
        except StoreError as error:
            told = str(error)
        self._folder = tempfile.TemporaryDirectory(prefix="ragtriage-", ignore_cleanup_errors=True)
        self.results.note(f"nothing is kept in {place}: {told}; --ragtriage-store takes another place")
        return open_store(self._folder.name)


_KEY = pytest.StashKey[Suite]()


def _writable(place: Path) -> bool:
    there = next(folder for folder in (place, *place.parents) if folder.exists())
    return os.access(there, os.W_OK)
