"""All cases of a file, as a test sees them: shares of findings, means, and a comparison with an earlier version."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragtriage.core.display import listed, plural
from ragtriage.core.errors import ConfigError, InputError, StoreError
from ragtriage.core.validation import near_names
from ragtriage.metrics import metric_named
from ragtriage.runs.compare.compare import Chosen, CompareOptions, choose_side, compare_chosen, is_run
from ragtriage.runs.compare.comparison import GateOutcome
from ragtriage.runs.compare.gates import CompareGates, WorseLimit
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.run import Run
from ragtriage.runs.summary import Summary, Tally
from ragtriage.testing.case_list import beside, declared
from ragtriage.testing.options import NotJudged, Undecided
from ragtriage.testing.results import low_scores
from ragtriage.testing.suite import Batch, Suite, current

if TYPE_CHECKING:
    import pytest


class RunComparison:
    """A run of today's answers, the new side, against an earlier one or a baseline file."""

    def __init__(self, base: Chosen, new: Chosen, reading: EvaluationConfig) -> None:
        self._base = base
        self._new = new
        self._reading = reading

    def __repr__(self) -> str:
        return f"<RunComparison of {self._base.name} → {self._new.name}>"

    def gate(self, metric: str, *, margin: float = 0.0) -> GateOutcome:
        """What `--fail-if-worse METRIC=MARGIN` says: `worse`, `can't tell`, `no worse` or `better`.

        Every gate is read by itself: its interval has the level 95 %, whatever other gates a test reads.

        Args:
            metric: its name.
            margin: how much worse is still good enough, in the metric's unit.

        Raises:
            NotJudged: the two sides can't be compared: nothing can be paired, they were judged differently, or one of
                them isn't complete.
            ConfigError: there is no such metric, or the margin is no number from 0 on.
        """
        __tracebackhide__ = True
        if not 0 <= margin < math.inf:
            raise ConfigError(f"margin={margin!r}: give a number from 0 on")
        known = metric_named(metric)
        limit = WorseLimit(f"{metric}={margin:g}", known.name if known else metric, margin)
        options = CompareOptions(gates=CompareGates({}, {}, (limit,)))
        try:
            found = compare_chosen(self._base, self._new, self._reading, options, findings=False)
        except (InputError, StoreError) as error:
            raise NotJudged(str(error)) from None
        if found.incomplete:
            raise NotJudged("; ".join(found.incomplete))
        return found.gates[0].outcome


class JudgedRun:
    """The run of a whole file, whatever was deselected, by the settings' metrics and those that the test names."""

    def __init__(self, batch: Batch, names: Collection[str], suite: Suite, home: Path) -> None:
        self._batch = batch
        self._names = {*names, *suite.metrics.default}
        self._suite = suite
        self._home = home

    def __repr__(self) -> str:
        return f"<JudgedRun of {self._batch.cases.name}>"

    @property
    def number(self) -> int:
        """The run's number in the store."""
        return self.stored.number

    @property
    def stored(self) -> Run:
        """The run as it is stored, complete.

        Raises:
            NotJudged: a case couldn't be judged, so that no number stands for the file.
        """
        __tracebackhide__ = True
        run = self._batch.whole(self._names)
        failed = self._suite.store.run(run.number).info.failed
        if self._batch.stopped:
            raise NotJudged(self._batch.stopped)
        if failed:
            first = next((str(o) for row in run.rows() for o in row.outcomes.values() if getattr(o, "failed", 0)), "")
            raise NotJudged(f"{plural(failed, 'case')} of {self._batch.cases.name} couldn't be judged: {first}")
        return run

    @property
    def config(self) -> EvaluationConfig:
        """The metrics, thresholds and rules that it was judged by."""
        return self._batch.config()

    @property
    def summary(self) -> Summary:
        """The run in numbers, which the session's summary shows too."""
        return self._counted[0]

    def mean(self, metric: str) -> float:
        """The mean of a metric over the cases that have it, weighted.

        Raises:
            Undecided: no case has it.
            ConfigError: there is no such metric.
        """
        __tracebackhide__ = True
        name = self._suite.metrics.named(metric).name
        if name not in self._names:
            self._names.add(name)
            self.__dict__.pop("_counted", None)
        found = next(one.mean for one in self.summary.metrics if one.name == name)
        if found is None:
            raise Undecided(f"{name} is undefined on all cases of {self._batch.cases.name}")
        return found

    def share(self, rule: str) -> float:
        """The share of cases that have a finding of this rule, in [0, 1], every case counted once.

        Raises:
            ConfigError: there is no such rule; says which are near.
        """
        __tracebackhide__ = True
        rules = [one.name for one in self.config.rules]
        if rule not in rules:
            near = near_names(rule, rules, 3)
            hint = f"did you mean {listed(near, 'or')}?" if near else f"there are {', '.join(rules)}"
            raise ConfigError(f"no rule is called {rule!r}: {hint}")
        return self._counted[1][rule] / len(self._batch.cases.cases)

    def compare(self, base: str | int | Path) -> RunComparison:
        """Compare it, as the new side, with a baseline file or a stored run; see `RunComparison`.

        Args:
            base: the file, beside the test's own or in the rootdir; or a run's number, or `last`.
        """
        __tracebackhide__ = True
        text = str(base)
        try:
            chosen = choose_side(self._suite.store, text if is_run(text) else str(beside(Path(text), self._home)))
        except (InputError, StoreError) as error:
            raise NotJudged(str(error)) from None
        return RunComparison(chosen, Chosen((self.stored,)), self.config)

    @cached_property
    def _counted(self) -> tuple[Summary, Counter[str]]:
        """The summary, and how many cases have a finding of each rule."""
        stored, config = self.stored, self.config
        tally = Tally(config.metrics, config.thresholds, config.rules, config.costs)
        low: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        for record in stored.records():
            counts.update({finding.rule for finding in tally.add(record)})
            low.update(low_scores(record, config))
        summary = tally.summary()
        self._suite.results.whole(self._batch.cases.name, _numbers(summary, low, counts))
        return summary, counts


def _numbers(summary: Summary, low: Counter[str], counts: Counter[str]) -> dict[str, Any]:
    """A run in basic types, for the session's summary."""
    return {
        "cases": summary.cases,
        "metrics": {
            one.name: {
                "title": one.title,
                "mean": one.mean,
                "low": low[one.name],
                "undefined": summary.cases - one.n,
                "failed": 0,
            }
            for one in summary.metrics
        },
        "findings": dict(counts),
    }


def run_of(request: pytest.FixtureRequest) -> Callable[..., JudgedRun]:
    """A function of a file (and an application that answers its questions) that gives the run of all its cases."""
    home = request.path

    def ragtriage_run(file: str | Path, *, app: str | None = None) -> JudgedRun:
        suite = current()
        cases = declared(file, home, request.node.name, app=app)
        names = suite.metrics.named_in(getattr(request.node, "function", None))
        return JudgedRun(suite.batch(cases), names, suite, home.parent)

    return ragtriage_run
