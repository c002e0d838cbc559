"""One side of a comparison: its cases, and by what they were judged and are read."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from ragtriage.core.display import listed, plural
from ragtriage.core.errors import InputError
from ragtriage.core.metric import Metric
from ragtriage.core.statistics import Places
from ragtriage.core.validation import as_builtins
from ragtriage.diagnosis.rules import Rule
from ragtriage.metrics.custom_metrics import definition_of
from ragtriage.runs.compare.case_table import CaseTable, merged_tables, read_table
from ragtriage.runs.compare.comparison import SideHeader
from ragtriage.runs.compare.found import read_found
from ragtriage.runs.compare.pairing import pair_up
from ragtriage.runs.evaluation_config import CORRECTIONS, EvaluationConfig, config_of
from ragtriage.runs.run import FINISHED, RUNNING, Run, RunInfo

Interval = tuple[float, float, float]
"""A mean, and both ends of its interval."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side."""

    header: SideHeader
    table: CaseTable
    metrics: tuple[Metric, ...]
    fingerprints: Mapping[str, str]
    definitions: Mapping[str, str]
    """Metric → a digest of how it is defined."""
    thresholds: Mapping[str, float]
    rules: str
    """The digest of the rules that are stored with it."""
    corrections: Mapping[str, Interval]
    """Metric → its mean corrected by labels."""


def side_of(
    runs: Sequence[Run], name: str, tags: Collection[str] = (), *, reading: EvaluationConfig | None = None
) -> Side:
    """A side out of stored runs.

    The runs are trials or further runs of one version, the first of which has the cases. Without `reading` no finding
    is read.
    """
    first = runs[0].info
    for other in runs[1:]:
        if other.info.fingerprints != first.fingerprints:
            raise InputError(
                f"runs {first.number} and {other.number} were judged differently, so they can't be one side"
            )
    own = config_of(first)
    metrics = tuple(m for m in own.metrics if all(m.name in run.info.metrics for run in runs))
    names = [m.name for m in metrics]
    tables = []
    for run in runs:
        table = read_table(run, names, tags)
        if reading is not None:
            with_own_metrics = replace(config_of(run.info), thresholds=reading.thresholds, rules=reading.rules)
            table = replace(table, found=read_found(run, with_own_metrics))
        tables.append(table)
    table = tables[0] if len(tables) == 1 else merged_tables(tables, [*_rows(tables, runs)])
    header = SideHeader(
        name=name,
        runs=tuple(run.number for run in runs if not run.info.address),
        baseline=None,
        input=Path(first.input).name if Path(first.input).is_absolute() else first.input,
        created=first.created,
        cases=len(table),
        judge=first.judge,
        trials=len(runs),
        version=first.versions.get("ragtriage", ""),
        incomplete=tuple(said for run in runs for said in why_incomplete(run.info)),
        about=first.about,
    )
    return Side(
        header,
        table,
        metrics,
        first.fingerprints,
        {m.name: first.fingerprints.get(f"metric {m.name}", "") or definition_digest(m) for m in metrics},
        own.thresholds,
        rules_digest(own.rules),
        {
            name: (found["mean"], found["low"], found["high"])
            for name, found in first.configuration.get(CORRECTIONS, {}).items()
        },
    )


def _rows(tables: Sequence[CaseTable], runs: Sequence[Run]) -> Iterator[Places]:
    """For every case of the first run its place in each; −1 where it has none."""
    yield np.arange(len(tables[0]))
    for table, run in zip(tables[1:], runs[1:], strict=True):
        pairing = pair_up(table, tables[0])
        if not len(pairing.new):
            raise InputError(
                f"runs {runs[0].number} and {run.number} have no case in common, so they can't be one side"
            )
        places = np.full(len(tables[0]), -1, np.int64)
        places[pairing.new] = pairing.base
        yield places


def why_incomplete(info: RunInfo) -> Iterator[str]:
    """Why a run isn't complete, in sentences; none if it is."""
    if info.state == RUNNING:
        yield f"{info.called} is still being written, or was killed: {info.done:,} of {plural(info.rows, 'case')}"
    elif info.state != FINISHED:
        yield f"{info.called} isn't finished: {info.done:,} of {plural(info.rows, 'case')}"
    if info.failed:
        yield f"{info.called}: scores failed on {plural(info.failed, 'case')}"


def called(runs: Sequence[int]) -> str:
    """What a side of these runs is called: `run 7`, `runs 4, 5 and 6`."""
    return f"run{'s' if len(runs) > 1 else ''} {listed([str(number) for number in runs], 'and')}"


def definition_digest(metric: Metric) -> str:
    """A digest of all that is known of a metric but how it is computed."""
    return _digest({**definition_of(metric), "origin": ""})


def rules_digest(rules: Sequence[Rule]) -> str:
    """A digest of the diagnosis table."""
    return _digest([asdict(rule) for rule in rules])


def _digest(value: object) -> str:
    written = json.dumps(as_builtins(value), sort_keys=True, default=str)
    return hashlib.blake2b(written.encode(), digest_size=8).hexdigest()
