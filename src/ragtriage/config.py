"""The user's settings, their file, and the judge that they choose.

Each stands here once: its key in the file, its type and default, its bounds, its flag and the flag's help. The fields
of `Settings` and `LLMOptions` are the keys of the file. What isn't a `setting` has no flag.
"""

import math
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from ragtriage.core.errors import ConfigError
from ragtriage.core.files import why_unreadable
from ragtriage.core.validation import STRICT, Invalid, Setting, near_names, setting, settings_of, validated
from ragtriage.diagnosis.rules import COSTS, RULES, Costs, FindingKind, Rule, RuleLevel, thresholds_with
from ragtriage.judges.decision_thresholds import (
    ChanceCurve,
    DecisionThreshold,
    check_base_rates,
    check_chance_curves,
    check_kinds,
    check_thresholds,
)
from ragtriage.judges.judge_config import (
    EMBEDDED,
    JudgeConfig,
    Matching,
    is_local,
    splits_here,
    with_decider,
    with_hub_model,
)
from ragtriage.judges.llm.models import price_of, takes_base_url
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.metrics import METRICS, OTHER_NAMES, custom_metrics, metric_named, unknown_metric
from ragtriage.text.citation_marks import pattern_of


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user has set; the fields are the keys of the file, checked by their types."""

    metrics: tuple[str, ...] = setting(
        "Names of metrics or groups, by commas; -name leaves one out; FILE.py:NAME is your own [default: thelma, and "
        "the free metrics whose fields the file has]",
        default=(),
    )
    judge: tuple[str, ...] = setting(
        "embedded, embedded:fast, embedded+reader:FOLDER or provider:model; repeatable for a jury", default=(EMBEDDED,)
    )
    """In a file one needs no list."""
    decide: str | None = setting(
        "What gives the verdicts, while the judge breaks texts up: a decision model (systemone:MODEL@URL, "
        "typesafe:MODEL, openai-decisions:MODEL, openrouter-decisions:MODEL), PROVIDER:MODEL for a language model's "
        "letters, or same for the judge's own"
    )
    reader: str | None = None
    """A hub model beside the embedded judge: its folder, or an ONNX file in one."""
    jury: Literal["majority"] | None = setting("How several judges reach a verdict: majority")
    cascade: str | None = setting(
        "The embedded judge decides what it is sure of: shipped, or the scores to pass on, LOW:HIGH"
    )
    llm: LLMOptions = field(default_factory=LLMOptions)
    store: str | None = setting(
        "Folder or database URL of the store [default: $RAGTRIAGE_STORE, else .ragtriage]",
        empty="name a folder or the address of a database, or leave it out",
    )
    project: str | None = setting(
        "Whose runs are meant: a project's, or '*' for all [default: the setting, else on a server the folder's name]"
    )
    thresholds: Mapping[str, float] = setting(
        "metric=value: where a score is just good enough; repeatable",
        default=lambda: thresholds_with({}),
        parameter="threshold",
    )
    """Complete: defaults and the user's own."""
    fail_below: Mapping[str, float] = setting(
        "metric=value: exit with 1 if the mean is below; repeatable", default=dict
    )
    fail_above: Mapping[str, float] = setting("The same where lower is better", default=dict)
    baseline: str | None = setting(
        "Compare with a run or a baseline file, for --fail-if-worse [default: that of the settings]",
        empty="name a run or a file, or leave it out",
    )
    fail_if_worse: Mapping[str, float] = setting(
        "metric or metric=margin: exit with 1 if it is worse than the base by more [default: 0]; metric@TAG:VALUE "
        "reads a slice; repeatable",
        default=dict,
    )
    at_most: Mapping[str, float] = setting(
        "rule=share, such as unsupported_claims=2%: exit with 1 if more cases have the finding; rule:sure counts sure "
        "ones; rule:expected=30% reads the expected number and its interval; repeatable",
        default=dict,
    )
    map: Mapping[str, str] = setting(
        "field=column (query=question), a path (docs[*].text) or several (context_1,context_2); rows=PATH names the "
        "list of rows; repeatable",
        default=dict,
        parameter="mapping",
        names=("--map",),
    )
    rules: tuple[Rule, ...] = RULES
    """The built-in rules, then the user's own."""
    any_language: bool = setting("Also judge languages that the judge wasn't measured on", default=False)
    matching: Matching = setting("soft counts verdicts with their chance, binary as 1 or 0", default="soft")
    base_rates: Mapping[str, float] = setting(
        "kind=share: the share of yes to expect, such as supported=0.9; for the embedded judge, or one with a curve; "
        "repeatable",
        default=dict,
        parameter="base_rate",
    )
    costs: Costs = COSTS
    """From which probability on a fault is shown."""
    application_price: float | str | None = None
    """What the application's own model takes for a million prompt tokens, in US dollars, or `PROVIDER:MODEL` of the
    list of prices; read, it is the number. Waste is shown in money then."""
    citation_mark: str | None = setting(
        "Regular expression for your citation marks, whose first group names the source [default: [1] and similar "
        "marks]"
    )
    decision_thresholds: Mapping[str, DecisionThreshold] = field(default_factory=dict)
    """Kind of question → where its verdicts change, for the judge that is named there."""
    chance_curves: Mapping[str, ChanceCurve] = field(default_factory=dict)
    """Kind of question → what labels say of a judge's verdicts, for the judge that is named there."""
    bands: Mapping[str, str] = field(default_factory=dict)
    """Kind of question → the cascade's band instead of the shipped one."""

    __pydantic_config__: ClassVar[Any] = STRICT

    @property
    def prompt_price(self) -> float | None:
        """`application_price` as it was read; None if it isn't known."""
        return None if isinstance(self.application_price, str) else self.application_price


SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {one.parameter: one for shape in (Settings, LLMOptions, JudgeConfig) for one in settings_of(shape) if one.help}
)
"""What commands call a setting → the setting, of those that have a flag; some are meant for one command alone."""
_VERDICTS = frozenset({"prompts", "guidance", "batch_size", "reply"})
"""Settings that say how verdicts are asked for, which embeddings don't give."""


def judge_config(settings: Settings, given: Mapping[str, Any]) -> JudgeConfig:
    """Who judges: what is given for one command, and only that, goes before the settings, these before the defaults."""
    models = {one.name: given[one.name] for one in fields(LLMOptions) if one.name in given}
    options = replace(settings.llm, **models)
    inherited = Settings() if "judge" in given else settings
    names = (
        given["judge"] if "judge" in given else tuple(with_hub_model(one, settings.reader) for one in settings.judge)
    )
    decide = given.get("decide", inherited.decide)
    names = with_decider(names, decide, with_hub_model(EMBEDDED, inherited.reader))
    if all(map(is_local, names)):
        for one in settings_of(LLMOptions):
            if one.name in models and (models.get("embeddings", EMBEDDED) == EMBEDDED or one.name in _VERDICTS):
                raise ConfigError(f"{one.flag} is for language models only: name one with --judge PROVIDER:MODEL")
        if "embeddings" not in models:
            # those of a file are kept for when a model judges: the free judge asks nobody unless this command says so
            options = replace(options, embeddings=EMBEDDED)
    if "base_url" not in models and not any(takes_base_url(name) for name in (*names, options.embeddings)):
        options = replace(options, base_url=None, headers=models.get("headers", {}))
    cascade = given.get("cascade", inherited.cascade)
    first = with_hub_model(EMBEDDED, inherited.reader)
    if cascade is not None and len(names) > 1 and splits_here(names[0]):
        first, names = names[0], names[1:]  # the first judge of a cascade may be named too
    config = JudgeConfig(
        names,
        given.get("jury", inherited.jury),
        cascade,
        given.get("batch_api", False),
        given.get("wait", False),
        given.get("any_language", settings.any_language),
        options,
        settings.decision_thresholds,
        settings.bands,
        given.get("matching", settings.matching),
        {**settings.base_rates, **given.get("base_rates", {})},
        settings.chance_curves,
        first,
        given.get("protocol", "shared"),
    )
    for kind in given.get("base_rates", {}):
        if not any(is_local(name) or kind in config.curves_of(name) for name in config.judging):
            raise ConfigError(
                f"--base-rate {kind}: there is no chance to move: it is for the embedded judge, or for one whose "
                "verdicts have a curve from `ragtriage trust calibrate`"
            )
    return config


FILE = "ragtriage.toml"


@dataclass(frozen=True, slots=True)
class _Rule:
    """One `[[rules]]` of a file: the fields of `Rule` that a user may set."""

    name: str
    kind: FindingKind
    when: Mapping[str, RuleLevel]
    component: str
    reading: str
    advice: str = ""
    quotes: tuple[str, ...] | None = None
    further: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    declines: bool = False

    __pydantic_config__: ClassVar[Any] = STRICT


@dataclass(frozen=True, slots=True)
class _Rules:
    rules: tuple[_Rule, ...] = ()


