"""`ragtriage trust agreement`: the judge held against labels or preferences of people."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ragtriage.cli.exits import INCOMPLETE
from ragtriage.cli.judging_options import JudgeFlags, choice_from, judge_from, with_judge_flags
from ragtriage.cli.opening import readable
from ragtriage.cli.options import Config, Thresholds, Where, pairs, settings_from
from ragtriage.cli.progress import progress
from ragtriage.cli.trust_app import say_unusable, too_many, trust
from ragtriage.config import Settings
from ragtriage.core.errors import ConfigError
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.build import ConfiguredJudge
from ragtriage.readers import open_cases
from ragtriage.readers.json_objects import first_line
from ragtriage.readers.problems import Rejected
from ragtriage.report.agreement_document import agreement_document
from ragtriage.report.terminal import print_document
from ragtriage.trust.agreement import Agreement, agreement_of
from ragtriage.trust.case_labels import PREFIX, held, label_columns, read_cases
from ragtriage.trust.judge_card import fingerprints_of
from ragtriage.trust.labelled import read_labelled, read_predictions, task_named
from ragtriage.trust.people import agreements, amount, held_rows, lines_of, predictions_of, write_lines

_LINES = (".jsonl", ".ndjson", ".gz")
Found = tuple[list[Agreement], Sequence[Rejected], int]
"""What was measured, the rows that can't be used, and how many can."""


@trust.command("agreement")
@with_judge_flags
def agreement(  # noqa: PLR0913  # a command's flags are its arguments
    file: Annotated[str, typer.Argument(help="Labelled rows (JSONL), or cases with labels; - is standard input.")],
    *,
    judging: JudgeFlags,
    task: Annotated[
        str | None,
        typer.Option(
            help="What the rows are: supported, essential, relevant, answered, similar, same-answer or preference "
            "[default: told by their fields]."
        ),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="COLUMN=METRIC: a column of cases that labels a metric [default: label_METRIC]."),
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="JSONL with id and score, as `judge ask` writes: ask no judge.")
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Where the judge's predictions go (JSONL).")] = None,
    by: Annotated[str | None, typer.Option(help="A column of rows: measure each of its values, too.")] = None,
    group: Annotated[str, typer.Option(help="The column of cases that says which belong together.")] = "group",
    threshold: Thresholds = None,
    seed: Annotated[int, typer.Option(help="Of the resamples.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    store: Where = None,
    config: Config = None,
) -> None:
    """Hold the judge against labels or preferences of people, beside what word overlap and length alone get.

    Exit codes: 0; 2 usage or input; 3 incomplete (the judge failed on a row, or too many unusable rows).
    """
    kind = task_named(task)
    given = pairs(label or (), "--label")
    if predictions is not None and (judging.judge or out):
        raise ConfigError("--predictions asks no judge: leave out --judge and -o")
    name = predictions.name if predictions else " + ".join(judging.judge or ["the embedded judge"])
    settings = settings_from(config, threshold)
    with readable(file) as path:
        if given or (kind is None and _are_cases(path)):
            if predictions is not None or out is not None:
                raise ConfigError("--predictions and -o go with rows of a task, not with cases that label a metric")
            found, rejected, usable = _of_cases(path, given, group, seed, judging, settings, store, config)
        else:
            labelled = read_labelled(path, kind)
            if predictions is not None:
                known = read_predictions(predictions)
            else:
                with judge_from(judging, config, store) as judge, progress(amount(labelled), 0, word="asking") as step:
                    lines = lines_of(labelled, judge, step)
                if out is not None:
                    write_lines(lines, out)
                known = predictions_of(lines)
            found = list(agreements(labelled, held_rows(labelled, known), by=by, seed=seed))
            rejected, usable = labelled.rejected, len(labelled.rows)
    say_unusable(rejected, usable)
    if as_json:
        numbers = {one.name: one.as_json() for one in found}
        marks = None if predictions else fingerprints_of(ConfiguredJudge(choice_from(judging, settings)).judge())
        whole = {"judge": name, "fingerprints": marks, "agreement": numbers, "rejected": len(rejected)}
        sys.stdout.write(json.dumps(whole) + "\n")
    else:
        print_document(Console(), agreement_document(found, name, file))
    if any(one.failed for one in found) or too_many(rejected, usable):
        raise typer.Exit(INCOMPLETE)


def _are_cases(path: str) -> bool:
    """Whether a file holds cases with labels, rather than rows of a task."""
    if not path.endswith(_LINES):
        return True
    return any(name.startswith(PREFIX) for name in first_line(path) or ())


def _of_cases(  # what the command was given
    path: str,
    given: dict[str, str],
    group: str,
    seed: int,
    judging: JudgeFlags,
    settings: Settings,
    store: str | None,
    config: Path | None,
) -> Found:
    file = open_cases(path)
    columns = label_columns(file.tags, given)
    if not columns:
        raise ConfigError(
            f"{path}: no column holds labels of a metric: name it {PREFIX}METRIC, or say which one does with "
            "--label COLUMN=METRIC, for example --label human=groundedness"
        )
    cases = read_cases(file, columns)
    metrics = tuple({metric.name: metric for metric in columns.values()}.values())
    collected = []
    with judge_from(judging, config, store) as judge, progress(len(cases.cases), 0) as advance:
        for record in evaluate_sync(cases.cases, judge, metrics=metrics):
            collected.append(record)
            advance()
    found = []
    for metric in metrics:
        labels = cases.labels[metric.name]
        if labels:
            rows = held(collected, labels, metric, settings.thresholds.get(metric.name), group)
            found.append(agreement_of(metric.name, rows, seed=seed))
    if not found:
        raise ConfigError(f"{path}: no row holds a label under {', '.join(columns)}")
    return found, cases.rejected, len(cases.cases)
