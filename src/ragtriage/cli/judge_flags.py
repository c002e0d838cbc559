"""The flags that choose a judge, the settings and the store, which several commands share."""

from __future__ import annotations

from collections.abc import Collection, Iterator
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
from ragtriage.judges.judge_config import EMBEDDED, JudgeConfig, Matching, Protocol, is_local, with_hub_model
from ragtriage.judges.llm.models import takes_base_url
from ragtriage.judges.llm.options import Price
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.metrics import custom_metrics
from ragtriage.store import open_answers


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
            with open_answers(self.store_address(settings)) as answers:
                built = build_judge(session, answers, free=answers.free, tickets=answers.tickets())
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
    names = tuple(flags.judge) if flags.judge else tuple(with_hub_model(one, settings.reader) for one in settings.judge)
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
    first = EMBEDDED if flags.judge else with_hub_model(EMBEDDED, settings.reader)
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
