"""One side of a comparison: its cases, what the rules found on them, and by what they were judged and are read."""

import base64
import hashlib
import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, field, replace
from pathlib import Path

import numpy as np

from ragtriage.core.case import Record
from ragtriage.core.display import listed, plural
from ragtriage.core.errors import InputError, StoreError
from ragtriage.core.metric import Metric
from ragtriage.core.statistics import Places
from ragtriage.core.validation import as_builtins
from ragtriage.diagnosis.findings import Assessment, Finding, decided_rules
from ragtriage.diagnosis.headline import NONE, UNDETERMINED, headline, most_pressing
from ragtriage.diagnosis.rules import Rule
from ragtriage.metrics.custom_metrics import definition_of
from ragtriage.runs.compare.case_table import CaseTable, FoundColumns, merged_tables, read_table
from ragtriage.runs.compare.comparison import SideHeader
from ragtriage.runs.compare.pairing import pair_up
from ragtriage.runs.evaluation_config import CORRECTIONS, EvaluationConfig, config_of
from ragtriage.runs.run import FINISHED, RUNNING, Run, RunInfo

NOTE = "findings"
KEPT_FROM = 1_000
"""Cases from which on it is kept what was found."""
KEPT = 2
"""Which form it is kept in: another one is read anew."""
PLACES = 4


@dataclass(frozen=True, slots=True)
class FoundOnCase:
    """What the rules found on one case, by their places among all rules."""

    holds: tuple[tuple[int, bool], ...]
    """The rules that hold, each with whether that is sure."""
    undecided: tuple[int, ...]
    """The rules of which it can't be told."""
    component: str
    heading: str
    likely: tuple[tuple[int, float], ...] = ()
    """The rules that may hold, each with the probability of that, also where it is too low to be shown."""


@dataclass(slots=True)
class FoundRows:
    """Gathers what was found, a case at a time."""

    rules: Sequence[Rule]
    cases: list[FoundOnCase] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._places = {rule.name: place for place, rule in enumerate(self.rules)}

    def add(self, record: Record, assessed: Assessment, config: EvaluationConfig) -> None:
        """Take one case in."""
        findings = assessed.findings
        held = {finding.rule: finding.sure for finding in findings}
        likely = {name: round(p, PLACES) for name, p in assessed.probabilities.items()}
        known = decided_rules(record, self.rules)
        component = headline(record, findings, config.thresholds, self.rules, config.metrics).component
        self.cases.append(
            FoundOnCase(
                tuple((self._places[name], sure) for name, sure in held.items()),
                tuple(at for name, at in self._places.items() if name not in known and name not in held),
                component,
                _heading(findings, component),
                tuple((self._places[name], p) for name, p in likely.items() if p),
            )
        )


def found_columns(rules: Sequence[str], cases: Iterable[FoundOnCase]) -> FoundColumns:
    """The columns of what was found."""
    rows = list(cases)
    holds, sure, likely = (np.zeros((len(rows), len(rules))) for _ in range(3))
    for place, row in enumerate(rows):
        for rule, certain in row.holds:
            holds[place, rule] = 1.0
            sure[place, rule] = float(certain)
        for rule, probability in row.likely:
            likely[place, rule] = probability
        for rule in row.undecided:
            holds[place, rule] = sure[place, rule] = likely[place, rule] = np.nan
    return FoundColumns(
        {name: holds[:, at] for at, name in enumerate(rules)},
        {name: sure[:, at] for at, name in enumerate(rules)},
        [row.component for row in rows],
        [row.heading for row in rows],
        {name: likely[:, at] for at, name in enumerate(rules)},
    )


def read_found(run: Run, config: EvaluationConfig) -> FoundColumns:
    """Diagnose a stored run; the longest part of a comparison, as the verdicts of every case are read.

    Of a large run that is finished it is kept in the store what was found by these thresholds and rules.
    """
    kept = run.info.state == FINISHED and run.info.rows >= KEPT_FROM
    info = run.info
    digest = config.digest(KEPT, info.versions, info.finished, info.done) if kept else ""
    names = [rule.name for rule in config.rules]
    if kept and (known := run.place.note(NOTE, digest)):
        return found_columns(names, unpacked(known))
    rows = FoundRows(config.rules)
    for record in run.records():
        rows.add(record, config.assess(record), config)
    if kept:
        with suppress(StoreError):  # a store that can't be written is read again the next time
            run.place.note(NOTE, digest, packed(rows.cases))
    return found_columns(names, rows.cases)


def packed(cases: Sequence[FoundOnCase]) -> str:
    """What was found on cases as a short text."""
    written = json.dumps([astuple(case) for case in cases], separators=(",", ":"))
    return base64.b85encode(zlib.compress(written.encode())).decode()


def unpacked(text: str) -> Iterator[FoundOnCase]:
    """Undo `packed`."""
    for holds, undecided, component, heading, likely in json.loads(zlib.decompress(base64.b85decode(text))):
        known = (tuple((rule, value) for rule, value in some) for some in (holds, likely))
        yield FoundOnCase(next(known), tuple(undecided), component, heading, next(known))


def _heading(findings: Sequence[Finding], component: str) -> str:
    """The rule by which a case is headed; its component where nothing is to be repaired, or nothing can be told."""
    if component in (NONE, UNDETERMINED) or not findings:
        return component
    return most_pressing(findings).rule


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
