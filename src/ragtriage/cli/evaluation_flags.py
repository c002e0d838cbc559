"""The flags of an evaluation: judge, settings and store; metrics, thresholds, required means; processes or machines."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ragtriage.cli.console import tell
from ragtriage.cli.flags import parse_numbers, store_address
from ragtriage.cli.spending import spending
from ragtriage.config import Settings, find_settings, named_numbers, read_settings
from ragtriage.core.errors import ConfigError
from ragtriage.judges.build import build_judge
from ragtriage.judges.decision_thresholds import check_base_rates
from ragtriage.judges.judge_config import JudgeConfig, Matching, Protocol
from ragtriage.judges.judge_names import EMBEDDED, is_local, with_readers
from ragtriage.judges.llm.models import takes_base_url
from ragtriage.judges.llm.options import Price
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.metrics import custom_metrics, metrics_named, renamed_metrics
from ragtriage.metrics.optional import default_groups
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.gate import Gates
from ragtriage.store import open_store


@dataclass(frozen=True)
class JudgeFlags:
    """What was given on the command line; None and empty where it wasn't."""

    store: str | None = None
    config: Path | None = None
    judge: list[str] | None = None
    jury: Literal["majority"] | None = None
    cascade: str | None = None
    any_language: bool = False
    matching: Matching | None = None
    protocol: Protocol | None = None
    base_rate: list[str] | None = None
    base_url: str | None = None
    header: list[str] | None = None
    embeddings: str | None = None
    prompts: Path | None = None
    guidance: Path | None = None
    batch_size: int | None = None
    concurrency: int | None = None
    timeout: float | None = None
    rpm: int | None = None
    tpm: int | None = None
    budget: float | None = None
    max_requests: int | None = None
    price: str | None = None
    reply: Literal["auto", "schema", "text"] | None = None
    batch_api: bool = False
    wait: bool = False

    def settings(self, thresholds: Collection[str] | None = None, metrics: str | None = None) -> Settings:
        """The settings of a file (the nearest one if none was given), with thresholds from flags put over its own.

        Args:
            thresholds: the values of `--threshold`.
            metrics: the value of `--metrics`; custom metrics that it names may have a threshold.
        """
        settings = read_settings(self.config) if self.config else find_settings(Path.cwd())
        custom = custom_metrics.names_in([*(metrics or "").split(","), *settings.metrics])
        given = named_numbers(thresholds or (), "--threshold", custom)
        return replace(settings, thresholds={**settings.thresholds, **given})

    def session(self, settings: Settings) -> JudgeSession:
        """What the command's judges share, with names, keys and prices checked."""
        return JudgeSession.of(judge_config(self, settings))

    def store_address(self, settings: Settings) -> str | None:
        """Where the store is; None for the default."""
        return store_address(self.store, settings)

    @contextmanager
    def opened(
        self, settings: Settings | None = None, session: JudgeSession | None = None, *, tell_spending: bool = False
    ) -> Iterator[Judge]:
        """The judge, ready to be asked; what a model answers is kept in the store, so that the same command continues.

        Args:
            settings: if they are known already.
            session: if there is one already.
            tell_spending: whether to print what was spent, however the command ends.
        """
        settings = settings or self.settings()
        session = session or self.session(settings)
        if not session.config.paid:
            free = build_judge(session)
            free.open()
            yield free.judge
            return
        try:
            with open_store(self.store_address(settings)) as store:
                built = build_judge(session, store.answers(), free=store.free_answers(), tickets=store.tickets())
                built.open()
                yield built.judge
                built.close()
        finally:
            if tell_spending and session.ledger.requests:
                tell(f"spent: {spending(session.ledger, tokens=True)}")


_MODEL_OPTIONS = (
    "base_url", "embeddings", "prompts", "guidance", "batch_size", "concurrency", "timeout", "rpm", "tpm", "budget",
    "max_requests", "reply",
)  # fmt: skip
"""Flags that are fields of `LLMOptions` as they stand."""
_VERDICTS = frozenset({"prompts", "guidance", "batch_size", "reply"})
"""Those that say how verdicts are asked for, which embeddings don't give."""


