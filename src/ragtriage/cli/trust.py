"""`ragtriage trust`: can the judge be trusted? Its tree, the judge against people, an exam, and a judge's card."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragtriage import __version__
from ragtriage.cli.console import Advance, exit_if, print_found, print_json, progress, tell
from ragtriage.cli.flags import command, parse_pairs
from ragtriage.cli.input_files import print_rejected, rereadable, too_many, writing
from ragtriage.cli.judge import NOTHING_SENT, JudgeFlags, Judging, spending, without_batches
from ragtriage.cli.trust_pairs import print_costs
from ragtriage.config import judge_config
from ragtriage.core.errors import ConfigError, JudgeError
from ragtriage.core.files import atomic_write
from ragtriage.core.validation import settings_of
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.budget import Ledger
from ragtriage.judges.judge_config import is_local
from ragtriage.judges.llm.models import takes_base_url
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.session import JudgeSession
from ragtriage.readers import open_cases
from ragtriage.readers.files import OpenedFile
from ragtriage.readers.json_objects import first_line
from ragtriage.readers.problems import Rejected
from ragtriage.report.document import markdown
from ragtriage.report.exam_document import exam_document
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
from ragtriage.trust.exam import Examinee, ExamResult, cost_of_exam, exam_cases, examine
from ragtriage.trust.judge_card import card_of, fingerprints_of, read_figures, same_judge
from ragtriage.trust.labelled_rows import (
    PREFIX,
    LabelledTask,
    agreements,
    compared_cases,
    compared_rows,
    label_columns,
    predict_rows,
    progress_steps,
    read_labelled_cases,
    read_labelled_rows,
)

_OF_MODELS = frozenset({one.name for one in settings_of(LLMOptions)} | {"batch_api", "wait", "protocol"})
"""Settings that mean nothing to a judge on this machine."""
_OF_ADDRESS = frozenset({"base_url", "headers"})


@command("trust exam")
def exam(*, dry_run: bool = False, as_json: bool = False, judge_flags: JudgeFlags) -> None:
    """Ask judges about the same packaged cases: which faults does each name, and which sound answers does it blame?

    Every --judge takes the exam by itself, unless --jury or --cascade makes one judge of them. Exit codes: 0; 2 usage
    or input; 3 incomplete (a judge failed, or was stopped).
    """
    examinees = _judgings(judge_flags, asks=not dry_run)
    cases = exam_cases()
    if dry_run:
        costs = []
        for judging in examinees:
            planning = replace(judging, session=without_batches(judging.session))
            with planning.planned() as (judge, memory):
                costs.append((judge.name(), cost_of_exam(judge, memory)))
        print_costs(costs, "Labelled claims that the evaluation asks about too are counted twice.", as_json=as_json)
        return
    ledger = examinees[0].session.ledger
    with progress(
        len(cases) * len(examinees), 0, note=lambda: spending(ledger) if ledger.requests else "", word="examining"
    ) as advance:
        examined = [_examined(judging, advance) for judging in examinees]
    faulty = sum(one.fault is not None for one in cases)
    print_found(
        lambda: {
            "cases": len(cases),
            "faulty": faulty,
            "sound": len(cases) - faulty,
            "judges": [one.as_json() for one in examined],
        },
        lambda: exam_document(examined, cases),
        as_json=as_json,
    )
    exit_if(incomplete=any(one.incomplete for one in examined))


def _judgings(flags: JudgeFlags, *, asks: bool) -> list[Judging]:
    """The judges, each with what is meant for it; all of them under one budget."""
    settings = flags.settings()
    configs = [judge_config(settings, given) for given in _given_to_each(flags.given())]
    options = next((config.options for config in configs if config.paid), LLMOptions())
    ledger = Ledger(budget=options.budget, max_requests=options.max_requests)
    offline = None if asks else NOTHING_SENT
    store = flags.store_address(settings)
    return [Judging(settings, JudgeSession.of(one, offline=offline, ledger=ledger), store) for one in configs]


def _given_to_each(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is given for each judge that takes the exam by itself; one for a jury or a cascade.

    An option of models isn't given to a judge on this machine that stands beside a model, and an address only to the
    models that can be asked there; alone, each is refused as in other commands.
    """
    names: tuple[str, ...] = given.get("judge", ())
    if len(names) < 2 or given.get("jury") or given.get("cascade"):
        return [dict(given)]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"the judge {name} is named twice: name it once")
    some_local, some_models = any(map(is_local, names)), not all(map(is_local, names))
    some_addressed = any(map(takes_base_url, names))

    def left_out(name: str) -> frozenset[str]:
        if is_local(name):
            return _OF_MODELS if some_models else frozenset()
        of_others = frozenset({"base_rates"}) if some_local else frozenset()
        return of_others | _OF_ADDRESS if some_addressed and not takes_base_url(name) else of_others

    return [
        {key: value for key, value in given.items() if key not in left_out(name)} | {"judge": (name,)} for name in names
    ]


