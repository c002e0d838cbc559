"""Two sides become a comparison: the door for Python, for `compare` and for `evaluate --baseline`.

A side is named by runs (their numbers, `last`), a folder, or a baseline file; the base may be the nearest earlier run.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from ragtriage.core.display import plural
from ragtriage.core.errors import ConfigError, InputError, NotStoredError
from ragtriage.core.statistics import Places
from ragtriage.diagnosis.rules import Rule
from ragtriage.runs.compare.baseline import read_baseline
from ragtriage.runs.compare.changed_cases import changed_most, fault_changes
from ragtriage.runs.compare.comparison import (
    MOST_IDS,
    Changes,
    Comparison,
    LeftOut,
    MetricComparison,
    PairedBy,
    Pairs,
    SideHeader,
    Slice,
)
from ragtriage.runs.compare.gates import CompareGates, gate_results
from ragtriage.runs.compare.matched import ANY_LANGUAGE, Matched, changes_between, groups_of, match
from ragtriage.runs.compare.rows import finding_rows, headline_matrix, metric_rows, slices_by
from ragtriage.runs.compare.sides import Pairing, Side, called, pair_up, rules_digest, side_of
from ragtriage.runs.compare.statistics import Paired, difference
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.repeats import trials_of
from ragtriage.runs.run import Run, RunInfo, RunList

DAYS = 30
"""Days between two evaluations by a language model after which it may have changed under the same name."""
FEW = 5
"""Pairs up to which an interval says little."""


def notes_on(matched: Matched, pairs: Pairs, changes: Changes, *, by_question: bool, across: bool) -> Iterator[str]:
    """The notes that apply, in the order in which they are read.

    `by_question`: nobody asked for pairing by the question. `across`: sides with different judges are compared.
    """
    base, new, near = matched.base.header, matched.new.header, matched.pairing.near_ids
    stored = f"both sides are read with those of {new.name}"
    older, newer = changes.versions or ("", "")
    verb = "are" if base.baseline is None and base.trials > 1 else "is"
    told = {
        f"{base.name} {verb} newer than {new.name}": _newer(base, new),
        f"{plural(near, 'id')} without a pair would be the same on both sides but for case or white space": near,
        "paired by the question, since ids that were made from the content change with every answer":
            pairs.by == "query" and by_question,
        f"{plural(pairs.ambiguous, 'pair')} can't be told from others of the same question": pairs.ambiguous,
        f"few pairs ({pairs.paired}): the intervals say little": pairs.paired <= FEW,
        f"{plural(pairs.without_cluster, 'pair')} without {pairs.cluster}: each counts as a group of its own":
            pairs.without_cluster,
        f"{plural(pairs.other_cluster, 'pair')} with another {pairs.cluster} on the base side: the new one counts":
            pairs.other_cluster,
        f"the stored thresholds of {', '.join(changes.thresholds)} differ: {stored}": changes.thresholds,
        f"the stored rules differ: {stored}": changes.rules,
        f"evaluated by ragtriage {older} and {newer}, with the same fingerprints":
            changes.versions and not changes.judge,
        f"of {plural(changes.unknown, 'pair')} it isn't known what changed: their texts or digests aren't there":
            changes.unknown,
        "one side judged languages that the other left undefined (--any-language)":
            len({side.fingerprints.get(ANY_LANGUAGE) for side in (matched.base, matched.new)}) > 1,
        f"a language model judged the sides more than {DAYS} days apart: it may have changed under the same name":
            _far_apart(base, new) and _by_model(new),
        "the judge differs, so no gate is read": across and changes.judge,
    }  # fmt: skip
    yield from (sentence for sentence, holds in told.items() if holds)


def _newer(base: SideHeader, new: SideHeader) -> bool:
    """Whether the base was evaluated after the new side: by the runs' numbers, which are finer than their times."""
    if base.baseline is None and new.baseline is None:
        return base.runs > new.runs
    return bool(new.created) and base.created > new.created


def _by_model(side: SideHeader) -> bool:
    return any(not name.strip().startswith("embedded") for name in side.judge.split(","))


