"""Which metrics a suite needs: what its tests name, found in their code before any of them runs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from types import CodeType
from typing import Any

from ragtriage.config import Settings
from ragtriage.core.metric import Metric
from ragtriage.metrics import METRICS, OTHER_NAMES, metric_named, metrics_named
from ragtriage.runs.evaluation_config import EvaluationConfig

GROUNDED = "groundedness"
ALL_OF_THE_SETTINGS = frozenset({"findings", "record", "share", "compare"})
"""Attributes that need every metric of the settings: the rules of the diagnosis read several."""


class SuiteMetrics:
    """The metrics that tests may name, and the configuration that computes some of them.

    Args:
        settings: the user's, whose metrics are the default. They are loaded when they are first needed.
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
        """One metric.

        Raises:
            ConfigError: there is none of this name; says which are near, or what another tool means by it.
        """
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
    """Every name and every text in a function's code, as far as it has any."""
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
