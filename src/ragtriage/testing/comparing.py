"""A run that a test has, compared with an earlier version of the answers."""

from __future__ import annotations

import math
from pathlib import Path

from ragtriage.core.errors import ConfigError, InputError, StoreError
from ragtriage.metrics import metric_named
from ragtriage.runs.compare.choose import Chosen, choose_side, compare_chosen, is_run
from ragtriage.runs.compare.compare import CompareOptions
from ragtriage.runs.compare.comparison import Comparison, Outcome
from ragtriage.runs.compare.gates import CompareGates, WorseLimit
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.run import Run
from ragtriage.store import Store
from ragtriage.testing.declared import beside
from ragtriage.testing.outcomes import NotJudged


class RunComparison:
    """A run of today's answers, the new side, against an earlier one or a baseline file.

    Args:
        base: the old side.
        new: the new one.
        reading: the thresholds and rules by which both are read.
    """

    def __init__(self, base: Chosen, new: Chosen, reading: EvaluationConfig) -> None:
        self._base = base
        self._new = new
        self._reading = reading

    def __repr__(self) -> str:
        return f"<RunComparison of {self._base.name} → {self._new.name}>"

    @property
    def comparison(self) -> Comparison:
        """The whole comparison, with findings. Raises as `gate`."""
        __tracebackhide__ = True
        return self._compared(CompareOptions(), findings=True)

    def gate(self, metric: str, *, margin: float = 0.0) -> Outcome:
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
        (result,) = self._compared(options, findings=False).gates
        return result.outcome

    def _compared(self, options: CompareOptions, *, findings: bool) -> Comparison:
        __tracebackhide__ = True
        try:
            found = compare_chosen(self._base, self._new, self._reading, options, findings=findings)
        except (InputError, StoreError) as error:
            raise NotJudged(str(error)) from None
        if found.incomplete:
            raise NotJudged("; ".join(found.incomplete))
        return found


def compared(new: Run, base: str | int | Path, store: Store, config: EvaluationConfig, home: Path) -> RunComparison:
    """A run against a baseline file or a stored run.

    Args:
        new: the new side.
        base: the old one: a number, `last`, or a file beside the test's own or in the rootdir.
        store: where runs are.
        config: the thresholds and rules by which both are read.
        home: the test's folder.

    Raises:
        NotJudged: there is no such run or file.
    """
    __tracebackhide__ = True
    text = str(base)
    try:
        chosen = choose_side(store, text if is_run(text) else str(beside(Path(text), home)))
    except (InputError, StoreError) as error:
        raise NotJudged(str(error)) from None
    return RunComparison(chosen, Chosen((new,)), config)
