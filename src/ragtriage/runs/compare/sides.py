"""One side of a comparison: its cases, what the rules found on them, and by what they were judged and are read.

And which case of it is which case of another side: by id where both have ids of their own; else by the question, since
an id that was made from the content changes with every answer.
"""

import base64
import hashlib
import json
import zlib
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage.core.case import Record
from ragtriage.core.display import listed, plural
from ragtriage.core.errors import InputError, StoreError
from ragtriage.core.metric import Metric
from ragtriage.core.statistics import Places
from ragtriage.core.validation import as_builtins
from ragtriage.diagnosis.findings import Finding, decided_rules
from ragtriage.diagnosis.headline import NONE, UNDETERMINED, most_pressing
from ragtriage.diagnosis.rules import Rule
from ragtriage.metrics.custom_metrics import definition_of
from ragtriage.runs.compare.case_table import CaseTable, FoundColumns, hashed_id, merged_tables, read_table
from ragtriage.runs.compare.comparison import PairedBy, SideHeader
from ragtriage.runs.evaluation_config import CORRECTIONS, EvaluationConfig, config_of
from ragtriage.runs.run import FINISHED, RUNNING, Run, RunInfo

MOST_OTHER_QUESTIONS = 0.1
"""The share of pairs by id with another question above which ids are taken for row numbers."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """Pairs of cases, in the order of the new side."""

    by: PairedBy
    base: Places
    """The place of each pair's case on the base side; shape (pairs,)."""
    new: Places
    only_base: Places
    only_new: Places
    other_question: Places
    """Places on the new side of pairs by id that were left out: another question."""
    ambiguous: Places
    """Which pairs, by their place in `base` and `new`, can't be told from another one of the same question."""
    near_ids: int = 0
    """Cases without a pair whose ids differ only in upper and lower case or white space."""


def pair_up(base: CaseTable, new: CaseTable, by: PairedBy | None = None) -> Pairing:
    """Pair the cases of two sides."""
    chosen: PairedBy = by or ("id" if base.own_ids and new.own_ids else "query")
    if chosen == "id":
        return _by_id(base, new)
    return _by_question(base, new)


def _by_id(base: CaseTable, new: CaseTable) -> Pairing:
    hashed = base.hashed_ids != new.hashed_ids
    theirs_by_name, mine_by_name = (
        [*map(hashed_id, table.ids)] if hashed and not table.hashed_ids else table.ids for table in (base, new)
    )
    at = {name: place for place, name in enumerate(theirs_by_name)}
    found = np.array([at.get(name, -1) for name in mine_by_name], np.int64)
    there = np.flatnonzero(found >= 0)
    mine, theirs = new.digests["question"][there], base.digests["question"][found[there]]
    other = (mine != theirs) & (mine != 0) & (theirs != 0)
    if other.sum() > MOST_OTHER_QUESTIONS * len(there):
        raise InputError(
            f"of {len(there):,} cases with the same id on both sides {int(other.sum()):,} ask another question: the "
            "ids look like row numbers; pair by the question instead: --pair query"
        )
    kept = there[~other]
    left_base = np.setdiff1d(np.arange(len(base)), found[there])
    left_new = np.flatnonzero(found < 0)
    return Pairing(
        "id", found[kept], kept, left_base, left_new, there[other], np.array([], np.int64),
        _near((base.ids[int(place)] for place in left_base), (new.ids[int(place)] for place in left_new)),
    )  # fmt: skip


def _near(base: Iterable[str], new: Iterable[str]) -> int:
    """How many ids of either side would be the same but for case and white space."""
    own = {"".join(name.split()).casefold() for name in base}
    return sum("".join(name.split()).casefold() in own for name in new)


def _keys(table: CaseTable) -> list[Hashable]:
    """What a case is paired by: its question, or its id where that isn't known."""
    return [int(own) or name for own, name in zip(table.digests["question"], table.ids, strict=True)]