def _far_apart(base: SideHeader, new: SideHeader) -> bool:
    try:
        days = datetime.fromisoformat(new.created) - datetime.fromisoformat(base.created)
    except (ValueError, TypeError):
        return False
    return abs(days.days) >= DAYS


MIN_PAIRED = 0.9
"""The share of the base side's cases that must be paired for gates to be read."""
HINTED = 1.2
"""A clustered standard error that is this many times the plain one says that cases aren't independent."""
FEWEST_CLUSTERS = 10


@dataclass(frozen=True, slots=True)
class CompareOptions:
    """How two sides are compared."""

    cluster: str | None = None
    by: str | None = None
    metrics: Collection[str] | None = None
    pair: PairedBy | None = None
    min_paired: float = MIN_PAIRED
    across_judges: bool = False
    """Compare although the judge differs; then no gate is read."""
    most: int = 10
    gates: CompareGates = field(default_factory=lambda: CompareGates({}, {}))


def compare(base: Side, new: Side, rules: Sequence[Rule], options: CompareOptions | None = None) -> Comparison:
    """Compare two sides, read with the same thresholds and rules."""
    options = options or CompareOptions()
    pairing = pair_up(base.table, new.table, options.pair)
    if not len(pairing.new):
        raise InputError(_nothing_paired(base, new, pairing))
    matched, pairs = match(base, new, pairing, options.cluster)
    rows = metric_rows(matched, options.metrics, across_judges=options.across_judges)
    shared = [row.name for row in rows if not row.verdict.startswith("only in")]
    if not shared:
        raise InputError(f"{base.header.name} and {new.header.name} have no metric in common")
    changes = changes_between(base, new, matched.texts, shared)
    if all(row.verdict == "judged differently" for row in rows if row.name in shared):
        raise InputError(_all_judged_differently(base, new, changes))
    findings = finding_rows(matched, rules)
    slices, left_out = _slices(matched, rows, options.by)
    worse, better = changed_most(matched, rows, rules, options.most)
    enough = len(pairing.new) >= options.min_paired * len(base.table)
    gated = enough and not (options.across_judges and changes.judge)
    incomplete = [*_incomplete(base, new, rows)]
    if not enough:
        incomplete.append(
            f"only {len(pairing.new):,} of the base side's {plural(len(base.table), 'case')} are paired, so no gate is "
            "read; --min-paired sets how many must be"
        )
    return Comparison(
        base.header,
        new.header,
        pairs,
        changes,
        tuple(rows),
        tuple(findings),
        headline_matrix(matched),
        gates=tuple(gate_results(matched, rows, options.gates)) if gated else (),
        slices=slices,
        slices_left_out=left_out,
        faults=fault_changes(matched, rules, options.most),
        worse=worse,
        better=better,
        left_out=_left_out(matched),
        notes=tuple(notes_on(matched, pairs, changes, by_question=options.pair is None, across=options.across_judges)),
        incomplete=tuple(incomplete),
        gated=gated,
        family=sum(row.p_adjusted is not None for row in rows),
        finding_family=sum(row.p_adjusted is not None for row in findings),
        hint="" if options.cluster else cluster_hint(matched, rows),
    )


def _nothing_paired(base: Side, new: Side, pairing: Pairing) -> str:
    near = (
        f"; {plural(pairing.near_ids, 'id')} would be the same but for case or white space" if pairing.near_ids else ""
    )
    other = "ids: pair by the question instead (--pair query)" if pairing.by == "id" else "questions"
    return f"{base.header.name} and {new.header.name} have no case in common by their {other}{near}"


def _all_judged_differently(base: Side, new: Side, changes: Changes) -> str:
    kinds = ", ".join(changes.kinds)
    again = "evaluate its file again with today's judge"
    if base.header.baseline is None:
        again = f"evaluate it again with the same judge as {new.header.name}: ragtriage evaluate {base.header.input}"
    return (
        f"{base.header.name} and {new.header.name} were judged differently ({kinds}), so no metric can be compared: "
        f"{again}, or add --across-judges to see the differences without gates"
    )


def _slices(
    matched: Matched, rows: Sequence[MetricComparison], tag: str | None
) -> tuple[dict[str, tuple[Slice, ...]], int]:
    if tag is None:
        return {}, 0
    if all(value is None for value in matched.tag(tag)):
        raise ConfigError(f"--by {tag}: no paired case has this tag")
    found, left_out = slices_by(matched, tag, rows)
    return {tag: found}, left_out


