"""`ragtriage trust test`: the judge tested on a user's own cases, without labels."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ragtriage.cli.exits import INCOMPLETE
from ragtriage.cli.judging_options import JudgeFlags, choice_from, with_judge_flags
from ragtriage.cli.opening import readable, say_columns
from ragtriage.cli.options import Config, Where, pairs, place_of, settings_from
from ragtriage.cli.plan import answers_in
from ragtriage.cli.progress import progress
from ragtriage.cli.trust_app import say_unusable, too_many, trust
from ragtriage.cli.trust_judging import asking, print_efforts
from ragtriage.config import Settings
from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.judges.build import ConfiguredJudge
from ragtriage.judges.protocol import Judge
from ragtriage.readers import Rejected, open_cases
from ragtriage.report.selftest_document import selftest_document
from ragtriage.report.terminal import print_document
from ragtriage.runs.execute import SelectedRows, Selection
from ragtriage.trust.effort import effort_of_stability, effort_of_writing, efforts_of
from ragtriage.trust.judge_card import fingerprints_of
from ragtriage.trust.pairs import Pair, holds_pairs, read_pairs, write_pairs
from ragtriage.trust.pairwise import score_pairs, tasks
from ragtriage.trust.perturb import Perturbed, perturb
from ragtriage.trust.selftest import SelfTest, bases_of, self_test_of
from ragtriage.trust.stability import UNSEEN, UNSEEN_BY_MODELS, reordered, stability_of
from ragtriage.trust.writing import Written, write_changes


@dataclass(frozen=True)
class _Given:
    """What a file holds."""

    cases: list[Case]
    perturbed: Perturbed
    rejected: list[Rejected]


@trust.command("test")
@with_judge_flags
def self_test(  # noqa: PLR0913  # one parameter a flag
    file: Annotated[str, typer.Argument(help="Cases (JSONL, JSON, CSV or Parquet), or pairs that -o wrote.")],
    *,
    judging: JudgeFlags,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Where the pairs go (JSONL), each with what was changed.")
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Let the judge, a language model, write paraphrases and altered claims.")
    ] = False,
    show: Annotated[int, typer.Option(min=0, help="So many failures of each metric in full.")] = 0,
    mapping: Annotated[
        list[str] | None, typer.Option("--map", help="field=column, for example query=question; may be repeated.")
    ] = None,
    split_sources: Annotated[str | None, typer.Option(help="What separates sources in one long text.")] = None,
    file_format: Annotated[
        str | None, typer.Option("--format", help="jsonl, json, csv or parquet [default: told from the file].")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="The first N usable rows only.")] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="N usable rows at random.")] = None,
    seed: Annotated[int, typer.Option(help="Which random rows, and what is drawn for the changes.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only make the pairs and say what it would take.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    store: Where = None,
    config: Config = None,
) -> None:
    """Test the judge on your own cases, without labels: does it score a version that was made worse lower?

    Every case is made worse in up to seven ways, one a metric, where that can be done safely. Exit codes: 0; 2 usage or
    input; 3 incomplete (the judge failed on a pair, or too many unusable rows).
    """
    settings = settings_from(config, None)
    chosen = ConfiguredJudge(choice_from(judging, settings))
    selection = Selection(limit, sample, seed)
    wanted = {**settings.map, **pairs(mapping or (), "--map")}
    with readable(file) as path:
        given = (
            _pairs_of(path, selection)
            if holds_pairs(path)
            else _cases_of(path, file, wanted, split_sources, file_format, selection)
        )
    made = given.perturbed
    say_unusable(given.rejected, len(given.cases))
    if out:
        _keep(made.pairs, out)
    if not made.pairs:
        raise InputError(f"{file}: no pair can be made safely of its {made.cases} cases: {_reasons(made)}")
    if dry_run:
        with answers_in(place_of(store, settings)) as memory:
            judge = chosen.judge(memory)
            efforts = efforts_of(made.pairs, judge, memory=memory)
            efforts.append(effort_of_stability(given.cases, judge, memory, unseen=_unseen(chosen)))
            if write:
                _check_writes(judge)
                efforts.insert(0, effort_of_writing(made.pairs, judge))
            print_efforts(efforts, judge.name(), as_json=as_json)
        return
    with asking(chosen, place_of(store, settings)) as asked:
        failed = False
        if write:
            _check_writes(asked)
            written = write_changes(made.pairs, asked)
            _say_written(written)
            failed = bool(written.failed)
            given = replace(given, perturbed=replace(made, pairs=written.pairs))
            if out:
                _keep(written.pairs, out)
        found, by = _judged(given, asked, settings, seed, chosen), asked.name()
        marks = fingerprints_of(asked)
    if as_json:
        whole = {"file": file, "judge": by, "fingerprints": marks, "cases": made.cases, **found.as_json()}
        sys.stdout.write(json.dumps(whole, ensure_ascii=False) + "\n")
    else:
        print_document(Console(), selftest_document(found, by, file, show))
    if failed or found.incomplete or too_many(given.rejected, len(given.cases)):
        raise typer.Exit(INCOMPLETE)


def _judged(given: _Given, judge: Judge, settings: Settings, seed: int, chosen: ConfiguredJudge) -> SelfTest:
    """Score the pairs, and look for what moves without cause."""
    window, unseen = chosen.window, _unseen(chosen)
    made = given.perturbed
    total = sum(len(task.cases) for task in tasks(made.pairs, {}))
    total += len(given.cases) + (0 if unseen else len(reordered(given.cases)))
    with progress(total, 0, word="testing") as advance:
        scored = score_pairs(made.pairs, judge, window=window, advance=advance)
        stability = stability_of(given.cases, judge, settings.thresholds, unseen=unseen, window=window,
                                 advance=advance)  # fmt: skip
    return self_test_of(scored, made.skipped, stability, seed)


def _unseen(chosen: ConfiguredJudge) -> str:
    """Why the order of the sources isn't asked about; empty for a judge that costs nothing, which is asked."""
    if not chosen.paid:
        return ""
    alone = chosen.config.models == chosen.config.names and chosen.config.cascade is None
    return UNSEEN if alone else UNSEEN_BY_MODELS