def judge_config(flags: JudgeFlags, settings: Settings) -> JudgeConfig:
    """Who judges: flags before the settings, these before the defaults."""
    given: dict[str, Any] = {name: getattr(flags, name) for name in _MODEL_OPTIONS}
    given |= {
        "headers": _headers(flags.header) if flags.header else None,
        "price": Price.parse(flags.price) if flags.price else None,
    }
    given = {name: value for name, value in given.items() if value is not None}
    options = replace(settings.llm, **given)
    names = tuple(flags.judge) if flags.judge else tuple(with_readers(one, settings.reader) for one in settings.judge)
    if all(is_local(name) for name in names):
        for setting in given:
            if flags.embeddings in {None, EMBEDDED} or setting in _VERDICTS:
                flag = setting.replace("headers", "header").replace("_", "-")
                raise ConfigError(f"--{flag} is for language models only: name one with --judge PROVIDER:MODEL")
        if flags.embeddings is None and options.embeddings != EMBEDDED:
            # those of a file are kept for when a model judges: the free judge asks nobody unless this command says so
            options = replace(options, embeddings=EMBEDDED)
    if flags.base_url is None and not any(takes_base_url(name) for name in (*names, options.embeddings)):
        options = replace(options, base_url=None, headers=options.headers if flags.header else {})
    inherited = None if flags.judge else settings
    if (
        flags.base_rate
        and not any(is_local(name) for name in names)
        and flags.cascade is None
        and not (inherited and inherited.cascade)
    ):
        raise ConfigError("--base-rate is for the embedded judge: a model's verdicts have no chances to move")
    cascade = flags.cascade if flags.cascade is not None else inherited.cascade if inherited else None
    first = EMBEDDED if flags.judge else with_readers(EMBEDDED, settings.reader)
    if cascade is not None and len(names) > 1 and is_local(names[0]):
        first, names = names[0], names[1:]  # the first judge of a cascade may be named too
    return JudgeConfig(
        names,
        flags.jury or (inherited.jury if inherited else None),
        cascade,
        flags.batch_api,
        flags.wait,
        flags.any_language or settings.any_language,
        options,
        settings.decision_thresholds,
        settings.bands,
        flags.matching or settings.matching,
        settings.base_rates | _base_rates(flags.base_rate),
        settings.label_chances,
        first,
        flags.protocol or "shared",
    )


def _base_rates(items: list[str] | None) -> dict[str, float]:
    """`KIND=SHARE` → kind and share."""
    found = parse_numbers(items, "--base-rate", "supported=0.9", float)
    check_base_rates(found, "--base-rate")
    return found


def _headers(items: list[str]) -> dict[str, str]:
    """`NAME=VALUE` → name and value; a value is never repeated in a message."""
    found: dict[str, str] = {}
    for item in items:
        name, sign, value = item.partition("=")
        if not sign or not name.strip():
            raise ConfigError("--header: write it as NAME=VALUE, for example X-Team=search")
        if name.strip().lower() in map(str.lower, found):
            raise ConfigError(f"--header names {name.strip()} twice: give one value")
        found[name.strip()] = value
    return found


Limits = list[str] | None


@dataclass(frozen=True, slots=True)
class RequestedMetrics:
    """What is computed of one file, and which means it must reach."""

    config: EvaluationConfig
    gates: Gates
    default_groups: tuple[str, ...] = ()
    """The groups that are computed although nobody named them; empty where somebody named metrics."""
    notes: tuple[str, ...] = ()
    """What is computed under another name than it was asked for."""


def requested_metrics(
    settings: Settings,
    metrics: str | None,
    fields: Collection[str],
    *,
    paid: bool,
    fail_below: Limits = None,
    fail_above: Limits = None,
) -> RequestedMetrics:
    """The metrics that were named or, where none was, those that the fields of a file allow. Loads custom metrics.

    Args:
        settings: the user's.
        metrics: the value of `--metrics`.
        fields: of the file.
        paid: whether the judge costs money; then optional groups that ask it are left out.
        fail_below: the values of `--fail-below`.
        fail_above: the values of `--fail-above`.
    """
    unnamed = metrics is None and not settings.metrics
    groups = ("thelma", *default_groups(fields, paid=paid)) if unnamed else ()
    config = evaluation_config(settings, metrics, groups)
    computed = {m.name for m in config.metrics}
    gates = Gates(
        {**settings.fail_below, **named_numbers(fail_below or (), "--fail-below", computed)},
        {**settings.fail_above, **named_numbers(fail_above or (), "--fail-above", computed)},
    )
    gates.check(config.metrics)
    return RequestedMetrics(config, gates, groups, renamed_metrics(_named(settings, metrics)))


