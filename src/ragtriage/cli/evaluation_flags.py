"""The flags of an evaluation: metrics, thresholds, required means; many processes, and what they exclude."""

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from ragtriage.config import Settings, named_numbers
from ragtriage.core.errors import ConfigError
from ragtriage.metrics import metrics_named, renamed_metrics
from ragtriage.metrics.names import default_groups
from ragtriage.monitor.outputs.destinations import DESTINATIONS
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.summary import Gates

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

    Where the judge is paid, optional groups that ask it are left out.
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
    """Metrics (`default` if neither a flag nor the settings name some), thresholds and rules. Loads custom metrics."""
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
        """Which of how many commands with the same run in a folder this is."""
        if self.share is None:
            return None
        found = _SHARE.fullmatch(self.share.strip())
        which, of = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= which <= of:
            raise ConfigError(f"--share {self.share}: write WHICH/HOW MANY, from 1/16 to 16/16 for example")
        return which, of

    def needs_out(self) -> str:
        """Where the folder goes."""
        if self.out is None:
            raise ConfigError("--on needs --out: the folder of the run, a path or URL, for example run-42/")
        return self.out


def refuse_beside(given: Mapping[str, object]) -> None:
    """Refuse flags that can't be given with `--on` (flag → its value), and say what to do instead."""
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
    "--baseline": "compare when it is done, ragtriage compare BASE OUT",
    "--fail-if-worse": "compare when it is done, ragtriage compare BASE OUT --fail-if-worse …",
    "--at-most": "compare when it is done, ragtriage compare BASE OUT --at-most …",
    "--markdown": "compare when it is done, ragtriage compare BASE OUT --markdown …",
    "--junit": "compare when it is done, ragtriage compare BASE OUT --junit …",
    "several files": "give a folder, or a glob in quotes",
    **dict.fromkeys(
        ("--scores", *(f"--{name}" for name in DESTINATIONS)),
        "put the records into the store, --into-store, then send them, ragtriage send RUN",
    ),
    "-": "give a file, a folder, a glob or a URL, which every process can read",
}
"""Flag → what to do in its place."""
