"""What a metric is: a pure function of verdicts, with its needs declared in its signature.

    @metric(title="Grounded", support=Match(CLAIMS, "supported", "sources"))
    def groundedness(support: Verdicts) -> Outcome:
        return share(support.components, support.best())

A metric never sees a model, a prompt, a file or a clock. It is only called when every step that it declared was taken;
a missing text or a failed decomposition makes it undefined before that.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from ragtriage.core.errors import ConfigError
from ragtriage.core.steps import Step
from ragtriage.core.verdicts import Known, Missing, Outcome, Part, Undefined

ORDER = ("response", "query", "sources", "reference", "samples", "relevant ids", "language")
"""The order in which reasons are reported: a text that is missing before a language that wasn't measured."""

Better = Literal["higher", "lower"]
"""Which direction of a score is good."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A named score; call it with a case's steps to compute it."""

    name: str
    """Column, command-line word and key in every file."""
    title: str
    """The plain name that people read."""
    needs: Mapping[str, Step]
    """Parameter name → step."""
    compute: Callable[..., Outcome]
    better: Better = "higher"
    range: tuple[float, float] = (0.0, 1.0)
    fault: str = ""
    """What a bad component is, in plain words: "not supported by the sources"."""
    about: str = ""
    """One sentence: what the score says."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Where bad components are told apart: kind → what it is, in plain words."""
    origin: str = ""
    """Where a custom metric is from, as it was named: `my_metrics.py:usefulness`; empty for the others."""

    def fault_of(self, part: Part) -> str:
        """What is wrong with a bad component, in plain words; empty where the metric doesn't say."""
        return self.kinds.get(part.kind, self.fault)

    def __call__(self, steps: Mapping[str, Known]) -> Outcome:
        """Compute the score from the steps of one case, keyed by their text form.

        Returns:
            A `Score`, or `Undefined` with the reason of the first missing text in the order response, query, sources.
        """
        found = {name: steps[str(step)] for name, step in self.needs.items()}
        missing = [known for known in found.values() if isinstance(known, Missing)]
        if missing:
            first = min(missing, key=lambda m: (m.failed, ORDER.index(m.field)))
            return Undefined(first.reason, failed=first.failed)
        return self.compute(**found)


def metric(
    *,
    title: str,
    better: Better = "higher",
    range: tuple[float, float] = (0.0, 1.0),  # noqa: A002  # the field's standard word, and no range() is needed here
    fault: str = "",
    kinds: Mapping[str, str] = MappingProxyType({}),
    name: str | None = None,
    **needs: Step,
) -> Callable[[Callable[..., Outcome]], Metric]:
    """Turn a function of verdicts into a metric.

    Args:
        title: the plain name that people read.
        better: which direction is good.
        range: lowest and highest possible value, both in [-1, 1].
        fault: what a bad component is, in plain words.
        kinds: if several kinds of bad component are told apart by `Part.kind`: kind → what it is.
        name: if it shall differ from the function's.
        **needs: one step for each parameter of the function, by name.

    Raises:
        ConfigError: the declared needs and the function's parameters differ, or the range isn't one; raised when the
            module is imported.
    """

    def wrap(function: Callable[..., Outcome]) -> Metric:
        own = name or function.__name__
        parameters = list(inspect.signature(function).parameters)
        if sorted(parameters) != sorted(needs):
            raise ConfigError(
                f"metric {own!r} takes {parameters} but declares {sorted(needs)}: the names must be the same"
            )
        if not -1 <= range[0] < range[1] <= 1:
            raise ConfigError(f"metric {own!r} has the range {range}: give (lowest, highest), both within -1 and 1")
        about = inspect.cleandoc(function.__doc__ or "").split("\n", 1)[0]
        return Metric(own, title, dict(needs), function, better, range, fault, about, kinds)

    return wrap
