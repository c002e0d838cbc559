"""Several runs of one side, trials of the judge or seeds of the application, as one table of cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ragtriage.runs.compare.case_table import DIGESTED, CaseTable, Digests, FoundColumns
from ragtriage.runs.compare.difference import Numbers, Places
from ragtriage.runs.compare.noise import mean_over_trials, noise_variance


def merged_tables(tables: Sequence[CaseTable], rows: Sequence[Places]) -> CaseTable:
    """Several runs of the same cases as one: the mean of each score over runs, in the order of the first.

    Args:
        tables: at least two.
        rows: of each, for every case of the first its place, −1 where it has none; shape (n,).
    """
    first = tables[0]
    scores, failed, noise = {}, {}, {}
    for name in first.scores:
        grid = np.column_stack([_taken(table.scores[name], at) for table, at in zip(tables, rows, strict=True)])
        scores[name] = mean_over_trials(grid)
        broke = [(at >= 0) & table.failed[name][at] for table, at in zip(tables, rows, strict=True)]
        failed[name] = np.any(broke, axis=0) & np.isnan(scores[name])
        variance = noise_variance(grid)
        if variance is not None:
            noise[name] = variance
    found = [(table.found, at) for table, at in zip(tables, rows, strict=True) if table.found]
    digests = {name: _together([table.digests[name][at] for table, at in zip(tables, rows, strict=True)])
               for name in DIGESTED}  # fmt: skip
    return CaseTable(
        first.ids,
        first.own_ids,
        digests,
        first.weight,
        scores,
        failed,
        first.tags,
        _found(found) if len(found) == len(tables) else None,
        noise=noise,
    )


def _found(columns: Sequence[tuple[FoundColumns, Places]]) -> FoundColumns:
    """The findings of several runs: the share of runs that have each; cases are headed as in the first."""
    first = columns[0][0]

    def shares(of: Callable[[FoundColumns], Mapping[str, Numbers]]) -> dict[str, Numbers]:
        return {
            rule: mean_over_trials(np.column_stack([_taken(of(found)[rule], at) for found, at in columns]))
            for rule in of(first)
        }

    known = all(found.likely for found, _ in columns)
    likely = shares(lambda f: f.likely) if known else {}
    return FoundColumns(shares(lambda f: f.holds), shares(lambda f: f.sure), first.component, first.heading, likely)


def _taken(values: Numbers, at: Places) -> Numbers:
    return np.where(at >= 0, values[at], np.nan)


def _together(columns: Sequence[Digests]) -> Digests:
    """One digest for those of all runs: the same if all are the same, 0 if one isn't known."""
    whole = columns[0].copy()
    differ, unknown = np.zeros(len(whole), bool), whole == 0
    for column in columns[1:]:
        differ |= column != columns[0]
        unknown |= column == 0
        whole = whole * np.uint64(6364136223846793005) + column
    return np.where(unknown, np.uint64(0), np.where(differ, whole | np.uint64(1), columns[0]))
