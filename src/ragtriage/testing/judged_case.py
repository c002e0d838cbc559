"""A test of every case: the decorator that makes it, and the case as it sees it.

A case's texts are there at once, its verdicts when they are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ragtriage.core.case import Case, Record, Source
from ragtriage.core.display import one_line
from ragtriage.core.metric import Metric
from ragtriage.core.verdicts import Outcome, Score, Undefined
from ragtriage.diagnosis.findings import Finding
from ragtriage.testing.case_list import CaseList, declared
from ragtriage.testing.options import NotJudged, Undecided
from ragtriage.testing.suite import MADE_IN_TESTS, Batch, Suite, current

Test = TypeVar("Test", bound=Callable[..., Any])


def cases(
    given: str | Path | Sequence[Any], *, tags: Mapping[str, Any] | None = None, app: str | None = None
) -> Callable[[Test], Test]:
    """Run a test once for every case, which it gets as its argument `case`, a `JudgedCase`.

    Args:
        given: a file, beside the test's own or in pytest's rootdir; or cases: `Case`, dict or `LLMTestCase` each.
        tags: only the cases with these values of their tags; several values as a list.
        app: the file holds questions, which this application answers: `my_app.py:answer`, `module:function` or a URL.

    Raises:
        InputError: the file isn't there, or a row can't be used, when the module is collected.
        ConfigError: `app` with cases that are no file.
    """

    def decorate(test: Test) -> Test:
        code = getattr(test, "__code__", None)
        home = Path(code.co_filename if code else ".").resolve()
        found = declared(given, home, getattr(test, "__qualname__", "test"), app=app)
        chosen = [JudgedCase(found, position) for position in found.positions(tags)]
        params = [pytest.param(case, id=found.labels[case.position]) for case in chosen]
        marked: Test = pytest.mark.parametrize("case", params)(test)
        return marked

    return decorate


LONGEST_REASON = 400
"""Characters of why a score isn't there."""


class JudgedCase:
    """One case of a list, by its position."""

    def __init__(self, cases: CaseList, position: int) -> None:
        self.cases = cases
        self.position = position

    def __repr__(self) -> str:
        return f"<JudgedCase {self.id!r}>"

    @property
    def id(self) -> str:
        """Its id in the file, or one made from its content."""
        return self.cases.cases[self.position].id

    @cached_property
    def case(self) -> Case:
        """All that is known of it before it is judged. Where an application answers, it is asked."""
        return self.known(())[0].case if self.cases.app else self.cases.cases[self.position]

    @property
    def query(self) -> str:
        """What the user asked."""
        return self.cases.cases[self.position].query

    @property
    def response(self) -> str | None:
        """What the application answered; None if it gave no answer."""
        return self.case.response

    @property
    def sources(self) -> tuple[Source, ...]:
        """What was retrieved."""
        return self.case.known_sources

    @property
    def scores(self) -> Scores:
        """Its scores by metric; see `Scores`."""
        return Scores(self)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the diagnosis says, by the metrics of the settings. Raises as `Scores`, but for what is undefined."""
        __tracebackhide__ = True
        return self.known(self._suite.metrics.default)[1]

    @property
    def record(self) -> Record:
        """Everything that was found out, with the metrics of the settings at least. Raises as `findings`."""
        __tracebackhide__ = True
        return self.known(self._suite.metrics.default)[0]

    def outcome(self, name: str) -> tuple[Metric, Outcome]:
        """A metric and what it gives; NotJudged where the judge failed."""
        __tracebackhide__ = True
        metric = self._suite.metrics.named(name)
        outcome = self.known([metric.name])[0].outcomes.get(metric.name)
        if outcome is None or (isinstance(outcome, Undefined) and outcome.failed):
            raise NotJudged(f"{metric.name} of case {one_line(self.id, 80)!r}: {_why(outcome)}")
        return metric, outcome

    def undecided(self, metric: Metric, outcome: Undefined) -> Exception:
        """What to raise where a score is undefined.

        That a whole file has no such score is no accident of one case, so its tests fail.
        """
        if self._never_defined(metric.name):
            return AssertionError(f"{metric.name} is undefined on all cases of {self.cases.name}: {_why(outcome)}")
        return Undecided(f"{metric.name} is undefined: {_why(outcome)}")

    def threshold(self, metric: Metric) -> float | None:
        """The value at which a metric is just good enough, None if it has none."""
        return self._suite.metrics.thresholds.get(metric.name)

    def known(self, names: Collection[str]) -> tuple[Record, tuple[Finding, ...]]:
        """The record with these metrics, and its findings."""
        __tracebackhide__ = True
        return self._batch.record(self.id, names)

    def computed(self) -> Collection[str]:
        """The names of the metrics that are computed anyway."""
        return [m.name for m in self._batch.config().metrics]

    def _never_defined(self, name: str) -> bool:
        return self._batch.never_defined(name)

    @property
    def _batch(self) -> Batch:
        return self._suite.batch(self.cases)

    @property
    def _suite(self) -> Suite:
        return current()


class CaseMadeInTest(JudgedCase):
    """A case that a test made: judged by itself, at once, and remembered."""

    def __init__(self, case: Case) -> None:
        super().__init__(CaseList(("made",), MADE_IN_TESTS, (case,), (case.id,)), 0)
        self._names: frozenset[str] = frozenset()
        self._record: Record | None = None

    def known(self, names: Collection[str]) -> tuple[Record, tuple[Finding, ...]]:
        """The record with these metrics, and its findings; judged again if it lacks one."""
        __tracebackhide__ = True
        suite = self._suite
        wanted = self._names | {suite.metrics.named(name).name for name in names}
        if self._record is None or wanted != self._names:
            self._names = wanted or frozenset(suite.metrics.default)
            self._record = suite.judge(self.case, self._names)
        config = suite.metrics.config(self._names)
        return self._record, suite.results.looked_at(MADE_IN_TESTS, self._record, config)

    def computed(self) -> Collection[str]:
        """The names of the metrics that were asked for."""
        return self._names

    def _never_defined(self, name: str) -> bool:  # noqa: ARG002  # one case is no file
        return False


class Scores(Mapping[str, float]):
    """A case's scores by metric. A score that isn't computed yet is judged when it is asked for.

    An undefined score raises `Undecided`, so that it never compares; a judge's failure raises `NotJudged`. Iterating
    gives the names of those that are computed and defined.
    """

    def __init__(self, case: JudgedCase) -> None:
        self._case = case

    def __getitem__(self, name: str) -> float:
        __tracebackhide__ = True
        metric, outcome = self._case.outcome(name)
        if isinstance(outcome, Score):
            return outcome.value
        raise self._case.undecided(metric, outcome)

    def __contains__(self, name: object) -> bool:
        return name in self._defined()

    def __iter__(self) -> Iterator[str]:
        return iter(self._defined())

    def __len__(self) -> int:
        return len(self._defined())

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name}: {value:.2f}" for name, value in self._defined().items()) + "}"

    def _defined(self) -> dict[str, float]:
        outcomes = self._case.known(self._case.computed())[0].outcomes
        return {name: outcome.value for name, outcome in outcomes.items() if isinstance(outcome, Score)}


def _why(outcome: Outcome | None) -> str:
    return one_line(outcome.reason if isinstance(outcome, Undefined) else "it wasn't judged", LONGEST_REASON)
