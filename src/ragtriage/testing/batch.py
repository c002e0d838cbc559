"""The selected cases of one file, judged together when a test first asks for a verdict; which metrics tests name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from types import CodeType
from typing import Any, Protocol

from ragtriage.collect.answers_file import COLLECTED_COLUMNS, CollectedLines
from ragtriage.collect.application import RequestPolicy, ask_all
from ragtriage.collect.application_names import ApplicationSpec, open_application
from ragtriage.config import Settings
from ragtriage.core.case import Case, Record
from ragtriage.core.errors import ConfigError, RagtriageError
from ragtriage.core.metric import Metric
from ragtriage.core.verdicts import Score
from ragtriage.diagnosis.findings import Finding
from ragtriage.metrics import METRICS, OTHER_NAMES, metric_named, metrics_named
from ragtriage.readers import open_cases
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.run import Run
from ragtriage.store import Store
from ragtriage.testing.case_list import CaseList
from ragtriage.testing.judging import PATIENCE, Judged, judge_cases, without_event_loop
from ragtriage.testing.options import NotJudged, SuiteOptions
from ragtriage.testing.results import Results
from ragtriage.testing.session_judge import Judges

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


class Shared(Protocol):
    """What a session's batches share; see `ragtriage.testing.suite.Suite`."""

    options: SuiteOptions
    results: Results

    @property
    def metrics(self) -> SuiteMetrics:
        """The metrics that tests may name."""
        ...

    @property
    def store(self) -> Store:
        """Where runs are kept."""
        ...

    @property
    def judges(self) -> Judges:
        """Who judges."""
        ...


class Batch:
    """The cases of one list, of which some were selected."""

    def __init__(self, cases: CaseList, shared: Shared) -> None:
        self.cases = cases
        self._shared = shared
        self._selected: dict[str, None] = {}
        self._names: frozenset[str] = frozenset()
        self._judged: tuple[frozenset[str], frozenset[str], Judged] | None = None
        self._run: tuple[Store, Run] | None = None
        self._read: tuple[Run, str, tuple[Record, tuple[Finding, ...]]] | None = None
        self._defined: tuple[Run, Counter[str], int] | None = None
        self._failed: tuple[frozenset[str], frozenset[str], str] | None = None

    @property
    def selected(self) -> Collection[str]:
        """The ids of the cases that were selected."""
        return self._selected.keys()

    def select(self, case_id: str) -> None:
        """Have a case judged with the others."""
        self._selected[case_id] = None

    def select_all(self, names: Collection[str]) -> None:
        """Have all cases judged, with these metrics too."""
        self._selected |= {case.id: None for case in self.cases.cases}
        self._names |= frozenset(names)

    def name_metrics_of(self, test: Any) -> None:
        """Have the metrics computed that a test's code names."""
        self._names |= self._shared.metrics.named_in(test)

    def config(self) -> EvaluationConfig:
        """The metrics that are computed so far, with thresholds and rules."""
        return self._shared.metrics.config(self._names)

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
        found = record, self._shared.results.looked_at(self.cases.name, record, self.config())
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
        own = frozenset(self._shared.metrics.named(name).name for name in names)
        self._names = self._names | own or frozenset(self._shared.metrics.default)
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
            self._shared.results.judged(self.cases.name, judged)
        store = self._shared.store
        if self._run is None or self._run[0] is not store:
            self._run = store, store.run(self._judged[2].number)
        return self._run[1]

    def _judge(self, wanted: Collection[str]) -> Judged:
        shared = self._shared
        store = shared.store  # opened first: it may tell the judges of an older one
        cases = self.cases.cases if self.cases.app is None else self._ask(self.cases.app, wanted)
        return judge_cases(
            cases, wanted, shared.judges, store, self.config(), name=self.cases.name, session=shared.options.session
        )

    def _ask(self, app: str, wanted: Collection[str]) -> tuple[Case, ...]:
        """What the application answers to the wanted queries; the processes of a session ask it once."""
        options, store = self._shared.options, self._shared.store
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
            store.exclusive(f"asking {self.cases.name}", party=options.session, patience=PATIENCE),
            CollectedLines(path) as lines,
        ):
            without_event_loop(lambda: ask_all(asked, application, lines, policy, lambda: None))
        self._shared.results.wrote(path)
        found = open_cases(path, mapping=COLLECTED_COLUMNS, format="jsonl").rows()
        answered = {case.id: case for case in found if isinstance(case, Case)}
        return tuple(answered[case.id] for case in asked if case.id in answered)