def _incomplete(base: Side, new: Side, rows: Sequence[MetricComparison]) -> Iterator[str]:
    yield from base.header.incomplete
    yield from new.header.incomplete
    failed = max((row.failed for row in rows), default=0)
    if failed and not (base.header.incomplete or new.header.incomplete):
        yield f"the judge failed on {plural(failed, 'pair')}, which are left out"


def _left_out(matched: Matched) -> LeftOut:
    pairing, base, new = matched.pairing, matched.base.table, matched.new.table

    def first(ids: Sequence[str], places: Places) -> tuple[str, ...]:
        return tuple(ids[int(place)] for place in places[:MOST_IDS])

    return LeftOut(
        first(base.ids, pairing.only_base),
        first(new.ids, pairing.only_new),
        first(new.ids, pairing.other_question),
        first(new.ids, pairing.new[pairing.ambiguous]),
    )


def cluster_hint(matched: Matched, rows: Sequence[MetricComparison]) -> str:
    """A tag by whose values cases seem to go together: the one with the largest ratio of errors; empty if none.

    The ratio is the mean over the metrics that were touched, since with few values a single one is high by chance.
    """
    count = len(matched.group)
    columns = [matched.scores(row.name)[0] for row in rows if row.p is not None]
    best, hint = HINTED, ""
    for tag in sorted(matched.new.table.tags):
        values = matched.tag(tag)
        different = len({value for value in values if value is not None})
        if not FEWEST_CLUSTERS <= different <= count / 2:
            continue
        groups = groups_of(values)[0]
        ratios = [ratio for paired in columns if (ratio := _error_ratio(paired, groups)) is not None]
        if ratios and float(np.mean(ratios)) >= best:
            best, hint = float(np.mean(ratios)), tag
    return hint


def _error_ratio(paired: Paired, groups: Places) -> float | None:
    plain, clustered = difference(paired), difference(replace(paired, group=groups))
    if not (plain and clustered and plain.se_plain and clustered.se_plain):
        return None
    return clustered.se_plain / plain.se_plain


SHARED = 0.5
"""The share of the new side's cases that a run must have to be taken as its base."""
MOST_LOOKED_AT = 50
LAST = "last"


@dataclass(frozen=True, slots=True)
class Chosen:
    """What one side is to be read from."""

    runs: tuple[Run, ...] = ()
    file: Path | None = None
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called in messages."""
        if self.file:
            return f"baseline {self.file}"
        sets = [run.info.address for run in self.runs if run.info.address]
        return ", ".join(sets) if sets else called([run.number for run in self.runs])


def is_run(text: str) -> bool:
    """Whether a side is named by runs: `last`, `7` or `4,5,6`; else it is a baseline file."""
    parts = [part.strip() for part in text.split(",")]
    return all(part == LAST or (part.isascii() and part.isdecimal()) for part in parts)


def choose_side(store: RunList | None, text: str, folder_run: Callable[[str], Run | None] = lambda _: None) -> Chosen:
    """What a side stands for, as it was typed.

    It is `last`, `7`, `4,5,6`, or a path or URL. `folder_run` gives None for what can't be a run in a folder.
    """
    if not is_run(text):
        if (found := folder_run(text)) is not None:
            return Chosen((found,))
        if not Path(text).is_file():
            raise InputError(f"{text!r} is neither a run nor a file: give a run's number, last, or a baseline file")
        return Chosen(file=Path(text))
    if store is None:
        raise NotStoredError("there is no store here: name a baseline file, or evaluate a file first")
    runs: list[Run] = []
    notes = []
    for part in dict.fromkeys(part.strip() for part in text.split(",")):
        run = store.run(part)
        if run.info.repeats is not None:
            notes.append(
                f"run {run.number} is a further trial of run {run.info.repeats}, which is taken with all trials"
            )
            run = store.run(run.info.repeats)
        runs += [trial for trial in trials_of(store, run) if trial.number not in {known.number for known in runs}]
    return Chosen(tuple(runs), notes=tuple(notes))


def choose_base(store: RunList, new: Chosen) -> Chosen:
    """The newest earlier complete run that shares at least half of the new side's cases."""
    found = earlier_run(store, new)
    if found is None:
        first = f"no complete run before {new.name} shares half of its cases"
        raise NotStoredError(f"{first}: evaluate the new version of the answers first, or name the run to compare with")
    return Chosen(tuple(trials_of(store, found)))


