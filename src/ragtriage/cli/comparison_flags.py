"""The flags of a comparison: gates, metrics, and the files that are written of it."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ragtriage.cli.console import tell
from ragtriage.cli.input_files import check_output
from ragtriage.config import Settings, named_numbers
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.validation import near_names
from ragtriage.metrics import GROUPS, metric_named
from ragtriage.report.comparison_files import write_comparison_junit, write_comparison_markdown
from ragtriage.report.comparison_page import quotes_of, write_comparison_page
from ragtriage.runs.compare.compare import Chosen
from ragtriage.runs.compare.comparison import Comparison
from ragtriage.runs.compare.gates import CompareGates, share_limits, worse_limits


@dataclass(frozen=True)
class GateFlags:
    """Gates that compare two sides, and that count findings."""

    fail_if_worse: list[str] | None = None
    at_most: list[str] | None = None
    cant_tell: Literal["warn", "fail"] = "warn"

    def gates(
        self,
        settings: Settings,
        metrics: Collection[str],
        *,
        fail_below: list[str] | None = None,
        fail_above: list[str] | None = None,
    ) -> CompareGates:
        """All gates of a command, with those of the settings; flags go first. Built-in metrics need not be named."""
        return CompareGates(
            {**settings.fail_below, **named_numbers(fail_below or (), "--fail-below", metrics)},
            {**settings.fail_above, **named_numbers(fail_above or (), "--fail-above", metrics)},
            worse_limits(self.fail_if_worse or (), settings.fail_if_worse),
            share_limits(self.at_most or (), settings.at_most),
            self.cant_tell == "fail",
        )


def chosen_metrics(given: str, known: Iterable[str]) -> frozenset[str]:
    """The metrics that `--metrics` names, of those that a side has."""
    there = dict.fromkeys(known)
    chosen: dict[str, None] = {}
    names = [name.strip() for name in given.split(",") if name.strip()]
    for name in names:
        bare = name.removeprefix("-")
        built_in = metric_named(bare)
        some = [m.name for m in GROUPS[bare]] if bare in GROUPS else [built_in.name if built_in else bare]
        if bare not in GROUPS and some[0] not in there:
            near = near_names(bare, [*there, *GROUPS])
            hint = f"did you mean {near[0]}?" if near else f"there is {', '.join(there)}"
            raise ConfigError(f"--metrics {bare}: no side has it: {hint}")
        if name.startswith("-"):
            chosen = {one: None for one in (chosen or there) if one not in some}
        else:
            chosen |= {one: None for one in some if one in there}
    if not chosen:
        raise ConfigError(f"--metrics {given!r} leaves no metric: separate names by commas, or leave it out")
    return frozenset(chosen)


def share_of(text: str, flag: str) -> float:
    """`0.9` or `90%` → a share."""
    try:
        value = float(text.strip().removesuffix("%")) / (100 if text.strip().endswith("%") else 1)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise ConfigError(f"{flag} {text}: give a share from 0 to 1, for example 0.9")
    return value


@dataclass(frozen=True)
class ComparisonFiles:
    """Where a comparison is written to beside the terminal."""

    markdown: Path | None = None
    junit: Path | None = None
    quote: bool = False

    @property
    def named(self) -> Mapping[str, Path]:
        """Flag → the file that it names."""
        flags = {"--markdown": self.markdown, "--junit": self.junit}
        return {flag: path for flag, path in flags.items() if path is not None}

    def beside(self, report: Path | None) -> Mapping[str, Path]:
        """The same, with a report in HTML if there is one."""
        return {"--report": report, **self.named} if report else self.named

    def write(self, found: Comparison, base: Chosen, new: Chosen, seconds: float, page: Path | None = None) -> None:
        """Write the files, and say so on standard error; `page` is one in HTML too, which always holds texts."""
        texts = quotes_of(found, base, new) if page or (self.quote and self.named) else {}
        quotes = texts if self.quote else {}
        try:
            if page:
                write_comparison_page(page, found, texts)
            if self.markdown:
                write_comparison_markdown(self.markdown, found, quotes)
            if self.junit:
                write_comparison_junit(self.junit, found, quotes, seconds)
        except OSError as error:
            raise InputError(f"{error.filename or 'a file'} can't be written: {error.strerror or error}") from error
        for flag, path in self.named.items():
            tell(f"{flag.removeprefix('--')}: {path}")
        if page:
            tell(f"report: {page}")


def check_files(named: Mapping[str, Path], read: Iterable[str | Path | None]) -> None:
    """Refuse files (by their flags) that can't be written, that are the same, or that hold what is read."""
    inputs = [one for one in read if one is not None]
    seen: dict[Path, str] = {}
    for flag, path in named.items():
        if str(path) == "-":
            raise InputError(f"{flag} -: standard output holds the results: name a file")
        for one in inputs:
            check_output(path, one, flag)
        whole = path.resolve()
        if whole in seen:
            raise InputError(f"{flag} {path}: {seen[whole]} names the same file: give each its own")
        seen[whole] = flag
        there = next(folder for folder in whole.parents if folder.exists())
        if not there.is_dir():
            raise InputError(f"{flag} {path}: can't be written, as {there} is a file")
        if not os.access(there, os.W_OK):
            raise InputError(f"{flag} {path}: can't be written: no right to write in {there}")
