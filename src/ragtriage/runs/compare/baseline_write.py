"""A side as a file that a repository can hold: numbers and digests, no texts; one case a line, by its key."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage.core.errors import ConfigError, InputError, StoreError
from ragtriage.core.files import ORDINARY_FILE, atomic_path
from ragtriage.core.validation import as_builtins
from ragtriage.metrics import metric_named
from ragtriage.metrics.custom_metrics import definition_of
from ragtriage.runs.compare.case_table import DIGESTED, CaseTable, FoundColumns, hashed_id
from ragtriage.runs.compare.sides import Side

FORMAT = 1
"""A file of a later format is refused."""
CASES = '"cases": ['
"""The line between the head and the cases."""
PLACES = 6
"""Of a score."""
LIKELY_PLACES = 3
"""Of a probability."""
FAILED = "failed"


@dataclass(frozen=True, slots=True)
class BaselineOptions:
    """What a baseline file holds beside scores and findings."""

    tags: Sequence[str] = ()
    hash_ids: bool = False
    digests: bool = True
    """Without them what changed isn't known, and cases are paired by id only."""


@dataclass(slots=True)
class _Names:
    """Texts that many cases share, each written once in the head."""

    places: dict[str, int] = field(default_factory=dict)

    def place(self, name: str) -> int:
        return self.places.setdefault(name, len(self.places))


def write_baseline(path: Path, side: Side, rules: Sequence[str], options: BaselineOptions) -> int:
    """Write a side as a baseline file; compressed if its name ends in `.gz`.

    Args:
        path: where to.
        side: a complete side whose findings were read.
        rules: the names of the rules that they were read with, in their order.
        options: what it is to hold.

    Returns:
        How many cases it holds.

    Raises:
        StoreError: the side isn't complete.
        ConfigError: a tag that no case has, or cases that could never be paired.
        InputError: the file can't be written.
    """
    if side.header.incomplete:
        raise StoreError(f"{'; '.join(side.header.incomplete)}: give its evaluation again, then this command")
    table = side.table
    if missing := [tag for tag in options.tags if not any(table.tags.get(tag, ()))]:
        raise ConfigError(f"--tags {missing[0]}: no case has this tag: there is {', '.join(table.tags) or 'none'}")
    if not table.own_ids and not options.digests:
        raise ConfigError(
            "--no-digests: the ids were made from the content, so nothing could be paired without digests"
        )
    names = _Names()
    lines = _case_lines(table, [m.name for m in side.metrics], options, names)
    head = "".join(
        f"{json.dumps(key)}: {_dumps(value)},\n" for key, value in _head(side, rules, options, names).items()
    )
    try:
        with atomic_path(path, ORDINARY_FILE) as beside:
            opened = gzip.GzipFile(beside, "wb", mtime=0) if path.suffix == ".gz" else beside.open("wb")
            with opened as file:
                file.write(f"{{\n{head}{CASES}\n".encode())
                file.write(",\n".join(lines).encode())
                file.write(b"\n]}\n")
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror or error}") from error
    return len(table)


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def _head(side: Side, rules: Sequence[str], options: BaselineOptions, names: _Names) -> dict[str, Any]:
    header = side.header
    return {
        "format": FORMAT,
        "version": header.version,
        "created": header.created,
        "runs": list(header.runs),
        "input": Path(header.input).name,
        "judge": header.judge,
        "trials": header.trials,
        "fingerprints": dict(side.fingerprints),
        "metrics": [m.name for m in side.metrics],
        "definitions": dict(side.definitions),
        "own_metrics": [as_builtins(definition_of(m)) for m in side.metrics if not metric_named(m.name)],
        "thresholds": dict(side.thresholds),
        "rules": list(rules),
        "rules_digest": side.rules,
        "corrected": {name: list(found) for name, found in side.corrections.items()},
        "noise": dict(side.table.noise),
        "ids": "hashed" if options.hash_ids else "own" if side.table.own_ids else "questions",
        "tags": list(options.tags),
        "digests": list(DIGESTED) if options.digests else [],
        "names": list(names.places),
        "likely": bool(side.table.found and side.table.found.likely),
    }


def _case_lines(table: CaseTable, metrics: Sequence[str], options: BaselineOptions, names: _Names) -> list[str]:
    rows = zip(_keys(table, options), range(len(table)), strict=True)
    return [_dumps(_case(table, place, key, metrics, options, names)) for key, place in sorted(rows)]


def _keys(table: CaseTable, options: BaselineOptions) -> Iterator[str]:
    """The key of every case: its id, or where that was made from the content its question, and which of equal ones."""
    seen: Counter[str] = Counter()
    for name, question in zip(table.ids, table.digests["question"], strict=True):
        if table.own_ids:
            yield hashed_id(name) if options.hash_ids and not table.hashed_ids else name
        else:
            key = f"{int(question):016x}"
            seen[key] += 1
            yield key if seen[key] == 1 else f"{key} {seen[key]}"


def _case(
    table: CaseTable, place: int, key: str, metrics: Sequence[str], options: BaselineOptions, names: _Names
) -> dict[str, Any]:
    case: dict[str, Any] = {"key": key, "scores": [_score(table, name, place) for name in metrics]}
    if options.digests:
        joined = np.array([table.digests[name][place] for name in DIGESTED], ">u8").tobytes()
        case["digests"] = base64.b64encode(joined).decode().rstrip("=")
    if table.weight[place] != 1:
        case["weight"] = float(table.weight[place])
    if table.found:
        case |= _found(table.found, place, names)
    if options.tags:
        case["tags"] = [table.tags[tag][place] for tag in options.tags]
    return case


def _score(table: CaseTable, metric: str, place: int) -> float | str | None:
    value = float(table.scores[metric][place])
    if value == value:  # noqa: PLR0124  # NaN is unlike itself
        return round(value, PLACES)
    return FAILED if table.failed[metric][place] else None


def _found(found: FoundColumns, place: int, names: _Names) -> Mapping[str, Any]:
    """`found`: [rule, share, sure share] for every rule that holds; `undecided`: rules; `head`: component, heading.

    `likely`: [rule, probability] for every rule of which that isn't the share.
    """
    holds, undecided, likely = [], [], []
    for rule, (name, column) in enumerate(found.holds.items()):
        value, sure = float(column[place]), float(found.sure[name][place])
        if np.isnan(value):
            undecided.append(rule)
        elif value:
            holds.append([rule, round(value, PLACES), round(sure, PLACES)])
        probability = round(float(found.likely[name][place]), LIKELY_PLACES) if name in found.likely else value
        if probability != value and not np.isnan(value):
            likely.append([rule, probability])
    told: dict[str, Any] = {"head": [names.place(found.component[place]), names.place(found.heading[place])]}
    some = {"found": holds, "undecided": undecided, "likely": likely}
    return told | {name: rows for name, rows in some.items() if rows}
