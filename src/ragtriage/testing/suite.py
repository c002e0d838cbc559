"""What the tests of one session share: the options, the store, the judge, and the cases that were selected.

The cases of one list are judged together when a test first asks for a verdict, by the metrics that tests name.
"""

import os
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from ragtriage.adapters.opening import open_application
from ragtriage.collect.answers_file import COLLECTED_COLUMNS, CollectedLines
from ragtriage.collect.application import RequestPolicy, ask_all
from ragtriage.collect.application_names import ApplicationSpec
from ragtriage.config import Settings, find_settings, judge_config
from ragtriage.core.case import Case, Record
from ragtriage.core.errors import ConfigError, RagtriageError, StoreError
from ragtriage.core.event_loops import without_event_loop
from ragtriage.core.metric import Metric
from ragtriage.core.verdicts import Score
from ragtriage.diagnosis.findings import Finding
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.metrics import METRICS, OTHER_NAMES, metric_named, metrics_named
from ragtriage.readers import open_cases
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.run import Run
from ragtriage.store import Store, open_store, project_meant
from ragtriage.store.lease import exclusive
from ragtriage.testing.case_list import CaseList
from ragtriage.testing.judging import PATIENCE, Judged, Judges, judge_case, judge_cases
from ragtriage.testing.options import CONFIGS, NotJudged, SuiteOptions, options_of
from ragtriage.testing.results import Results

GROUNDED = "groundedness"
ALL_OF_THE_SETTINGS = frozenset({"findings", "record", "share", "compare"})
"""Attributes that need every metric of the settings: the rules of the diagnosis read several."""


class SuiteMetrics:
    """The metrics that tests may name, and the configuration that computes some of them.

    Those of the settings are the default; they are loaded when they are first needed.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @property
    def thresholds(self) -> dict[str, float]:
        """Metric name → the value at which a score is just good enough."""
        return dict(self._settings.thresholds)

    @cached_property
    def default(self) -> dict[str, Metric]:
        """The metrics of the settings, by name."""
        return {m.name: m for m in metrics_named(self._settings.metrics)}

    def named(self, name: str) -> Metric:
        """One metric; a ConfigError says which names are near, or what another tool means by it."""
        return self.default.get(name) or metric_named(name) or metrics_named([name])[0]

    def config(self, names: Collection[str]) -> EvaluationConfig:
        """What computes these metrics, in the order of every table."""
        order = {m.name: i for i, m in enumerate(METRICS)}
        found = sorted(map(self.named, names), key=lambda m: (order.get(m.name, len(order)), m.name))
        own = self._settings
        return EvaluationConfig(tuple(found), own.thresholds, own.rules, own.costs, own.prompt_price)

    def named_in(self, function: Any) -> frozenset[str]:
        """The names of the metrics that a test's code names; those of the settings if it names none.

        Only its own code is looked through. What a helper names is judged when it asks for it.
        """
        words = words_in(function)
        known = {m.name for m in METRICS} | set(self.default)
        found = {OTHER_NAMES.get(word, word) for word in words} & known
        if "assert_grounded" in words:
            found.add(GROUNDED)
        return frozenset(found if found and not words & ALL_OF_THE_SETTINGS else found | set(self.default))


def words_in(function: Any) -> set[str]:
    """Every name and every text in a function's code, as far as it has any, and in the functions in it."""
    return set(_words(getattr(function, "__code__", None)))


def _words(code: CodeType | None) -> Iterator[str]:
    """See `words_in`; the code of functions in it is looked through, too."""
    if code is not None:
        yield from code.co_names
        yield from _texts(code.co_consts)


def _texts(constants: Iterable[Any]) -> Iterator[str]:
    for constant in constants:
        match constant:
            case str():
                yield constant
            case tuple() | frozenset():
                yield from _texts(constant)
            case CodeType():
                yield from _words(constant)


