"""A baseline file becomes a side again; it is read line by line, so that its size doesn't matter."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ragtriage.core.errors import InputError
from ragtriage.core.files import why_unreadable
from ragtriage.core.validation import Invalid, validated
from ragtriage.metrics import metric_named
from ragtriage.metrics.custom_metrics import metric_by_name_alone, metric_from
from ragtriage.runs.compare.baseline_write import CASES, FAILED, FORMAT
from ragtriage.runs.compare.case_table import DIGESTED, SIZE, CaseTable, Digested, FoundColumns
from ragtriage.runs.compare.comparison import SideHeader
from ragtriage.runs.compare.sides import Side

AGAIN = "make it anew with `ragtriage baseline`"


@dataclass(frozen=True, slots=True)
class _Head:
    """The head of a file; keys that it doesn't know are ignored."""

    metrics: tuple[str, ...]
    fingerprints: Mapping[str, str]
    format: int = 0
    version: str = ""
    created: str = ""
    runs: tuple[int, ...] = ()
    input: str = ""
    judge: str = ""
    trials: int = 1
    definitions: Mapping[str, str] = field(default_factory=dict)
    own_metrics: tuple[Mapping[str, Any], ...] = ()
    thresholds: Mapping[str, float] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    rules_digest: str = ""
    corrected: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)
    noise: Mapping[str, float] = field(default_factory=dict)
    ids: str = "own"
    tags: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    likely: bool = False
    """Whether the cases say how likely their findings are."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One case."""

    key: str
    scores: tuple[float | str | None, ...]
    digests: str = ""
    weight: float = 1.0
    head: tuple[int, int] | None = None
    found: tuple[tuple[int, float, float], ...] = ()
    undecided: tuple[int, ...] = ()
    likely: tuple[tuple[int, float], ...] = ()
    tags: tuple[str | None, ...] = ()


@dataclass(slots=True)
class _Columns:
    """What was read so far."""

    head: _Head
    keys: dict[str, int] = field(default_factory=dict)
    digests: list[bytes] = field(default_factory=list)
    weight: list[float] = field(default_factory=list)
    scores: list[list[float]] = field(default_factory=list)
    failed: list[tuple[int, int]] = field(default_factory=list)
    tags: list[tuple[str | None, ...]] = field(default_factory=list)
    holds: list[tuple[int, int, float, float]] = field(default_factory=list)
    likely: list[tuple[int, int, float]] = field(default_factory=list)
    heads: list[tuple[int, int]] = field(default_factory=list)

    def add(self, row: _Row) -> None:
        """Take a case in.

        Raises:
            ValueError: it doesn't fit the head; says how.
        """
        head, place = self.head, len(self.keys)
        if len(row.scores) != len(head.metrics):
            raise ValueError(f"it has {len(row.scores)} scores, and the file has {len(head.metrics)} metrics")
        if self.keys.setdefault(row.key, place) != place:
            raise ValueError(f"the key {row.key!r} stands twice")
        values = []
        for at, value in enumerate(row.scores):
            if isinstance(value, str):
                if value != FAILED:
                    raise ValueError(f"the score {value!r} is no number")
                self.failed.append((at, place))
            values.append(np.nan if value is None or isinstance(value, str) else value)
        if not row.weight > 0:
            raise ValueError(f"the weight {row.weight!r} isn't above 0")
        self.scores.append(values)
        self.weight.append(row.weight)
        self.tags.append(row.tags if len(row.tags) == len(head.tags) else (None,) * len(head.tags))
        self.digests.append(_bytes(row.digests, len(head.digests)))
        self.holds += [(rule, place, value, sure) for rule, value, sure in row.found]
        self.holds += [(rule, place, np.nan, np.nan) for rule in row.undecided]
        self.likely += [(rule, place, probability) for rule, probability in row.likely]
        if row.head is not None:
            self.heads.append(row.head)
        named = [rule for rule, *_ in (*row.found, *row.likely)] + [*row.undecided]
        if any(not 0 <= rule < len(head.rules) for rule in named):
            raise ValueError("it names a rule that the head doesn't have")
        if any(not 0 <= name < len(head.names) for name in row.head or ()):
            raise ValueError("it names a component that the head doesn't have")


def read_baseline(path: Path, shown: str = "") -> tuple[Side, tuple[str, ...]]:
    """Read a baseline file.

    Args:
        path: the file.
        shown: what it is called in messages; its path if empty.

    Returns:
        The side, and the names of the rules that its findings were read with.

    Raises:
        InputError: it can't be read, isn't a baseline, or is broken; names the line.
    """
    name = shown or str(path)
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            lines = iter(enumerate(file, 1))
            columns = _Columns(_head(lines, name))
            _cases(lines, columns, name)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        why = why_unreadable(error) if isinstance(error, OSError | UnicodeDecodeError) else "it is cut off"
        raise InputError(f"the baseline {name} can't be read: {why}") from error
    return _side(columns, name), columns.head.rules


