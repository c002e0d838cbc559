"""`ragtriage trust agreement`: the judge held against labels or preferences of people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer
from rich.console import Console

from ragtriage.cli.console import ExitCode, print_json
from ragtriage.cli.flags import command, parse_pairs
from ragtriage.cli.input_files import check_output, print_rejected, rereadable, too_many
from ragtriage.cli.judge_flags import JudgeFlags
from ragtriage.cli.progress import progress
from ragtriage.config import Settings
from ragtriage.core.errors import ConfigError
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.build import build_judge
from ragtriage.readers import open_cases
from ragtriage.readers.files import InputFile
from ragtriage.readers.json_objects import first_line, write_lines
from ragtriage.readers.problems import Rejected
from ragtriage.report.terminal import print_document
from ragtriage.report.trust_document import agreement_document
from ragtriage.runs.selection import require_tag
from ragtriage.trust.agreement import Agreement, agreement_of
from ragtriage.trust.judge_card import fingerprints_of
from ragtriage.trust.labelled_rows import (
    PREFIX,
    agreements,
    compared_cases,
    compared_rows,
    label_columns,
    predict_rows,
    predictions_of,
    progress_steps,
    read_labelled_cases,
    read_labelled_rows,
    read_predictions,
    task_named,
)

_LINES = (".jsonl", ".ndjson", ".gz")
Found = tuple[list[Agreement], Sequence[Rejected], int]
"""What was measured, the rows that can't be used, and how many can."""


@command("trust agreement")
def agreement(  # noqa: PLR0913  # a command's flags are its arguments
    file: str,
    *,
    task: str | None = None,
    label: list[str] | None = None,
    predictions: Path | None = None,
    out: Path | None = None,
    by: str | None = None,
    group: str = "group",
    threshold: list[str] | None = None,
    seed: int = 0,
    as_json: bool = False,
    judge_flags: JudgeFlags,
) -> None:
    """Compare the judge with labels or preferences of people, and with what word overlap and length alone reach.

    Exit codes: 0; 2 usage or input; 3 incomplete (the judge failed on a row, or too many unusable rows).
    """
    check_output(out, file, "-o")
    kind = task_named(task)
    given = parse_pairs(label, "--label")
    if predictions is not None and (judge_flags.judge or out):
        raise ConfigError("--predictions asks no judge: leave out --judge and -o")
    name = predictions.name if predictions else " + ".join(judge_flags.judge or ["the embedded judge"])
    settings = judge_flags.settings(threshold)
    with rereadable(file) as given_rows:
        labels_metrics = not given_rows.path.endswith(_LINES) or any(
            name.startswith(PREFIX) for name in first_line(given_rows) or ()
        )
        if given or (kind is None and labels_metrics):
            if predictions is not None or out is not None:
                raise ConfigError("--predictions and -o go with rows of a task, not with cases that label a metric")
            if by is not None:
                raise ConfigError("--by goes with rows of a task, not with cases that label a metric")
            found, rejected, usable = _of_cases(given_rows, given, group, seed, judge_flags, settings)
        else:
            labelled = read_labelled_rows(given_rows, kind)
            require_tag(by, dict.fromkeys(column for row in labelled.rows for column in row.values), "column")
            if predictions is not None:
                known = read_predictions(predictions)
            else:
                with (
                    judge_flags.opened(settings) as judge,
                    progress(progress_steps(labelled), 0, word="asking") as step,
                ):
                    lines = predict_rows(labelled, judge, step)
                if out is not None:
                    write_lines(lines, out)
                known = predictions_of(lines)
            found = list(agreements(labelled, compared_rows(labelled, known), by=by, seed=seed))
            rejected, usable = labelled.rejected, len(labelled.rows)
    print_rejected(rejected, len(rejected) + usable)
    if as_json:
        numbers = {one.name: one.as_json() for one in found}
        marks = None if predictions else fingerprints_of(build_judge(judge_flags.session(settings)).judge)
        print_json({"judge": name, "fingerprints": marks, "agreement": numbers, "rejected": len(rejected)})
    else:
        print_document(Console(), agreement_document(found, name, given_rows.name))
    if any(one.failed for one in found) or too_many(rejected, usable):
        raise typer.Exit(ExitCode.INCOMPLETE)


def _of_cases(  # what the command was given
    path: InputFile, given: dict[str, str], group: str, seed: int, judge_flags: JudgeFlags, settings: Settings
) -> Found:
    file = open_cases(path)
    columns = label_columns(file.tags, given)
    if not columns:
        raise ConfigError(
            f"{path}: no column holds labels of a metric: name it {PREFIX}METRIC, or say which one does with "
            "--label COLUMN=METRIC, for example --label human=groundedness"
        )
    cases = read_labelled_cases(file, columns)
    metrics = tuple({metric.name: metric for metric in columns.values()}.values())
    collected = []
    with judge_flags.opened(settings) as judge, progress(len(cases.cases), 0) as advance:
        for record in evaluate_sync(cases.cases, judge, metrics=metrics):
            collected.append(record)
            advance()
    found = []
    for metric in metrics:
        labels = cases.labels[metric.name]
        if labels:
            rows = compared_cases(collected, labels, metric, settings.thresholds.get(metric.name), group)
            found.append(agreement_of(metric.name, rows, seed=seed))
    if not found:
        raise ConfigError(f"{path}: no row holds a label under {', '.join(columns)}")
    return found, cases.rejected, len(cases.cases)
