"""Scores of a data frame or a `datasets.Dataset`: `ragtriage.pandas.evaluate(df)` gives it with a column a metric.

Importing this imports neither pandas nor datasets.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

if TYPE_CHECKING:
    from ragtriage.adapters.harness import HarnessOptions
    from ragtriage.adapters.judged_row import JudgedRow

ADDED = ("headline", "component", "reason")
"""Columns beside the metrics: what is wrong with a row, what to repair, and why scores are missing."""
_INDEX = "__index_level_"


def evaluate(
    table: Any, metrics: Sequence[str] | None = None, *, name: str = "", **options: Unpack[HarnessOptions]
) -> Any:
    """The table with a column for every metric, and `headline`, `component` and `reason`; rows and index stay.

    The run is stored: `ragtriage.open_run("last")` shows it, as `ragtriage show` and `ragtriage report` do.

    Args:
        table: a data frame or a data set; its columns are found as those of a file, or are named by `fields`.
        metrics: their names, as for `--metrics`; those of the settings, else THELMA's, if None.
        name: what the run is called by.
        options: see `ragtriage.adapters.harness.HarnessOptions`.

    Returns:
        A new table. Where a score is undefined it is NaN (null in a data set), and `reason` says why; `failed: …` where
        the judge failed. A row that can't be used is kept.

    Raises:
        InputError: no column holds the query or the sources, or a column would be written over.
        ConfigError: a metric or the judge can't be used.
    """
    from ragtriage.adapters.harness import Harness
    from ragtriage.core.errors import InputError
    from ragtriage.readers.case_rows import cases_from

    rows = [*_rows(table)]
    harness = Harness("pandas", metrics, options, made_by=None)
    try:
        columns = [*harness.names, *ADDED]
        if taken := [column for column in columns if any(column in row for row in rows[:1])]:
            raise InputError(f"the table has a column {taken[0]!r} already, which would be written over: rename it")
        judged = harness.judge_all(cases_from(rows, "the table", mapping=options.get("fields")), name) if rows else []
    finally:
        harness.close()
    found = {metric: [getattr(row.outcome(metric), "value", None) for row in judged] for metric in harness.names}
    return _with_columns(table, found, {column: [_told(row, column) for row in judged] for column in ADDED})


def _told(row: JudgedRow, column: str) -> str:
    return {"headline": str(row.head), "component": row.head.component, "reason": row.reason}[column]


def _rows(table: Any) -> Iterator[Mapping[str, Any]]:
    """The rows as a file would hold them: missing values are None, arrays lists; an index that was written is left out.

    A data frame's missing texts are NaN, or `pandas.NA`.
    """
    from ragtriage.core.errors import InputError

    if hasattr(table, "to_list"):  # a data set
        records = table.to_list()
    elif hasattr(table, "to_dict") and hasattr(table, "columns"):
        records = table.to_dict("records")
    else:
        raise InputError(
            f"a {type(table).__name__} is no data frame and no data set (choose one split of a DatasetDict)"
        )
    for record in records:
        yield {str(key): _plain(value) for key, value in record.items() if not str(key).startswith(_INDEX)}


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # NumPy's arrays and numbers
        value = value.tolist()
    if isinstance(value, list):
        return [_plain(one) for one in value]
    missing = type(value).__name__ in {"NAType", "NaTType"} or (isinstance(value, float) and math.isnan(value))
    return None if missing else value


def _with_columns(table: Any, scores: Mapping[str, list[Any]], told: Mapping[str, list[str]]) -> Any:
    if hasattr(table, "add_column"):
        from datasets import Value

        for column, values in scores.items():
            table = table.add_column(column, values, feature=Value("float64"))
        for column, texts in told.items():
            table = table.add_column(column, texts, feature=Value("string"))
        return table
    numbers = {name: [math.nan if value is None else value for value in values] for name, values in scores.items()}
    return table.assign(**numbers, **told)
