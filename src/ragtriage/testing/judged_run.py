"""All cases of a file, as a test sees them: shares of findings, means, and a comparison with an earlier version."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import Any

from ragtriage.core.display import listed, plural
from ragtriage.core.errors import ConfigError
from ragtriage.core.suggestions import near_names
from ragtriage.diagnosis import Rule
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.metric_tally import ExpectedCount
from ragtriage.runs.run import Run
from ragtriage.runs.summary import Summary, Tally
from ragtriage.testing.batch import Batch
from ragtriage.testing.comparing import RunComparison, compared
from ragtriage.testing.outcomes import NotJudged, Undecided
from ragtriage.testing.results import low_scores
from ragtriage.testing.suite import Suite


class JudgedRun:
    """The run of a whole file, whatever was deselected.

    Args:
        batch: the file's cases.
        names: metrics that the test's code names, beside those of the settings.
        suite: the session's.
        home: the folder of the test, beside which files are named.
    """

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

    def share(self, rule: str, *, sure: bool = False) -> float:
        """The share of cases that have a finding, in [0, 1], every case counted once.

        Args:
            rule: the rule's name.
            sure: count only findings that are sure.

        Raises:
            ConfigError: there is no such rule; says which are near.
        """
        __tracebackhide__ = True
        return self._counted[1][self._rule(rule).name, sure] / len(self._batch.cases.cases)

    def expected(self, rule: str) -> ExpectedCount:
        """The expected number of cases that have a finding, with its 95 % interval.

        It is the sum of the probabilities of all cases, also where that is too low for the finding to be shown; the
        number of these where no verdict has a chance.

        Args:
            rule: the rule's name.

        Raises:
            ConfigError: there is no such rule, or it is one of doubts, which are about the judge.
        """
        __tracebackhide__ = True
        if self._rule(rule).kind == "doubt":
            raise ConfigError(f"{rule} is a doubt, which is about the judge and isn't expected of a case: use share")
        stored, config = self.stored, self.config
        likely = [config.assess(record).probabilities.get(rule, 0.0) for record in stored.records()]
        return ExpectedCount.of(math.fsum(likely), math.fsum(p * (1.0 - p) for p in likely), len(likely))

    def _rule(self, name: str) -> Rule:
        rules = {one.name: one for one in self.config.rules}
        if name not in rules:
            near = near_names(name, rules, 3)
            hint = f"did you mean {listed(near, 'or')}?" if near else f"there are {', '.join(rules)}"
            raise ConfigError(f"no rule is called {name!r}: {hint}")
        return rules[name]

    def compare(self, base: str | int | Path) -> RunComparison:
        """Compare it, as the new side, with a baseline file or a stored run; see `RunComparison`.

        Args:
            base: the file, beside the test's own or in the rootdir; or a run's number.
        """
        __tracebackhide__ = True
        return compared(self.stored, base, self._suite.store, self.config, self._home)

    @cached_property
    def _counted(self) -> tuple[Summary, Counter[tuple[str, bool]]]:
        """The summary, and how many cases have a finding: of a rule, and of a rule for sure."""
        stored, config = self.stored, self.config
        tally = Tally(config.metrics, config.thresholds, config.rules, config.costs)
        low: Counter[str] = Counter()
        counts: Counter[tuple[str, bool]] = Counter()
        for record in stored.records():
            findings = tally.add(record)
            counts.update({(finding.rule, False) for finding in findings})
            counts.update({(finding.rule, True) for finding in findings if finding.sure})
            low.update(low_scores(record, config))
        summary = tally.summary()
        self._suite.results.whole(self._batch.cases.name, _numbers(summary, low, counts))
        return summary, counts


def _numbers(summary: Summary, low: Counter[str], counts: Counter[tuple[str, bool]]) -> dict[str, Any]:
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
        "findings": {rule: count for (rule, sure), count in counts.items() if not sure},
    }
