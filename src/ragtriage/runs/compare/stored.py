"""Two sides that were chosen become a comparison: the door for Python, for `compare` and for `evaluate --baseline`."""

from __future__ import annotations

from dataclasses import replace

from ragtriage.core.metric import Metric
from ragtriage.runs.compare.choose import Chosen, open_sides
from ragtriage.runs.compare.compare import CompareOptions, compare
from ragtriage.runs.compare.comparison import Comparison
from ragtriage.runs.evaluation_config import EvaluationConfig


def compare_chosen(
    base: Chosen, new: Chosen, reading: EvaluationConfig, options: CompareOptions, *, findings: bool = True
) -> Comparison:
    """Read two sides and compare them; the gates are checked first.

    Args:
        base: the old side.
        new: the new one.
        reading: the thresholds and rules that both are read with, and the metrics of the new side.
        options: how they are compared.
        findings: whether findings are compared too, which takes longest.

    Raises:
        ConfigError: a gate, a tag or a threshold that doesn't fit, or both sides are the same.
        InputError: they can't be paired or weren't judged alike, or a baseline can't be read.
        StoreError: a run can't be read.
    """
    metrics: tuple[Metric, ...] = reading.metrics
    options.gates.check(metrics, reading.rules)
    tags = {tag for tag in (options.cluster, options.by) if tag is not None}
    tags |= {limit.slice[0] for limit in options.gates.fail_if_worse if limit.slice}
    sides = open_sides(base, new, reading, sorted(tags), findings=findings)
    found = compare(sides.base, sides.new, reading.rules, options)
    return replace(found, notes=(*sides.notes, *found.notes))
