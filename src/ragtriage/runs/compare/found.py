"""What the rules found on the cases of a run, as columns."""

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, field

import numpy as np

from ragtriage.core.case import Record
from ragtriage.core.errors import StoreError
from ragtriage.diagnosis.findings import Assessment, Finding, decided_rules
from ragtriage.diagnosis.headline import NONE, UNDETERMINED, headline, most_pressing
from ragtriage.diagnosis.rules import Rule
from ragtriage.runs.compare.case_table import FoundColumns
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.run import FINISHED, Run

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