def evaluation_config(settings: Settings, metrics: str | None, default: Collection[str] = ()) -> EvaluationConfig:
    """Metrics, thresholds and rules. Loads custom metrics.

    Args:
        settings: the user's.
        metrics: the value of `--metrics`.
        default: what to compute if neither names metrics.
    """
    names = _named(settings, metrics) or default
    if metrics is not None and not any(name.strip() for name in names):
        raise ConfigError(
            f"--metrics {metrics!r} names no metric: separate names by commas, or leave it out for thelma"
        )
    for rule in (rule for rule in settings.rules if rule.origin == "yours"):
        for name in rule.when:
            if name not in settings.thresholds:
                raise ConfigError(
                    f"the rule {rule.name!r} reads {name}, which is neither low nor high without a threshold: set one "
                    f"under [thresholds], or with --threshold {name}=…"
                )
    return EvaluationConfig(
        metrics_named(names), settings.thresholds, settings.rules, settings.costs, settings.prompt_price
    )


def _named(settings: Settings, metrics: str | None) -> Collection[str]:
    """The names that a flag or, without it, the settings give."""
    return metrics.split(",") if metrics is not None else settings.metrics


_SHARE = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")
_LOCAL = re.compile(r"local(?::([0-9]{1,4}))?")


@dataclass(frozen=True)
class ScaleFlags:
    """What was given on the command line."""

    on: str | None = None
    out: str | None = None
    share: str | None = None
    strict: bool = False
    texts: bool = False
    into_store: bool = False

    def refuse(self) -> None:
        """Refuse what means something only with `--on`."""
        given = {
            "--out": self.out, "--share": self.share, "--strict": self.strict, "--texts": self.texts,
            "--into-store": self.into_store,
        }  # fmt: skip
        if found := [flag for flag, value in given.items() if value]:
            raise ConfigError(f"{found[0]} goes with --on: say where to evaluate, for example --on local:4")

    def where(self) -> tuple[Literal["local", "ray"], int | None]:
        """Processes of this machine or Ray, and how many; None leaves it to the cluster."""
        text = (self.on or "").strip()
        if text == "ray" or re.fullmatch(r"ray:[1-9][0-9]{0,5}", text):
            return "ray", int(text[4:]) if text != "ray" else None
        found = _LOCAL.fullmatch(text)
        count = int(found[1]) if found and found[1] else os.cpu_count() or 1
        if not found or count < 1:
            raise ConfigError(f"--on {self.on}: write local:N for N processes of this machine, or ray for a cluster")
        return "local", count

    def part(self) -> tuple[int, int] | None:
        """Which of how many commands with the same record set this is."""
        if self.share is None:
            return None
        found = _SHARE.fullmatch(self.share.strip())
        which, of = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= which <= of:
            raise ConfigError(f"--share {self.share}: write WHICH/HOW MANY, from 1/16 to 16/16 for example")
        return which, of

    def needs_out(self) -> str:
        """Where the record set goes."""
        if self.out is None:
            raise ConfigError("--on needs --out: the folder of the record set, a path or URL, for example run-42/")
        return self.out


def refuse_beside(given: Mapping[str, object]) -> None:
    """Refuse flags that can't be given with `--on`.

    Args:
        given: flag → its value; none where it wasn't given.

    Raises:
        ConfigError: one was; says what to do instead.
    """
    for flag, value in given.items():
        if value:
            raise ConfigError(f"{flag} can't be given with --on: {_INSTEAD[flag]}")


_INSTEAD: Mapping[str, str] = {
    "--app": "ask the application first, ragtriage collect, then evaluate its file",
    "--collected": "ask the application first, ragtriage collect, then evaluate its file",
    "--repeat": "evaluate again with another --out, and compare the two",
    "--batch-api": "a batch API takes all requests of one process; leave out --on, or --batch-api",
    "--limit": "it chooses rows of one file that is read as a whole; leave out --on, or write the rows to a file",
    "--sample": "it chooses rows of one file that is read as a whole; leave out --on, or write the rows to a file",
    "--dry-run": "plan a sample of the rows, ragtriage plan",
    "--baseline": "compare when it is done, ragtriage compare BASE OUT",
    "--fail-if-worse": "compare when it is done, ragtriage compare BASE OUT --fail-if-worse …",
    "--at-most": "compare when it is done, ragtriage compare BASE OUT --at-most …",
    "--markdown": "compare when it is done, ragtriage compare BASE OUT --markdown …",
    "--junit": "compare when it is done, ragtriage compare BASE OUT --junit …",
    "-": "give a file, a folder, a glob or a URL, which every process can read",
}
"""Flag → what to do in its place."""
