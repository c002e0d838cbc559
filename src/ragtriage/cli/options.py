"""What several commands take: flags turned into settings, criteria and pairs."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ragtriage.config import Settings, find_settings, named_numbers, read_settings
from ragtriage.core.errors import ConfigError
from ragtriage.metrics import metrics_named
from ragtriage.metrics.custom_metrics import names_in
from ragtriage.runs.tally import Criteria
from ragtriage.store.connection import VARIABLE

Run = Annotated[str, typer.Argument(help="A run's number, or last.")]
Where = Annotated[
    str | None,
    typer.Option("--store", help="Folder or database URL of the store [default: $RAGTRIAGE_STORE, else .ragtriage]."),
]
Thresholds = Annotated[
    list[str] | None,
    typer.Option("--threshold", help="metric=value: where a score is just good enough; may be repeated."),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        help="Names or groups, by commas; -name takes one out; FILE.py:NAME is your own [default: thelma, and what the "
        "file carries the fields for, if it is free]."
    ),
]
Columns = Annotated[
    list[str] | None, typer.Option("--map", help="field=column, for example query=question; may be repeated.")
]
Format = Annotated[
    str | None, typer.Option("--format", help="jsonl, json, csv or parquet [default: told from the file].")
]
Limit = Annotated[int | None, typer.Option(min=1, help="The first N usable rows only.")]
Sample = Annotated[int | None, typer.Option(min=1, help="N usable rows at random.")]
Seed = Annotated[int, typer.Option(help="Which random rows.")]
SplitSources = Annotated[str | None, typer.Option(help="What separates sources in one long text.")]
MaxText = Annotated[int, typer.Option(min=1, help="Longest text of a row, in characters.")]
MaxSources = Annotated[int, typer.Option(min=1, help="Most sources of a row.")]
CitationMark = Annotated[
    str | None,
    typer.Option(
        help="Regular expression for your own citation marks; its first group names the source [default: [1] and "
        "its like]."
    ),
]
Config = Annotated[
    Path | None,
    typer.Option("--config", help="Settings [default: ragtriage.toml or pyproject.toml of this folder or one above]."),
]


def settings_from(config: Path | None, thresholds: Collection[str] | None, metrics: str | None = None) -> Settings:
    """The settings of a file (the nearest one if None), with thresholds from flags put over its own.

    Args:
        config: the file.
        thresholds: what `--threshold` gives.
        metrics: what `--metrics` gives: metrics of one's own that are named there may have such a flag.

    Raises:
        ConfigError: a setting or a flag is wrong.
    """
    settings = read_settings(config) if config else find_settings(Path.cwd())
    mine = names_in([*(metrics or "").split(","), *settings.metrics])
    own = named_numbers(thresholds or (), "--threshold", mine)
    return replace(settings, thresholds={**settings.thresholds, **own})


def place_of(store: str | None, settings: Settings | None = None) -> str | None:
    """Where the store is: what the flag says, else the environment (None), else the settings (the nearest if None).

    Raises:
        ConfigError: a setting is wrong.
    """
    if store or os.environ.get(VARIABLE):
        return store
    return (settings or find_settings(Path.cwd())).store


def criteria_from(settings: Settings, metrics: str | None, by_default: Collection[str] = ()) -> Criteria:
    """What to compute and by what to judge it. This loads metrics of one's own.

    Args:
        settings: the user's.
        metrics: what `--metrics` gives.
        by_default: what to compute if neither names metrics.

    Raises:
        ConfigError: a metric isn't known, or a rule of one's own reads one that has no threshold.
    """
    names = metrics.split(",") if metrics is not None else settings.metrics or by_default
    if metrics is not None and not any(name.strip() for name in names):
        raise ConfigError(f"--metrics {metrics!r} names no metric: write names by commas, or leave it out for thelma")
    for rule in (rule for rule in settings.rules if rule.origin == "yours"):
        for name in rule.when:
            if name not in settings.thresholds:
                raise ConfigError(
                    f"the rule {rule.name!r} reads {name}, which is neither low nor high without a threshold: set one "
                    f"under [thresholds], or with --threshold {name}=…"
                )
    return Criteria(metrics_named(names), settings.thresholds, settings.rules)


def pairs(items: Collection[str], flag: str) -> dict[str, str]:
    """`["query=question"]` → `{"query": "question"}`.

    Raises:
        ConfigError: an item has no `=`.
    """
    found = {}
    for item in items:
        name, sign, value = item.partition("=")
        if not sign or not name.strip():
            raise ConfigError(f"{flag} {item!r}: write it as field=column, for example query=question")
        found[name.strip()] = value.strip()
    return found
