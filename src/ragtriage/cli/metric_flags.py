"""Which metrics are computed, by which thresholds, and which means are required: flags, settings, the file's fields."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ragtriage.config import Settings, named_numbers
from ragtriage.core.errors import ConfigError
from ragtriage.metrics import metrics_named, renamed_metrics
from ragtriage.metrics.optional import default_groups
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.summary import Gates

Limits = list[str] | None


@dataclass(frozen=True, slots=True)
class RequestedMetrics:
    """What is computed of one file, and which means it must reach."""

    config: EvaluationConfig
    gates: Gates
    default_groups: tuple[str, ...] = ()
    """The groups that are computed although nobody named them; empty where somebody named metrics."""
    notes: tuple[str, ...] = ()
    """What is computed under another name than it was asked for."""


def requested_metrics(
    settings: Settings,
    metrics: str | None,
    fields: Collection[str],
    *,
    paid: bool,
    fail_below: Limits = None,
    fail_above: Limits = None,
) -> RequestedMetrics:
    """The metrics that were named or, where none was, those that the fields of a file allow. Loads custom metrics.

    Args:
        settings: the user's.
        metrics: the value of `--metrics`.
        fields: of the file.
        paid: whether the judge costs money; then optional groups that ask it are left out.
        fail_below: the values of `--fail-below`.
        fail_above: the values of `--fail-above`.
    """
    unnamed = metrics is None and not settings.metrics
    groups = ("thelma", *default_groups(fields, paid=paid)) if unnamed else ()
    config = evaluation_config(settings, metrics, groups)
    computed = {m.name for m in config.metrics}
    gates = Gates(
        {**settings.fail_below, **named_numbers(fail_below or (), "--fail-below", computed)},
        {**settings.fail_above, **named_numbers(fail_above or (), "--fail-above", computed)},
    )
    gates.check(config.metrics)
    return RequestedMetrics(config, gates, groups, renamed_metrics(_named(settings, metrics)))


def evaluation_config(settings: Settings, metrics: str | None, default: Collection[str] = ()) -> EvaluationConfig:
    """Metrics, thresholds and rules. Loads custom metrics.

    Args:
        settings: the user's.
        metrics: the value of `--metrics`.
        default: what to compute if neither names metrics.
    """
    names = _named(settings, metrics) or default
    if metrics is not None and not any(name.strip() for name in names):
        raise ConfigError(
            f"--metrics {metrics!r} names no metric: separate names by commas, or leave it out for thelma"
        )
    for rule in (rule for rule in settings.rules if rule.origin == "yours"):
        for name in rule.when:
            if name not in settings.thresholds:
                raise ConfigError(
                    f"the rule {rule.name!r} reads {name}, which is neither low nor high without a threshold: set one "
                    f"under [thresholds], or with --threshold {name}=…"
                )
    return EvaluationConfig(
        metrics_named(names), settings.thresholds, settings.rules, settings.costs, settings.prompt_price
    )


def _named(settings: Settings, metrics: str | None) -> Collection[str]:
    """The names that a flag or, without it, the settings give."""
    return metrics.split(",") if metrics is not None else settings.metrics
