"""The user's settings: `ragtriage.toml`, or `[tool.ragtriage]` in `pyproject.toml`.

    metrics = ["thelma", "-fact_precision", "my_metrics.py:usefulness"]

    [thresholds]
    groundedness = 0.9

    [fail_below]
    groundedness = 0.8

    [fail_above]
    hallucination = 0.2

    [llm]
    base_url = "http://localhost:8000/v1"
    concurrency = 4

    [cuts.supported]
    judge = "embedded"
    yes = 0.6
    no = 0.4

    [bands]
    supported = "0.2:0.9"

    [map]
    query = "question"

    [[rules]]
    name = "thin_sources"
    kind = "quality"
    when = { source_precision = "low", groundedness = "low" }
    component = "retriever"
    reading = "few sources are needed and the response isn't grounded in them"
    advice = "Rerank the sources."

Flags come before the file, the file before the defaults.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import Kind as Asked
from ragtriage.diagnosis.rules import KINDS, RULES, Kind, Rule
from ragtriage.diagnosis.thresholds import Level, thresholds_with
from ragtriage.judges.decision_thresholds import DecisionThreshold, bands_from, cuts_from
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.llm.settings_table import options_from
from ragtriage.metrics import METRICS, OTHER_NAMES, custom_metrics, metric_named, unknown
from ragtriage.text.citations.marks import pattern_of

FILE = "ragtriage.toml"
_KEYS = (
    "metrics", "judge", "jury", "cascade", "llm", "store", "thresholds", "fail_below", "fail_above", "map", "rules",
    "any_language", "citation_mark", "cuts", "bands",
)  # fmt: skip
_RULE_KEYS = ("name", "kind", "when", "component", "reading", "advice", "quotes", "further", "faults", "declines")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user has set, every value checked."""

    origin: str = ""
    """The file that it came from; empty if there is none."""
    metrics: tuple[str, ...] = ()
    judges: tuple[str, ...] = ("embedded",)
    """`embedded`, `embedded:fast` or `provider:model`; several are a jury."""
    jury: Literal["majority"] | None = None
    cascade: str | None = None
    """`shipped` or `LOW:HIGH`: see `ragtriage.judges.build.JudgeConfig`."""
    llm: LLMOptions = field(default_factory=LLMOptions)
    store: str | None = None
    thresholds: Mapping[str, float] = field(default_factory=lambda: thresholds_with({}))
    """Complete: defaults and the user's own."""
    fail_below: Mapping[str, float] = field(default_factory=dict)
    """Metric name → the mean below which the command fails."""
    fail_above: Mapping[str, float] = field(default_factory=dict)
    """The same for metrics of which lower is better: the mean above which it fails."""
    map: Mapping[str, str] = field(default_factory=dict)
    """Our field → the input's column."""
    rules: tuple[Rule, ...] = RULES
    """The built-in rules, then the user's own."""
    any_language: bool = False
    citation_mark: str | None = None
    """See `ragtriage.core.case.Case.citation_mark`."""
    cuts: Mapping[Asked, DecisionThreshold] = field(default_factory=dict)
    """Kind of question → where its verdicts are cut, for the judge that the cut names."""
    bands: Mapping[Asked, str] = field(default_factory=dict)
    """Kind of question → the cascade's band instead of the shipped one."""


def find_settings(start: Path) -> Settings:
    """The settings of the nearest folder, from `start` upwards, that has any.

    Raises:
        ConfigError: a file can't be read or holds something unknown; says which key.
    """
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            return read_settings(folder / FILE)
        project = folder / "pyproject.toml"
        if project.is_file() and "ragtriage" in _tools(project):
            return read_settings(project)
    return Settings()


def read_settings(path: Path) -> Settings:
    """The settings in one file. Metrics of one's own that it names aren't loaded.

    Raises:
        ConfigError: the file can't be read or holds something unknown; says which key.
    """
    where = str(path)
    table = _table(_tools(path), "ragtriage", where) if path.name == "pyproject.toml" else _load(path)
    _known(table, _KEYS, where)
    rules = table.get("rules", [])
    if not isinstance(rules, list):
        raise ConfigError(f"{where}: 'rules' must be a list of tables: write [[rules]] above each")
    any_language = table.get("any_language", False)
    if not isinstance(any_language, bool):
        raise ConfigError(f"{where}: 'any_language' must be true or false, not {any_language!r}")
    jury = _text(table, "jury", where)
    if jury not in {None, "majority"}:
        raise ConfigError(f"{where}: jury is {jury!r}: there is only majority")
    metrics = tuple(custom_metrics.resolved_in(name, path.parent) for name in _texts(table, "metrics", where))
    names = custom_metrics.names_in(metrics)
    mark = _text(table, "citation_mark", where)
    if mark is not None:
        pattern_of(mark)
    return Settings(
        where,
        metrics,
        _judges(table, where),
        "majority" if jury else None,
        _text(table, "cascade", where),
        options_from(_table(table, "llm", where), where, path.parent),
        _place(_text(table, "store", where), path.parent),
        thresholds_with(_numbers(table, "thresholds", where, names)),
        _numbers(table, "fail_below", where, names),
        _numbers(table, "fail_above", where, names),
        _columns(_table(table, "map", where), where),
        RULES + tuple(_rule(rule, f"{where}: rule {i + 1}", names) for i, rule in enumerate(rules)),
        any_language,
        mark,
        cuts_from(_table(table, "cuts", where), where),
        bands_from(_table(table, "bands", where), where),
    )


