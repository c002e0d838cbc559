"""A side kept in a file, one case a line: it goes into the repository, and is compared with where no store is.

It is written and read line by line, so that its size doesn't matter.
"""

import base64
import binascii
import gzip
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ragtriage.core.errors import ConfigError, InputError, StoreError
from ragtriage.core.files import ORDINARY_FILE, atomic_path, why_unreadable
from ragtriage.core.validation import Invalid, as_builtins, validated
from ragtriage.metrics import metric_named
from ragtriage.metrics.custom_metrics import definition_of, metric_by_name_alone, metric_from
from ragtriage.runs.compare.case_table import DIGESTED, SIZE, CaseTable, Digested, FoundColumns, hashed_id
from ragtriage.runs.compare.comparison import SideHeader
from ragtriage.runs.compare.sides import FoundOnCase, Side, found_columns
from ragtriage.runs.run import ABOUT, About

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


def write_baseline(path: Path, side: Side, options: BaselineOptions) -> int:
    """Write a side as a baseline file; compressed if its name ends in `.gz`. Returns how many cases it holds."""
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
        f"{json.dumps(key)}: {_dumps(value)},\n" for key, value in _written_head(side, options, names).items()
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


def _written_head(side: Side, options: BaselineOptions, names: _Names) -> dict[str, Any]:
    header = side.header
    return {
        "format": FORMAT,
        "version": header.version,
        "created": header.created,
        "runs": list(header.runs),
        "input": Path(header.input).name,
        **header.about.stored(),
        "judge": header.judge,
        "trials": header.trials,
        "fingerprints": dict(side.fingerprints),
        "metrics": [m.name for m in side.metrics],
        "definitions": dict(side.definitions),
        "own_metrics": [as_builtins(definition_of(m)) for m in side.metrics if not metric_named(m.name)],
        "thresholds": dict(side.thresholds),
        "rules": list(side.table.found.holds) if side.table.found else [],
        "rules_digest": side.rules,
        "corrected": {name: list(found) for name, found in side.corrections.items()},
        "noise": dict(side.table.noise),
        "ids": "hashed" if options.hash_ids else "own" if side.table.own_ids else "questions",
        "tags": list(options.tags),
        "digests": list(DIGESTED) if options.digests else [],
        "names": list(names.places),
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
        case |= _written_found(table.found, place, names)
    if options.tags:
        case["tags"] = [table.tags[tag][place] for tag in options.tags]
    return case


def _score(table: CaseTable, metric: str, place: int) -> float | str | None:
    value = float(table.scores[metric][place])
    if value == value:  # noqa: PLR0124  # NaN is unlike itself
        return round(value, PLACES)
    return FAILED if table.failed[metric][place] else None


def _written_found(found: FoundColumns, place: int, names: _Names) -> Mapping[str, Any]:
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
        probability = round(float(found.likely[name][place]), LIKELY_PLACES)
        if probability != value and not np.isnan(value):
            likely.append([rule, probability])
    told: dict[str, Any] = {"head": [names.place(found.component[place]), names.place(found.heading[place])]}
    some = {"found": holds, "undecided": undecided, "likely": likely}
    return told | {name: rows for name, rows in some.items() if rows}


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
    about: Mapping[str, str] = field(default_factory=dict)
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


@dataclass(frozen=True, slots=True)
class _Row:
    key: str
    scores: tuple[float | str | None, ...]
    digests: str = ""
    weight: float = 1.0
    head: tuple[int, int] | None = None
    found: tuple[tuple[int, float, float], ...] = ()
    undecided: tuple[int, ...] = ()
    likely: tuple[tuple[int, float], ...] = ()
    tags: tuple[str | None, ...] = ()


def _checked(row: _Row, head: _Head, before: Collection[str]) -> _Row:
    """A row that fits the head and has another key than those before it; else a ValueError."""
    if row.key in before:
        raise ValueError(f"the key {row.key!r} stands twice")
    if len(row.scores) != len(head.metrics):
        raise ValueError(f"it has {len(row.scores)} scores, and the file has {len(head.metrics)} metrics")
    if wrong := [value for value in row.scores if isinstance(value, str) and value != FAILED]:
        raise ValueError(f"the score {wrong[0]!r} is no number")
    if not row.weight > 0:
        raise ValueError(f"the weight {row.weight!r} isn't above 0")
    _bytes(row.digests, len(head.digests))
    named = [rule for rule, *_ in (*row.found, *row.likely)] + [*row.undecided]
    if any(not 0 <= rule < len(head.rules) for rule in named):
        raise ValueError("it names a rule that the head doesn't have")
    if any(not 0 <= name < len(head.names) for name in row.head or ()):
        raise ValueError("it names a component that the head doesn't have")
    return row


def read_baseline(path: Path) -> Side:
    """The side in a baseline file."""
    name = str(path)
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            lines = iter(enumerate(file, 1))
            head = _head(lines, name)
            rows = _rows(lines, head, name)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        why = why_unreadable(error) if isinstance(error, OSError | UnicodeDecodeError) else "it is cut off"
        raise InputError(f"the baseline {name} can't be read: {why}") from error
    return _side(head, rows, name)


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


def _rows(lines: Iterator[tuple[int, bytes]], head: _Head, name: str) -> dict[str, _Row]:
    """The cases by their keys."""
    rows: dict[str, _Row] = {}
    for number, line in lines:
        text = line.decode("utf-8").strip()
        if text == "]}":
            return rows
        if not text:
            continue
        found = _loaded(text.removesuffix(","), name, number)
        try:
            known = {k: v for k, v in found.items() if k in _Row.__slots__} if isinstance(found, dict) else found
            row = _checked(validated(_Row, known), head, rows.keys())
        except (Invalid, ValueError) as error:
            raise InputError(f"{name}, line {number}: {error}: {AGAIN}") from None
        rows[row.key] = row
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


def _side(head: _Head, by_key: Mapping[str, _Row], name: str) -> Side:
    rows, count = [*by_key.values()], len(by_key)
    grid = np.array([[v if isinstance(v, float | int) else np.nan for v in row.scores] for row in rows], float)
    failed = np.array([[isinstance(v, str) for v in row.scores] for row in rows], bool)
    grid, failed = (of.reshape(count, len(head.metrics)) for of in (grid, failed))
    joined = b"".join(_bytes(row.digests, len(head.digests)) for row in rows)
    words = np.frombuffer(joined, ">u8").reshape(count, len(head.digests)).astype(np.uint64)
    own = {digested: words[:, at] for at, digested in enumerate(head.digests)}
    digests: dict[Digested, Any] = {key: own.get(key, np.zeros(count, np.uint64)) for key in DIGESTED}
    custom = {one["name"]: metric_from(one) for one in head.own_metrics}
    header = SideHeader(
        name=f"baseline {name}", runs=head.runs, baseline=name, input=head.input, created=head.created, cases=count,
        judge=head.judge, trials=head.trials, version=head.version, about=About.of({ABOUT: head.about}),
    )  # fmt: skip
    tags = {
        tag: [row.tags[at] if len(row.tags) == len(head.tags) else None for row in rows]
        for at, tag in enumerate(head.tags)
    }
    return Side(
        header,
        CaseTable(
            [*by_key],
            head.ids != "questions",
            digests,
            np.array([row.weight for row in rows], float),
            {metric: grid[:, at] for at, metric in enumerate(head.metrics)},
            {metric: failed[:, at] for at, metric in enumerate(head.metrics)},
            tags,
            _found(head, rows),
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


def _found(head: _Head, rows: Sequence[_Row]) -> FoundColumns | None:
    """What the rules found; None where a case doesn't say it."""
    cases = [
        FoundOnCase(
            row.found,
            row.undecided,
            head.names[row.head[0]],
            head.names[row.head[1]],
            (*((rule, share) for rule, share, _ in row.found), *row.likely),
        )
        for row in rows
        if row.head is not None
    ]
    return found_columns(head.rules, cases) if len(cases) == len(rows) else None