def _head(lines: Iterator[tuple[int, bytes]], name: str) -> _Head:
    written, number = [], 0
    for number, line in lines:
        if line.strip() == CASES.encode():
            break
        if number == 1 and line.strip() != b"{":
            raise InputError(f"{name} is no baseline of one case a line: {AGAIN}")
        written.append(line)
    else:
        raise InputError(f"{name} is no baseline: it has no line with {CASES!r}: {AGAIN}")
    text = b"".join(written).decode("utf-8").rstrip().removesuffix(",") + "}"
    found = _loaded(text, name, 1)
    form = found.get("format") if isinstance(found, dict) else None
    if not isinstance(form, int) or form < 1:
        raise InputError(f'{name} is no baseline: its head has no "format": {AGAIN}')
    if form > FORMAT:
        raise InputError(f"{name} has the format {form}, and this version reads {FORMAT}: update ragtriage")
    try:
        return validated(_Head, {key: value for key, value in found.items() if key in _Head.__slots__})
    except Invalid as error:
        raise InputError(f"the head of {name}, lines 1 to {number}: {error}: {AGAIN}") from None


def _cases(lines: Iterator[tuple[int, bytes]], columns: _Columns, name: str) -> None:
    for number, line in lines:
        text = line.decode("utf-8").strip()
        if text == "]}":
            return
        if not text:
            continue
        found = _loaded(text.removesuffix(","), name, number)
        try:
            known = {k: v for k, v in found.items() if k in _Row.__slots__} if isinstance(found, dict) else found
            columns.add(validated(_Row, known))
        except (Invalid, ValueError) as error:
            raise InputError(f"{name}, line {number}: {error}: {AGAIN}") from None
    raise InputError(f"{name} is cut off: its last line isn't ]}}: {AGAIN}")


def _loaded(text: str, name: str, line: int) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise InputError(f"{name}, line {line + error.lineno - 1}: broken JSON: {error.msg}: {AGAIN}") from None
    except (ValueError, RecursionError) as error:
        said = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        raise InputError(f"{name}, line {line}: {said}: {AGAIN}") from None


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number")


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} stands twice")
    return found


def _bytes(text: str, count: int) -> bytes:
    if not text:
        return bytes(SIZE * count)
    try:
        found = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != SIZE * count:
        raise ValueError("its digests are broken")
    return found


def _side(columns: _Columns, name: str) -> Side:
    head, count = columns.head, len(columns.keys)
    grid = np.array(columns.scores, float).reshape(count, len(head.metrics))
    failed = np.zeros(grid.shape, bool)
    for at, place in columns.failed:
        failed[place, at] = True
    words = np.frombuffer(b"".join(columns.digests), ">u8").reshape(count, len(head.digests)).astype(np.uint64)
    own = {digested: words[:, at] for at, digested in enumerate(head.digests)}
    digests: dict[Digested, Any] = {key: own.get(key, np.zeros(count, np.uint64)) for key in DIGESTED}
    custom = {one["name"]: metric_from(one) for one in head.own_metrics}
    header = SideHeader(
        name=f"baseline {name}", runs=head.runs, baseline=name, input=head.input, created=head.created, cases=count,
        judge=head.judge, trials=head.trials, version=head.version,
    )  # fmt: skip
    return Side(
        header,
        CaseTable(
            list(columns.keys),
            head.ids != "questions",
            digests,
            np.array(columns.weight, float),
            {metric: grid[:, at] for at, metric in enumerate(head.metrics)},
            {metric: failed[:, at] for at, metric in enumerate(head.metrics)},
            {tag: [row[at] for row in columns.tags] for at, tag in enumerate(head.tags)},
            _found(columns) if len(columns.heads) == count else None,
            head.ids == "hashed",
            head.noise,
        ),
        tuple(metric_named(m) or custom.get(m) or metric_by_name_alone(m) for m in head.metrics),
        head.fingerprints,
        head.definitions,
        head.thresholds,
        head.rules_digest,
        head.corrected,
    )


def _found(columns: _Columns) -> FoundColumns:
    head, count = columns.head, len(columns.keys)
    holds, sure = np.zeros((count, len(head.rules))), np.zeros((count, len(head.rules)))
    for rule, place, value, certain in columns.holds:
        holds[place, rule], sure[place, rule] = value, certain
    likely = holds.copy()
    for rule, place, probability in columns.likely:
        likely[place, rule] = probability
    return FoundColumns(
        {rule: holds[:, at] for at, rule in enumerate(head.rules)},
        {rule: sure[:, at] for at, rule in enumerate(head.rules)},
        [head.names[component] for component, _ in columns.heads],
        [head.names[heading] for _, heading in columns.heads],
        {rule: likely[:, at] for at, rule in enumerate(head.rules)} if head.likely else {},
    )
