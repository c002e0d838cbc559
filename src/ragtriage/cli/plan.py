"""`ragtriage plan`: what an evaluation of a file would take, before a request is made."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ragtriage.cli.judging_options import JudgeFlags, choice_from, with_judge_flags
from ragtriage.cli.opening import readable, say_carried, say_columns, say_rejected
from ragtriage.cli.options import (
    CitationMark,
    Columns,
    Config,
    Format,
    Limit,
    MaxSources,
    MaxText,
    Metrics,
    Sample,
    Seed,
    SplitSources,
    Where,
    pairs,
    place_of,
    settings_from,
)
from ragtriage.cli.wanting import Wanted, Wanting
from ragtriage.core.case import Case
from ragtriage.core.errors import InputError
from ragtriage.diagnosis import needs_of
from ragtriage.evaluation.estimate import EvaluationEstimate, estimate_evaluation, sum_estimates
from ragtriage.judges.build import ConfiguredJudge
from ragtriage.judges.config import JudgeConfig
from ragtriage.judges.protocol import Judge
from ragtriage.judges.wrappers import AnswerMemory, Cascade, InMemory
from ragtriage.readers import CaseFile, Limits, open_cases
from ragtriage.report.plan_document import plan_document
from ragtriage.report.terminal import print_document
from ragtriage.runs.execute import SelectedRows, Selection, Survey
from ragtriage.runs.tally import Criteria
from ragtriage.store import open_store
from ragtriage.store.connection import place


@with_judge_flags
def plan(  # noqa: PLR0913  # one parameter a flag
    file: Annotated[str, typer.Argument(help="JSONL, JSON, CSV or Parquet; - is JSONL on standard input.")],
    *,
    judging: JudgeFlags = JudgeFlags(),  # noqa: B008  # frozen
    metrics: Metrics = None,
    mapping: Columns = None,
    split_sources: SplitSources = None,
    citation_mark: CitationMark = None,
    file_format: Format = None,
    limit: Limit = None,
    sample: Sample = None,
    seed: Seed = 0,
    repeat: Annotated[int, typer.Option(min=1, help="For N evaluations.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    max_text: MaxText = 1_000_000,
    max_sources: MaxSources = 1_000,
    store: Where = None,
    config: Config = None,
) -> None:
    """Tell what evaluating FILE would take: requests, tokens, price and time.

    Nothing is asked and nothing is stored. Answers that the store has are left out, so the plan of a run that was cut
    off tells what is left. Exit codes: 0; 2 usage or input; 3 the store can't be read.
    """
    settings = settings_from(config, None, metrics)
    chosen = ConfiguredJudge(choice_from(judging, settings))
    with readable(file) as path:
        cases = open_cases(
            path,
            mapping={**settings.map, **pairs(mapping or (), "--map")},
            split_sources=split_sources,
            limits=Limits(max_text=max_text, max_sources=max_sources),
            format=file_format,
            citation_mark=settings.citation_mark if citation_mark is None else citation_mark,
        )
        wanted = Wanting(settings, metrics, chosen.paid).of(cases.mapping)
        say_columns(file, cases)
        selection = Selection(limit, sample, seed)
        with answers_in(place_of(store, settings)) as memory:
            show_plan(file, cases, chosen, memory, wanted, selection, times=repeat, as_json=as_json)


def show_plan(
    file: str,
    cases: CaseFile,
    chosen: ConfiguredJudge,
    memory: AnswerMemory,
    wanted: Wanted,
    selection: Selection,
    *,
    times: int = 1,
    as_json: bool = False,
) -> None:
    """Print what evaluating the selected rows of a file would take, `times` times: one JSON object, or a table.

    Raises:
        InputError: no row can be used.
        StoreError: the memory can't be read.
    """
    notes = _notes(chosen.config)
    if chosen.config.batch_api:  # it takes the same requests, but wants a place for its tickets
        chosen = ConfiguredJudge(replace(chosen.config, batch_api=False, wait=False))
    found = []
    for trial in range(times):
        judge = chosen.judge(memory, trial=trial)
        estimate, survey = planned(
            cases, judge, wanted.criteria, selection, file, concurrency=chosen.concurrency, memory=memory, trial=trial
        )
        if not trial:
            say_rejected(survey)
            say_carried(survey, wanted.by_default)
        found.append(estimate)
    print_planned(sum_estimates(found), file, judge.name(), as_json=as_json, notes=notes)


def print_planned(
    estimate: EvaluationEstimate, file: str, judge: str, *, as_json: bool, notes: Sequence[str] = ()
) -> None:
    """A plan on standard output: one JSON object, or a table.

    Args:
        estimate: what was found out.
        file: as the user named it.
        judge: its name.
        as_json: which of the two.
        notes: what else is to be known about the numbers.
    """
    if as_json:
        found = {"file": file, "judge": judge, **estimate.as_json(), "notes": list(notes)}
        sys.stdout.write(json.dumps(found) + "\n")
    else:
        shown = Path(file).name if Path(file).is_absolute() else file
        print_document(Console(), plan_document(estimate, input=shown, judge=judge, notes=notes))


def planned(  # noqa: PLR0913  # what an evaluation takes, and how exactly it is to be known
    cases: CaseFile,
    judge: Judge,
    criteria: Criteria,
    selection: Selection,
    name: str,
    *,
    concurrency: int = 16,
    memory: AnswerMemory | None = None,
    trial: int = 0,
    sample: int = 50,
) -> tuple[EvaluationEstimate, Survey]:
    """What evaluating the selected rows of a file would take, and which of its rows can be used.

    Args:
        cases: the file.
        judge: who would be asked.
        criteria: which metrics, and which rules need more than they do.
        selection: which rows.
        name: the file, as the user named it.
        concurrency: how many requests would be in flight.
        memory: what the evaluation would remember answers by.
        trial: which repetition.
        sample: on how many cases to find out which metric costs most; 0 to leave it.

    Raises:
        InputError: no row can be used.
        StoreError: the memory can't be read.
    """
    survey = Survey()
    names = {m.name for m in criteria.metrics}
    rows = SelectedRows(cases, selection)

    def estimated(by: Judge) -> EvaluationEstimate:
        return estimate_evaluation(
            rows.cases(survey.reject) if survey.selected else _counted(rows.cases(survey.reject), survey),
            by,
            metrics=criteria.metrics,
            also=needs_of(rule for rule in criteria.rules if names >= set(rule.when)),
            concurrency=concurrency,
            sample=sample,
            memory=memory,
            trial=trial,
        )

    estimate = estimated(judge)
    if not survey.selected:
        first = f"; the first: {survey.first_rejected[0]}" if survey.first_rejected else ""
        raise InputError(f"{name}: none of its {survey.rejected} rows can be used{first}")
    if isinstance(judge, Cascade):
        best = estimated(judge.at_best())
        estimate = replace(estimate, least=best.least, seconds=(best.seconds[0], estimate.seconds[1]))
    return estimate, survey


@contextmanager
def answers_in(where: str | None) -> Iterator[AnswerMemory]:
    """The answers of a store; none where there is no store yet, and none is made.

    Raises:
        StoreError: it can't be opened.
    """
    address = place(where)
    if "://" not in address and not Path(address).exists():
        yield InMemory()
        return
    with open_store(where, create=False) as opened:
        yield opened.answers()


def _counted(cases: Iterable[Case], survey: Survey) -> Iterator[Case]:
    for case in cases:
        survey.select(case)
        yield case


def _notes(choice: JudgeConfig) -> list[str]:
    """What this judge makes different from the numbers."""
    notes = []
    if choice.cascade is not None:
        notes.append("At least: if the embedded judge decides all that it may; at most: if it decides nothing.")
    if choice.batch_api:
        notes.append("By the batch API it costs about half of this price, and takes up to a day.")
    return notes