def find_settings(start: Path) -> Settings:
    """The settings of the nearest folder, from `start` upwards, that has any."""
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            return read_settings(folder / FILE)
        project = folder / "pyproject.toml"
        if project.is_file() and "ragtriage" in _tools(project):
            return read_settings(project)
    return Settings()


def read_settings(path: Path) -> Settings:
    """The settings in one file. Metrics of one's own that it names aren't loaded."""
    where, folder = str(path), path.parent
    table = _table(_tools(path), "ragtriage", where) if path.name == "pyproject.toml" else _load(path)
    found, rules = _checked(table, where)
    if found.citation_mark is not None:
        pattern_of(found.citation_mark)
    for one in settings_of(Settings):
        given = getattr(found, one.name)
        if one.empty and given is not None and not given.strip():
            raise ConfigError(f"{where}: {one.name} is empty: {one.empty}")
    if found.project is not None and (not found.project.strip() or found.project == "*"):
        raise ConfigError(f"{where}: project is {found.project!r}: give it a name, or leave it out")
    check_thresholds(found.decision_thresholds, where)
    check_chance_curves(found.chance_curves, where)
    check_base_rates(found.base_rates, f"{where}: [base_rates]")
    if not (found.costs.blame > 0 and found.costs.miss > 0 and math.isfinite(found.costs.blame + found.costs.miss)):
        raise ConfigError(f"{where}: [costs]: blame and miss must be above 0")
    check_kinds(found.bands, f"{where}: [bands]")
    price = _application_price(found.application_price, where)
    metrics = tuple(custom_metrics.resolved_in(name, folder) for name in found.metrics)
    names = custom_metrics.names_in(metrics)
    prompts, guidance = (folder / one if one else None for one in (found.llm.prompts, found.llm.guidance))
    own_rules = tuple(_own_rule(rule, f"{where}: rules[{i}]", names) for i, rule in enumerate(rules, start=1))
    return replace(
        found,
        metrics=metrics,
        judge=found.judge or ("embedded",),
        # a folder is meant beside the file that names it
        reader=str(folder / found.reader) if found.reader and (folder / found.reader).exists() else found.reader,
        application_price=price,
        llm=replace(found.llm, prompts=prompts, guidance=guidance),
        store=found.store if found.store is None or "://" in found.store else str(folder / found.store),
        thresholds=thresholds_with(_numbers(found.thresholds, "thresholds", where, names)),
        fail_below=_numbers(found.fail_below, "fail_below", where, names),
        fail_above=_numbers(found.fail_above, "fail_above", where, names),
        baseline=_beside(found.baseline, folder),
        fail_if_worse=_margins(found.fail_if_worse, where, names),
        at_most=_shares(found.at_most, where, [rule.name for rule in RULES + own_rules]),
        rules=RULES + own_rules,
    )


def named_numbers(items: Collection[str], flag: str, also: Collection[str] = ()) -> dict[str, float]:
    """`["groundedness=0.8"]` → `{"groundedness": 0.8}`; `also` are metrics beside those that are known anyway."""
    table: dict[str, float] = {}
    for item in items:
        name, _, value = item.rpartition("=")
        if name.strip() in table:
            raise ConfigError(f"{flag} names {name.strip()} twice: give one number")
        try:
            table[name.strip()] = float(value)
        except ValueError:
            raise ConfigError(f"{flag} {item!r}: write it as metric=number, for example groundedness=0.8") from None
    return _numbers(table, flag, "the command line", also)


def _application_price(given: float | str | None, where: str) -> float | None:
    """US dollars for a million prompt tokens: as they stand, or from the list of prices."""
    if isinstance(given, str):
        listed = price_of(given, LLMOptions()) if ":" in given else None
        if listed is None:
            raise ConfigError(
                f"{where}: application_price: the price of {given!r} isn't known: give US dollars for a million prompt "
                "tokens, for example 0.25, or PROVIDER:MODEL that the list of prices has"
            )
        return listed.tokens_in
    if given is not None and not 0 <= given < math.inf:
        raise ConfigError(f"{where}: application_price is {given:g}: give a number of US dollars from 0 on")
    return given


def _load(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be read: {why_unreadable(error)}") from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} can't be read: {error}") from error
    except RecursionError:
        raise ConfigError(f"{path} can't be read: it is nested too deeply") from None


def _tools(project: Path) -> Mapping[str, Any]:
    """The table `[tool]` of a `pyproject.toml`, empty if it has none."""
    return _table(_load(project), "tool", str(project))