class Batch:
    """The cases of one list, of which some were selected."""

    def __init__(self, cases: CaseList, suite: "Suite") -> None:
        self.cases = cases
        self._suite = suite
        self._selected: dict[str, None] = {}
        self._names: frozenset[str] = frozenset()
        self._judged: tuple[frozenset[str], frozenset[str], Judged] | None = None
        self._run: tuple[Store, Run] | None = None
        self._read: tuple[Run, str, tuple[Record, tuple[Finding, ...]]] | None = None
        self._defined: tuple[Run, Counter[str], int] | None = None
        self._failed: tuple[frozenset[str], frozenset[str], str] | None = None

    def select(self, case_id: str) -> None:
        """Have a case judged with the others."""
        self._selected[case_id] = None

    def select_all(self, names: Collection[str]) -> None:
        """Have all cases judged, with these metrics too."""
        self._selected |= {case.id: None for case in self.cases.cases}
        self._names |= frozenset(names)

    def name_metrics_of(self, test: Any) -> None:
        """Have the metrics computed that a test's code names."""
        self._names |= self._suite.metrics.named_in(test)

    def config(self) -> EvaluationConfig:
        """The metrics that are computed so far, with thresholds and rules."""
        return self._suite.metrics.config(self._names)

    def record(self, case_id: str, names: Collection[str]) -> tuple[Record, tuple[Finding, ...]]:
        """A case with the outcomes of these metrics at least, and its findings; NotJudged says why there are none."""
        __tracebackhide__ = True
        self.select(case_id)
        run = self.run(names)
        if self._read is not None and self._read[0] is run and self._read[1] == case_id:
            return self._read[2]  # a test asks for several scores of one case
        try:
            record = run.record(case_id)
        except RagtriageError as error:
            raise NotJudged(self.stopped or str(error)) from None
        failure = record.case.tags.get("failure_detail") if self.cases.app else None
        if failure:
            raise NotJudged(f"the application gave no answer to case {case_id!r}: {failure}")
        found = record, self._suite.results.looked_at(self.cases.name, record, self.config())
        self._read = run, case_id, found
        return found

    def whole(self, names: Collection[str]) -> Run:
        """A run of all cases of the list, whatever was selected."""
        __tracebackhide__ = True
        self.select_all(())
        return self.run(names)

    @property
    def stopped(self) -> str | None:
        """Why some of the selected cases weren't judged, as where a budget was reached; None if all were."""
        return self._judged[2].stopped if self._judged else None

    def never_defined(self, name: str) -> bool:
        """Whether a metric is undefined on all selected cases, of which there are several."""
        run = self.run([name])
        if self._defined is None or self._defined[0] is not run:
            rows = [row.outcomes for row in run.rows() if row.id in self._selected]
            scored = (metric for found in rows for metric, outcome in found.items() if isinstance(outcome, Score))
            self._defined = run, Counter(scored), len(rows)
        _, defined, count = self._defined
        return count > 1 and not defined[name]

    def run(self, names: Collection[str]) -> Run:
        """The run that holds the selected cases with these metrics."""
        __tracebackhide__ = True
        own = frozenset(self._suite.metrics.named(name).name for name in names)
        self._names = self._names | own or frozenset(self._suite.metrics.default)
        wanted = frozenset(self._selected)
        if self._failed is not None and self._failed[:2] == (wanted, self._names):
            raise NotJudged(self._failed[2])  # what failed for all cases isn't tried again for each
        if self._judged is None or not (wanted <= self._judged[0] and self._names <= self._judged[1]):
            try:
                judged = self._judge(wanted)
            except RagtriageError as error:
                self._failed = (wanted, self._names, str(error))
                raise NotJudged(str(error)) from None
            self._judged, self._run = (wanted, self._names, judged), None
            self._suite.results.judged(self.cases.name, judged)
        store = self._suite.store
        if self._run is None or self._run[0] is not store:
            self._run = store, store.run(self._judged[2].number)
        return self._run[1]

    def _judge(self, wanted: Collection[str]) -> Judged:
        suite, store = self._suite, self._suite.store
        cases = self.cases.cases if self.cases.app is None else self._ask(self.cases.app, wanted)
        return judge_cases(
            cases, wanted, suite.judges, store, self.config(), name=self.cases.name, session=suite.options.session
        )

    def _ask(self, app: str, wanted: Collection[str]) -> tuple[Case, ...]:
        """What the application answers to the wanted queries; the processes of a session ask it once."""
        options, store = self._suite.options, self._suite.store
        if "://" in app and not options.network:
            raise ConfigError(f"app={app!r} is a URL, and tests may not ask it: add --ragtriage-network")
        asked = [case for case in self.cases.cases if case.id in wanted]
        own = blake2b("\0".join(self.cases.key).encode(), digest_size=6).hexdigest()
        beside = options.default_store if "://" in store.where else Path(store.where).parent
        path = beside / f"pytest-{options.session}-{own}.jsonl"
        tags = dict.fromkeys(name for case in asked for name in case.tags)
        policy = RequestPolicy()
        application = open_application(ApplicationSpec(app), ("query", "id", *tags), policy.concurrency)
        with (
            exclusive(store.database, f"asking {self.cases.name}", party=options.session, patience=PATIENCE),
            CollectedLines(path) as lines,
        ):
            without_event_loop(lambda: ask_all(asked, application, lines, policy, lambda: None))
        self._suite.results.wrote(path)
        found = open_cases(path, mapping=COLLECTED_COLUMNS, format="jsonl").rows()
        answered = {case.id: case for case in found if isinstance(case, Case)}
        return tuple(answered[case.id] for case in asked if case.id in answered)


OFFLINE = "no answer to this question is remembered, and no model may be asked: add --ragtriage-network to ask it"
TURNED_OFF = "ragtriage's pytest plugin is turned off (-p no:ragtriage)"
MADE_IN_TESTS = "made in tests"


def current() -> "Suite":
    """The suite of the session that runs now. Where the plugin is turned off, the test is skipped."""
    if not CONFIGS:
        pytest.skip(TURNED_OFF)
    config = CONFIGS[-1]
    suite = found(config)
    if suite is None:
        suite = config.stash[_KEY] = Suite(options_of(config))
    return suite


def found(config: pytest.Config) -> "Suite | None":
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
            self._judges = os.getpid(), Judges(session)
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
        if self._store is not None and self._store[0] == os.getpid():
            with suppress(StoreError):
                self._store[1].close()
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
        except StoreError as error:
            told = str(error)
        self._folder = tempfile.TemporaryDirectory(prefix="ragtriage-", ignore_cleanup_errors=True)
        self.results.note(f"nothing is kept in {place}: {told}; --ragtriage-store takes another place")
        return open_store(self._folder.name)


_KEY = pytest.StashKey[Suite]()


def _writable(place: Path) -> bool:
    there = next(folder for folder in (place, *place.parents) if folder.exists())
    return os.access(there, os.W_OK)
