"""`ragtriage trust`: can the judge be trusted? Its tree, the judge against people, and a judge's card."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ragtriage import __version__
from ragtriage.cli.console import exit_if, print_found, print_json, progress, tell
from ragtriage.cli.flags import command, new_typer, parse_pairs
from ragtriage.cli.input_files import check_output, print_rejected, rereadable, too_many, writing
from ragtriage.cli.judge import JudgeFlags, Judging
from ragtriage.cli.trust_exam import exam
from ragtriage.cli.trust_labels import calibrate, label
from ragtriage.cli.trust_pairs import self_test, table1
from ragtriage.core.errors import ConfigError
from ragtriage.core.files import atomic_write
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.readers import open_cases
from ragtriage.readers.files import OpenedFile
from ragtriage.readers.json_objects import first_line, write_lines
from ragtriage.readers.problems import Rejected
from ragtriage.report.document import markdown
from ragtriage.report.judge_document import card_document, card_title
from ragtriage.report.trust_document import agreement_document
from ragtriage.runs.evaluation_config import config_of
from ragtriage.runs.manifest import now
from ragtriage.runs.repeats import RepeatSummary, repeats_of, trials_of
from ragtriage.runs.run import RunInfo
from ragtriage.runs.selection import require_tag
from ragtriage.store import Store, open_store
from ragtriage.store.database import store_address
from ragtriage.trust.agreement import Agreement, agreement_of
from ragtriage.trust.judge_card import card_of, fingerprints_of, read_figures, same_judge
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
            found, rejected, usable = _of_cases(given_rows, given, group, seed, judge_flags.begin(settings))
        else:
            labelled = read_labelled_rows(given_rows, kind)
            require_tag(by, dict.fromkeys(column for row in labelled.rows for column in row.values), "column")
            if predictions is not None:
                known = read_predictions(predictions)
            else:
                with (
                    judge_flags.begin(settings).opened() as judge,
                    progress(progress_steps(labelled), 0, word="asking") as step,
                ):
                    lines = predict_rows(labelled, judge, step)
                if out is not None:
                    write_lines(lines, out)
                known = predictions_of(lines)
            found = list(agreements(labelled, compared_rows(labelled, known), by=by, seed=seed))
            rejected, usable = labelled.rejected, len(labelled.rows)
    print_rejected(rejected, len(rejected) + usable)
    print_found(
        lambda: {
            "judge": name,
            "fingerprints": None if predictions else fingerprints_of(judge_flags.begin(settings).judge),
            "agreement": {one.name: one.as_json() for one in found},
            "rejected": len(rejected),
        },
        lambda: agreement_document(found, name, given_rows.name),
        as_json=as_json,
    )
    exit_if(incomplete=any(one.failed for one in found) or too_many(rejected, usable))


def _of_cases(path: OpenedFile, given: dict[str, str], group: str, seed: int, judging: Judging) -> Found:
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
    with judging.opened() as judge, progress(len(cases.cases), 0) as advance:
        for record in evaluate_sync(cases.cases, judge, metrics=metrics):
            collected.append(record)
            advance()
    found = []
    for metric in metrics:
        labels = cases.labels[metric.name]
        if labels:
            rows = compared_cases(collected, labels, metric, judging.settings.thresholds.get(metric.name), group)
            found.append(agreement_of(metric.name, rows, seed=seed))
    if not found:
        raise ConfigError(f"{path}: no row holds a label under {', '.join(columns)}")
    return found, cases.rejected, len(cases.cases)


@command("trust card")
def card(
    *,
    out: Path | None = None,
    agreement: Path | None = None,
    self_test: Path | None = None,
    exam: Path | None = None,
    as_json: bool = False,
    judge_flags: JudgeFlags,
) -> None:
    """Write a judge's card: what it is, what it was measured on, what it costs, and what isn't known.

    Nothing is judged: it is read from the stored runs by this very judge, and from the files given.

    Exit codes: 0; 2 usage or input; 3 incomplete (the store can't be read).
    """
    if out is not None and out.suffix != ".md":
        raise ConfigError(f"-o {out}: name a .md file; the .json file is written beside it")
    judging = judge_flags.begin()
    judge = judging.judge
    given = [read_figures(path) if path else None for path in (agreement, self_test, exam)]
    where = store_address(judging.store)
    runs: list[RunInfo] = []
    repeats = None
    if "://" in where or Path(where).exists():
        with open_store(where, create=False) as there:
            runs = [info for info in there.runs() if same_judge(info, judge)]
            repeats = _repeated(there, runs)
    found = card_of(
        judge,
        version=__version__,
        made=now(),
        runs=runs,
        repeats=repeats,
        agreement=given[0],
        self_test=given[1],
        exam=given[2],
    )
    indent = None if out is None else 2
    if out is not None:
        with writing(out):
            with atomic_write(out) as page:
                page.write(markdown(card_document(found), card_title(found)))
            with atomic_write(out.with_suffix(".json")) as figures:
                figures.write(json.dumps(found, ensure_ascii=False, indent=indent) + "\n")
        tell(f"{out} and {out.with_suffix('.json').name}")
    if as_json:
        print_json(found, indent=indent)
    elif out is None:
        sys.stdout.write(markdown(card_document(found), card_title(found)))


def _repeated(store: Store, runs: Sequence[RunInfo]) -> tuple[int, RepeatSummary] | None:
    for info in runs:
        if info.repeats is None and any(later.repeats == info.number for later in runs):
            first = store.run(info.number)
            found = repeats_of(trials_of(store, first), config_of(info))
            if found:
                return info.number, found
    return None


trust = new_typer(help="Can the judge be trusted? Measure it on pairs, labels and your own cases.")
_COMMANDS: dict[str, Callable[..., None]] = {
    "exam": exam,
    "test": self_test,
    "table1": table1,
    "agreement": agreement,
    "label": label,
    "calibrate": calibrate,
    "card": card,
}
for _name, _command in _COMMANDS.items():
    trust.command(_name)(_command)