def _table(table: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    value = table.get(key, {})
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: {key!r} must be a table, not {value!r}")
    return value


def _checked(table: dict[str, Any], where: str) -> tuple[Settings, tuple[_Rule, ...]]:
    rest = dict(table)
    rules = {"rules": rest.pop("rules", [])}
    if isinstance(rest.get("judge"), str):
        rest["judge"] = [rest["judge"]]
    llm = rest.get("llm")
    headers = llm.get("headers", {}) if isinstance(llm, dict) else {}
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise ConfigError(f"{where}: llm.headers must be a table of texts")  # without the values, which may be secret
    try:
        return validated(Settings, rest, "setting"), validated(_Rules, rules, "setting").rules
    except Invalid as error:
        raise ConfigError(f"{where}: {error}") from None
    except ConfigError as error:
        raise ConfigError(f"{where}: [llm]: {error}") from None  # the only table that checks more than types


def _numbers(table: Mapping[str, float], key: str, where: str, also: Collection[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for given, value in table.items():
        name = _known_metric(given, also, f"{where}: {key}", " (one of your own: put it under `metrics`)")
        # what isn't a number would pass every gate, and what lies beyond the range would never be reached
        built_in = metric_named(name)
        low, high = built_in.range if built_in else (-1.0, 1.0)
        if not low <= value <= high:
            raise ConfigError(f"{where}: {key}: {given} is {value:g}: give a number between {low:g} and {high:g}")
        if name in found:
            other = next(one for one in table if _metric(one, also) == name)
            raise ConfigError(f"{where}: {key} names {name} twice, as {other} and as {given}: give one number")
        found[name] = value
    return found


def _margins(table: Mapping[str, float], where: str, also: Collection[str]) -> dict[str, float]:
    """`[fail_if_worse]`: metrics, or slices of them, each with how much worse it may be."""
    found: dict[str, float] = {}
    for given, margin in table.items():
        name, at, rest = given.partition("@")
        metric = _known_metric(name, also, f"{where}: fail_if_worse")
        if not 0 <= margin < math.inf:
            raise ConfigError(f"{where}: fail_if_worse: {given} is {margin:g}: give a number from 0 on")
        found[metric + at + rest] = margin
    return found


def _shares(table: Mapping[str, float], where: str, rules: Collection[str]) -> dict[str, float]:
    """`[at_most]`: rules, each with the largest share of cases that may have it."""
    for given, share in table.items():
        rule = given.removesuffix(":sure").removesuffix(":expected")
        if rule not in rules:
            near = near_names(rule, rules)
            hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(rules)}"
            raise ConfigError(f"{where}: at_most: no rule is called {rule!r}: {hint}")
        if not 0 <= share <= 1:
            raise ConfigError(f"{where}: at_most: {given} is {share:g}: give a share from 0 to 1")
    return dict(table)


def _beside(named: str | None, folder: Path) -> str | None:
    """A baseline file is meant beside the settings that name it; a run stays as it is."""
    if named is None or named == "last" or all(part.strip().isdecimal() for part in named.split(",")):
        return named
    return str(folder / named)


def _metric(name: str, also: Collection[str]) -> str | None:
    """What a metric is called in every table: a built-in one, or one of these; None if it is none."""
    built_in = metric_named(name)
    if built_in:
        return built_in.name
    return name if name in also else None


def _known_metric(name: str, also: Collection[str], place: str, hint: str = "") -> str:
    """The same, of one that must be known."""
    found = _metric(name, also)
    if found is None:
        known = list(dict.fromkeys([*(m.name for m in METRICS), *OTHER_NAMES, *also]))
        raise ConfigError(f"{place}: {unknown_metric(name, known)}{hint}")
    return found


def _own_rule(table: _Rule, where: str, also: Collection[str]) -> Rule:
    given = asdict(table)
    empty = [key for key in ("name", "when", "component", "reading") if not given[key]]
    if empty:
        raise ConfigError(f"{where} has an empty {', '.join(empty)}")
    when: dict[str, RuleLevel] = {}
    for name, level in table.when.items():
        metric = _metric(name, also)
        if metric is None:
            raise ConfigError(
                f'{where}: when = {{ {name} = "{level}" }}: write a metric\'s name = "low", "high" or "any"'
            )
        when[metric] = level
    # what a metric of one's own tells apart isn't known before it is loaded
    unloaded = {*table.when, *(table.quotes or ())} & set(also)
    known = {kind for m in METRICS for kind in m.kinds}
    for kind in table.faults:
        if kind not in known and not unloaded:
            raise ConfigError(f"{where}: no bad component is called {kind!r}: there are {', '.join(sorted(known))}")
    return Rule(**(given | {"when": when}), origin="yours")