def earlier_run(store: RunList, new: Chosen) -> Run | None:
    """The run that `choose_base` takes; None if there is none."""
    if not new.runs:
        return None
    first = new.runs[0]
    candidates = [info.number for info in store.runs() if _may_be_base(info, new)][:MOST_LOOKED_AT]
    enough = SHARED * (first.info.done + first.info.failed)
    for number in candidates:  # one at a time: mostly the first will do
        if store.shared_cases(first.number, number, enough) >= enough > 0:
            return store.run(number)
    return None


def _may_be_base(info: RunInfo, new: Chosen) -> bool:
    return (
        info.number < min(run.number for run in new.runs) and info.complete and info.repeats is None and not info.aside
    )


def open_sides(
    both: tuple[Chosen, Chosen], reading: EvaluationConfig, options: CompareOptions, *, findings: bool
) -> tuple[list[Side], list[str]]:
    """Read the base and the new side with the same thresholds and rules, and what is to be known of them.

    Reading findings takes longest. The gates are checked first.
    """
    base, new = both
    options.gates.check(reading.metrics, reading.rules)
    named = {tag for tag in (options.cluster, options.by) if tag is not None}
    tags = sorted(named | {limit.slice[0] for limit in options.gates.fail_if_worse if limit.slice})
    if {run.number for run in base.runs} & {run.number for run in new.runs} or (base.file and base.file == new.file):
        raise ConfigError(
            f"both sides are {new.name}: give two that differ"
            if base.name == new.name
            else f"{base.name} and {new.name} have a run in common: give two sides that differ"
        )
    notes = [*base.notes, *new.notes]
    sides = []
    for chosen in both:
        if chosen.file is None:
            side = side_of(chosen.runs, chosen.name, tags, reading=reading if findings else None)
        else:
            side, told = _as_it_was_made(read_baseline(chosen.file), reading, findings=findings)
            notes += told
        sides.append(side)
    return sides, notes


def _as_it_was_made(side: Side, reading: EvaluationConfig, *, findings: bool) -> tuple[Side, Sequence[str]]:
    """A baseline's findings can't be made again, so they must have been read with the same thresholds and rules."""
    if not findings or side.table.found is None:
        return replace(side, table=replace(side.table, found=None)), []
    if other := [*_other_thresholds(side, reading)]:
        raise ConfigError(
            f"{side.header.name} was made with the threshold{'s' if len(other) > 1 else ''} {', '.join(other)}, and "
            "its findings can't be read with others: make it anew with `ragtriage baseline`, or give --threshold so"
        )
    if side.rules != rules_digest(reading.rules):
        told = f"{side.header.name} was made with other rules, so findings aren't compared: make it anew"
        return replace(side, table=replace(side.table, found=None)), [told]
    return side, []


def _other_thresholds(side: Side, reading: EvaluationConfig) -> Iterator[str]:
    read = {m.name for m in side.metrics}
    for name, value in side.thresholds.items():
        if name in read and reading.thresholds.get(name) not in (None, value):
            yield f"{name}={value:g}"


def compare_chosen(
    base: Chosen, new: Chosen, reading: EvaluationConfig, options: CompareOptions, *, findings: bool = True
) -> Comparison:
    """Read two sides and compare them; the gates are checked first.

    Both are read with the thresholds and rules of `reading`, which has the metrics of the new side. With `findings`
    these are compared too, which takes longest.

    Raises:
        ConfigError: a gate, a tag or a threshold that doesn't fit, or both sides are the same.
        InputError: they can't be paired or weren't judged alike, or a baseline can't be read.
        StoreError: a run can't be read.
    """
    (old, now), notes = open_sides((base, new), reading, options, findings=findings)
    found = compare(old, now, reading.rules, options)
    return replace(found, notes=(*notes, *found.notes))
