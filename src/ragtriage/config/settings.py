"""All settings, each once: its key in the file, its type and default, its bounds, its flag and the flag's help.

The fields of `Settings` and `LLMOptions` are the keys of the file. What isn't a `setting` has no flag.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from ragtriage.core.errors import ConfigError
from ragtriage.core.validation import STRICT, Setting, setting, settings_of
from ragtriage.diagnosis.rules import COSTS, RULES, Costs, Rule, thresholds_with
from ragtriage.judges.decision_thresholds import DecisionThreshold, LabelChance
from ragtriage.judges.judge_config import EMBEDDED, JudgeConfig, Matching, is_local, with_hub_model
from ragtriage.judges.llm.models import takes_base_url
from ragtriage.judges.llm.options import LLMOptions


@dataclass(frozen=True, slots=True)
class Settings:
    """What a user has set; the fields are the keys of the file, checked by their types."""

    metrics: tuple[str, ...] = setting(
        "Comma-separated names of metrics or groups; -name leaves one out; FILE.py:NAME is your own [default: thelma, "
        "and the free metrics whose fields the file has]",
        default=(),
    )
    judge: tuple[str, ...] = setting(
        "embedded, embedded+reader:NAME or provider:model; may be repeated for a jury", default=(EMBEDDED,)
    )
    """In a file one needs no list."""
    reader: str | None = None
    """A hub model beside the embedded judge: a name of `ragtriage readers`, or a folder."""
    jury: Literal["majority"] | None = setting("How several judges reach a verdict: majority")
    cascade: str | None = setting(
        "The embedded judge decides what it is sure of: shipped, or the band of scores to pass on, LOW:HIGH"
    )
    llm: LLMOptions = field(default_factory=LLMOptions)
    store: str | None = setting(
        "Folder or database URL of the store [default: $RAGTRIAGE_STORE, else .ragtriage]",
        empty="name a folder or the address of a database, or leave it out",
    )
    project: str | None = setting(
        "Whose runs are meant: a project's, or '*' for all [default: the setting, else on a server the folder's name]",
    )
    thresholds: Mapping[str, float] = setting(
        "metric=value: where a score is just good enough; may be repeated",
        default=lambda: thresholds_with({}),
        parameter="threshold",
    )
    """Complete: defaults and the user's own."""
    fail_below: Mapping[str, float] = setting(
        "metric=value: exit with 1 if the mean is below; may be repeated", default=dict
    )
    fail_above: Mapping[str, float] = setting(
        "The same where lower is better: exit with 1 if the mean is above", default=dict
    )
    baseline: str | None = setting(
        "Compare with a run or a baseline file, for --fail-if-worse [default: that of the settings]",
        empty="name a run or a file, or leave it out",
    )
    fail_if_worse: Mapping[str, float] = setting(
        "metric or metric=margin: exit with 1 if it is worse than the base by more than the margin [default: 0]; "
        "metric@TAG:VALUE reads a slice; may be repeated",
        default=dict,
    )
    at_most: Mapping[str, float] = setting(
        "rule=share, for example unsupported_claims=2%: exit with 1 if more cases have the finding; rule:sure counts "
        "sure ones; rule:expected=30% reads the expected number of cases and its interval; may be repeated",
        default=dict,
    )
    map: Mapping[str, str] = setting(
        "field=column, for example query=question; a path (docs[*].text) or several (context_1,context_2) are allowed, "
        "and rows=PATH names the list of rows; may be repeated",
        default=dict,
        parameter="mapping",
        names=("--map",),
    )
    rules: tuple[Rule, ...] = RULES
    """The built-in rules, then the user's own."""
    any_language: bool = setting("Also judge languages that the judge was not measured on", default=False)
    matching: Matching = setting("soft counts every verdict with its chance, binary as 1 or 0", default="soft")
    base_rates: Mapping[str, float] = setting(
        "kind=share: the share of yes to expect, for example supported=0.9; for the embedded judge; may be repeated",
        default=dict,
        parameter="base_rate",
    )
    costs: Costs = COSTS
    """From which probability on a fault is shown."""
    application_price: float | str | None = None
    """What the application's own model takes for a million prompt tokens, in US dollars, or `PROVIDER:MODEL` of the
    list of prices; read, it is the number. Waste is shown in money then."""
    citation_mark: str | None = setting(
        "Regular expression for citation marks of your own; its first group, in parentheses, names the source "
        "[default: [1] and similar marks]",
    )
    decision_thresholds: Mapping[str, DecisionThreshold] = field(default_factory=dict)
    """Kind of question → where its verdicts change, for the judge that is named there."""
    label_chances: Mapping[str, LabelChance] = field(default_factory=dict)
    """Kind of question → what labels say of the verdicts of a judge that states no probability."""
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
    """Who judges: what is given for one command comes before the settings, these before the defaults.

    Args:
        settings: of the file.
        given: setting → value, only those that a command line or a test session names.
    """
    models = {one.name: given[one.name] for one in fields(LLMOptions) if one.name in given}
    options = replace(settings.llm, **models)
    inherited = Settings() if "judge" in given else settings
    names = (
        given["judge"] if "judge" in given else tuple(with_hub_model(one, settings.reader) for one in settings.judge)
    )
    if all(is_local(name) for name in names):
        for one in settings_of(LLMOptions):
            if one.name in models and (models.get("embeddings", EMBEDDED) == EMBEDDED or one.name in _VERDICTS):
                raise ConfigError(f"{one.flag} is for language models only: name one with --judge PROVIDER:MODEL")
        if "embeddings" not in models:
            # those of a file are kept for when a model judges: the free judge asks nobody unless this command says so
            options = replace(options, embeddings=EMBEDDED)
    if "base_url" not in models and not any(takes_base_url(name) for name in (*names, options.embeddings)):
        options = replace(options, base_url=None, headers=models.get("headers", {}))
    cascade = given.get("cascade", inherited.cascade)
    if "base_rates" in given and not any(is_local(name) for name in names) and not cascade:
        raise ConfigError("--base-rate is for the embedded judge: a model's verdicts have no chances to move")
    first = with_hub_model(EMBEDDED, inherited.reader)
    if cascade is not None and len(names) > 1 and is_local(names[0]):
        first, names = names[0], names[1:]  # the first judge of a cascade may be named too
    return JudgeConfig(
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
        settings.label_chances,
        first,
        given.get("protocol", "shared"),
    )