def _keep(made: Sequence[Pair], out: Path) -> None:
    write_pairs(made, out)
    sys.stderr.write(f"{len(made):,} pairs in {out}\n")


def _check_writes(judge: Judge) -> None:
    """Refuse --write where nobody can write.

    Raises:
        ConfigError: the judge is no language model.
    """
    if reason := judge.unsupported_reason("altered", "en"):
        raise ConfigError(f"--write: {reason}: name a language model with --judge PROVIDER:MODEL, or leave it out")


def _say_written(written: Written) -> None:
    """What the model wrote, and what of it was taken."""
    sys.stderr.write(f"{written.taken:,} changes written by the judge; where none was taken, the rules' stays\n")
    sys.stderr.write("".join(f"  {count:,} not taken: {why}\n" for why, count in written.refused.items()))
    if written.failed:
        sys.stderr.write(f"  {written.failed:,} failed: give the same command again\n")


def _pairs_of(path: str, selection: Selection) -> _Given:
    """A file of pairs; of the selection only the first rows count, as pairs are drawn already."""
    read = read_pairs(path)
    kept: tuple[Pair, ...] = read.pairs[: selection.limit]
    return _Given(bases_of(kept), Perturbed(len(bases_of(kept)), kept, {}), list(read.rejected))


def _cases_of(
    path: str,
    file: str,
    mapping: dict[str, str],
    split_sources: str | None,
    file_format: str | None,
    selection: Selection,
) -> _Given:
    """A file of cases, each made worse."""
    opened = open_cases(path, mapping=mapping, split_sources=split_sources, format=file_format)
    say_columns(file, opened)
    rejected: list[Rejected] = []
    cases = list(SelectedRows(opened, selection).cases(rejected.append))
    if not cases:
        first = f"; the first: {rejected[0]}" if rejected else ""
        raise InputError(f"{file}: none of its {len(rejected)} rows can be used{first}")
    return _Given(cases, perturb(cases, selection.seed), rejected)


def _reasons(made: Perturbed) -> str:
    """Why, the commonest reasons first."""
    counts: dict[str, int] = {}
    for reasons in made.skipped.values():
        for reason, count in reasons.items():
            counts[reason] = max(count, counts.get(reason, 0))
    first = sorted(counts, key=lambda reason: (-counts[reason], reason))[:3]
    return "; ".join(f"{counts[reason]} times {reason}" for reason in first)