def named_numbers(items: Collection[str], flag: str, also: Collection[str] = ()) -> dict[str, float]:
    """`["groundedness=0.8"]` → `{"groundedness": 0.8}`.

    Args:
        items: as they stand on the command line.
        flag: its name.
        also: names of metrics beside the built-in and the installed ones.

    Raises:
        ConfigError: an item isn't `metric=number`, or the metric isn't known.
    """
    table: dict[str, object] = {}
    for item in items:
        name, _, value = item.rpartition("=")
        try:
            table[name.strip()] = float(value)
        except ValueError:
            raise ConfigError(f"{flag} {item!r}: write it as metric=number, for example groundedness=0.8") from None
    return _numbers({flag: table}, flag, "the command line", also)


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path} can't be read: {error}") from error


def _tools(project: Path) -> Mapping[str, Any]:
    """The table `[tool]` of a `pyproject.toml`, empty if it has none."""
    return _table(_load(project), "tool", str(project))


def _known(table: Mapping[str, Any], keys: Collection[str], where: str) -> None:
    for key in table:
        if key not in keys:
            near = difflib.get_close_matches(key, keys, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(keys)}"
            raise ConfigError(f"{where}: no setting is called {key!r}: {hint}")


def _table(table: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: {key!r} must be a table, not {value!r}")
    return value


def _numbers(table: Mapping[str, Any], key: str, where: str, also: Collection[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for given, value in _table(table, key, where).items():
        name = _metric(given, also)
        if name is None:
            known = [*(m.name for m in METRICS), *OTHER_NAMES, *also]
            raise ConfigError(f"{where}: {key}: {unknown(given, known)} (one of your own: put it under `metrics`)")
        # what isn't a number would pass every gate, and what lies beyond the range would never be reached
        built_in = metric_named(name)
        low, high = built_in.range if built_in else (-1.0, 1.0)
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            raise ConfigError(f"{where}: {key}: {given} is {value!r}: give a number between {low:g} and {high:g}")
        found[name] = float(value)
    return found


def _metric(name: str, also: Collection[str]) -> str | None:
    """What a metric is called in every table: a built-in one, one of these, or an installed one; None if it is none."""
    built_in = metric_named(name)
    if built_in:
        return built_in.name
    return name if name in also or name in custom_metrics.installed() else None


def _columns(table: Mapping[str, Any], where: str) -> dict[str, str]:
    for name, column in table.items():
        if not isinstance(column, str):
            raise ConfigError(f"{where}: map: {name} is {column!r}: give the column's name as a text")
    return dict(table)


def _text(table: Mapping[str, Any], key: str, where: str) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise ConfigError(f"{where}: {key!r} must be a text, not {value!r}")
    return value


def _judges(table: Mapping[str, Any], where: str) -> tuple[str, ...]:
    value = table.get("judge", [])
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{where}: 'judge' must be a text, or a list of texts for a jury, not {value!r}")
    return tuple(value) or ("embedded",)


def _place(store: str | None, folder: Path) -> str | None:
    """A store's folder is meant beside the file that names it; a URL is left as it is."""
    return store if store is None or "://" in store else str(folder / store)


def _texts(table: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{where}: {key!r} must be a list of texts, not {value!r}")
    return tuple(value)


def _rule(table: Any, where: str, also: Collection[str]) -> Rule:
    if not isinstance(table, dict):
        raise ConfigError(f"{where} must be a table, not {table!r}")
    _known(table, _RULE_KEYS, where)
    missing = [key for key in ("name", "kind", "when", "component", "reading") if not table.get(key)]
    if missing:
        raise ConfigError(f"{where} lacks {', '.join(missing)}")
    if table["kind"] not in KINDS:
        raise ConfigError(f"{where}: kind is {table['kind']!r}: use one of {', '.join(KINDS)}")
    declines = table.get("declines", False)
    if not isinstance(declines, bool):
        raise ConfigError(f"{where}: 'declines' must be true or false, not {declines!r}")
    return Rule(
        str(table["name"]),
        _kind(table["kind"]),
        _levels(_table(table, "when", where), where, also),
        str(table["reading"]),
        str(table["component"]),
        str(table.get("advice", "")),
        _texts(table, "quotes", where) if "quotes" in table else None,
        _texts(table, "further", where),
        declines,
        "yours",
        _faults(table, where, also),
    )


def _faults(table: Mapping[str, Any], where: str, also: Collection[str]) -> tuple[str, ...]:
    """What a metric of one's own tells apart isn't known before it is loaded, so its kinds aren't checked."""
    there = {kind for m in METRICS for kind in m.kinds}
    found = _texts(table, "faults", where)
    unloaded = {*_table(table, "when", where), *_texts(table, "quotes", where)} & {*also, *custom_metrics.installed()}
    for kind in found:
        if kind not in there and not unloaded:
            raise ConfigError(f"{where}: no bad component is called {kind!r}: there are {', '.join(sorted(there))}")
    return found


def _kind(value: str) -> Kind:
    return next(kind for kind in KINDS if kind == value)


def _levels(when: Mapping[str, Any], where: str, also: Collection[str]) -> dict[str, Level]:
    found: dict[str, Level] = {}
    for given, value in when.items():
        level = next((level for level in get_args(Level) if level == value), None)
        name = _metric(given, also)
        if name is None or level is None:
            raise ConfigError(f'{where}: when = {{ {given} = {value!r} }}: write a metric\'s name = "low" or "high"')
        found[name] = level
    return found