def _by_question(base: CaseTable, new: CaseTable) -> Pairing:
    waiting: dict[Hashable, list[int]] = defaultdict(list)
    for place, key in enumerate(_keys(base)):
        waiting[key].append(place)
    asked: dict[Hashable, list[int]] = defaultdict(list)
    for place, key in enumerate(_keys(new)):
        asked[key].append(place)
    pairs: list[tuple[int, int, bool]] = []
    for key, mine in asked.items():
        pairs += _of_one_question(base, new, waiting.get(key, []), mine)
    pairs.sort()
    ours = np.array([one for one, _, _ in pairs], np.int64)
    theirs = np.array([other for _, other, _ in pairs], np.int64)
    unsure = np.flatnonzero(np.array([ambiguous for *_, ambiguous in pairs], bool))
    return Pairing(
        "query",
        theirs,
        ours,
        np.setdiff1d(np.arange(len(base)), theirs),
        np.setdiff1d(np.arange(len(new)), ours),
        np.array([], np.int64),
        unsure,
    )


def _of_one_question(
    base: CaseTable, new: CaseTable, theirs: Sequence[int], mine: Sequence[int]
) -> Iterable[tuple[int, int, bool]]:
    """The pairs (new, base, whether ambiguous) of cases that ask the same question.

    Those with the same set of sources first, in the order of the input; the k-th of the others with the k-th.
    """
    if not theirs:
        return
    if len(theirs) == len(mine) == 1:
        yield mine[0], theirs[0], False
        return
    by_sources: dict[Any, list[int]] = defaultdict(list)
    for place in theirs:
        by_sources[int(base.digests["sources"][place])].append(place)
    rest = []
    taken: set[int] = set()
    for place in mine:
        own = int(new.digests["sources"][place])
        if own and by_sources[own]:
            other = by_sources[own].pop(0)
            taken.add(other)
            yield place, other, False
        else:
            rest.append(place)
    for place, other in zip(rest, [place for place in theirs if place not in taken], strict=False):
        yield place, other, True


NOTE = "findings"
KEPT_FROM = 1_000
"""Cases from which on it is kept what was found."""
KEPT = 3
"""Which form it is kept in: another one is read anew."""
PLACES = 4


@dataclass(frozen=True, slots=True)
class FoundOnCase:
    """What the rules found on one case, by their places among all rules."""

    holds: tuple[tuple[int, float, float], ...]
    """The rules that hold, each with the share of trials in which it does, and surely does."""
    undecided: tuple[int, ...]
    """The rules of which it can't be told."""
    component: str
    heading: str
    likely: tuple[tuple[int, float], ...] = ()
    """The rules that may hold, each with the probability of that, also where it is too low to be shown."""


def found_on(record: Record, config: EvaluationConfig) -> FoundOnCase:
    """What the rules found on one case."""
    assessed, places = config.assess(record), {rule.name: place for place, rule in enumerate(config.rules)}
    held = {finding.rule: finding.sure for finding in assessed.findings}
    decided = {*decided_rules(record, config.rules), *held}
    component = config.headline(record, assessed.findings).component
    return FoundOnCase(
        tuple((places[name], 1.0, float(sure)) for name, sure in held.items()),
        tuple(at for name, at in places.items() if name not in decided),
        component,
        _heading(assessed.findings, component),
        tuple((places[name], round(p, PLACES)) for name, p in assessed.probabilities.items() if round(p, PLACES)),
    )


def found_columns(rules: Sequence[str], cases: Sequence[FoundOnCase]) -> FoundColumns:
    """The columns of what was found."""
    holds, sure, likely = (np.zeros((len(cases), len(rules))) for _ in range(3))
    for place, case in enumerate(cases):
        for rule, share, certain in case.holds:
            holds[place, rule], sure[place, rule] = share, certain
        for rule, probability in case.likely:
            likely[place, rule] = probability
        for rule in case.undecided:
            holds[place, rule] = sure[place, rule] = likely[place, rule] = np.nan
    return FoundColumns(
        {name: holds[:, at] for at, name in enumerate(rules)},
        {name: sure[:, at] for at, name in enumerate(rules)},
        [case.component for case in cases],
        [case.heading for case in cases],
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
    cases = [found_on(record, config) for record in run.records()]
    if kept:
        with suppress(StoreError):  # a store that can't be written is read again the next time
            run.place.note(NOTE, digest, packed(cases))
    return found_columns(names, cases)


def packed(cases: Sequence[FoundOnCase]) -> str:
    """What was found on cases as a short text."""
    written = json.dumps([astuple(case) for case in cases], separators=(",", ":"))
    return base64.b85encode(zlib.compress(written.encode())).decode()


def unpacked(text: str) -> list[FoundOnCase]:
    """Undo `packed`; tuples are lists now."""
    return [FoundOnCase(*case) for case in json.loads(zlib.decompress(base64.b85decode(text)))]


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
