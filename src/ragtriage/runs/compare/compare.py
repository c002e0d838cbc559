"""Two sides become a comparison."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np

from ragtriage.core.display import plural
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.statistics import Places
from ragtriage.diagnosis.rules import Rule
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
from ragtriage.runs.compare.matched import Matched, changes_between, groups_of, match, other_languages
from ragtriage.runs.compare.pairing import Pairing, pair_up
from ragtriage.runs.compare.rows import finding_rows, headline_matrix, metric_rows, slices_by
from ragtriage.runs.compare.sides import Side
from ragtriage.runs.compare.statistics import Paired, difference

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
            other_languages(matched.base, matched.new),
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


class JudgedDifferentlyError(InputError):
    """No metric can be compared, since the judge differs in all of them; `across_judges` compares them all the same."""


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
        raise JudgedDifferentlyError(_all_judged_differently(base, new, changes))
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