def _examined(judging: Judging, advance: Advance) -> Examinee:
    """One judge's exam. One that is stopped keeps its answers, and the others go on."""
    session, before = judging.session, judging.session.ledger.spent
    result: ExamResult | None = None
    stopped = ""
    try:
        with judging.opened() as judge:
            result = examine(judge, window=session.config.window, advance=advance)
    except JudgeError as error:
        stopped = str(error)
    unopened = judging.judge
    return Examinee(
        unopened.name(),
        fingerprints_of(unopened),
        result,
        stopped,
        session.ledger.spent - before,
        all(one.price is not None for one in session.models.values()),
    )


_LINES = (".jsonl", ".ndjson", ".gz")
Found = tuple[list[Agreement], Sequence[Rejected], int]
"""What was measured, the rows that can't be used, and how many can."""


@command("trust agreement")
def agreement(
    file: str,
    *,
    task: LabelledTask | None = None,
    label: list[str] | None = None,
    by: str | None = None,
    group: str = "group",
    threshold: list[str] | None = None,
    as_json: bool = False,
    judge_flags: JudgeFlags,
) -> None:
    """Compare the judge with labels or preferences of people, and with what word overlap and length alone reach.

    Exit codes: 0; 2 usage or input; 3 incomplete (the judge failed on a row, or too many unusable rows).
    """
    given = parse_pairs(label, "--label")
    name = " + ".join(judge_flags.judge or ["the embedded judge"])
    judging = judge_flags.begin(judge_flags.settings(threshold))
    with rereadable(file) as given_rows:
        labels_metrics = not given_rows.path.endswith(_LINES) or any(
            column.startswith(PREFIX) for column in first_line(given_rows) or ()
        )
        if given or (task is None and labels_metrics):
            if by is not None:
                raise ConfigError("--by goes with rows of a task, not with cases that label a metric")
            found, rejected, usable = _of_cases(given_rows, given, group, judging)
        else:
            labelled = read_labelled_rows(given_rows, task)
            require_tag(by, dict.fromkeys(column for row in labelled.rows for column in row.values), "column")
            with judging.opened() as judge, progress(progress_steps(labelled), 0, word="asking") as step:
                lines = predict_rows(labelled, judge, step)
            found = list(agreements(labelled, compared_rows(labelled, lines), by=by))
            rejected, usable = labelled.rejected, len(labelled.rows)
    print_rejected(rejected, len(rejected) + usable)
    print_found(
        lambda: {
            "judge": name,
            "fingerprints": fingerprints_of(judging.judge),
            "agreement": {one.name: one.as_json() for one in found},
            "rejected": len(rejected),
        },
        lambda: agreement_document(found, name, given_rows.name),
        as_json=as_json,
    )
    exit_if(incomplete=any(one.failed for one in found) or too_many(rejected, usable))


def _of_cases(path: OpenedFile, given: dict[str, str], group: str, judging: Judging) -> Found:
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
            found.append(agreement_of(metric.name, rows))
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
