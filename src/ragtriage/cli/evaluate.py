"""`ragtriage evaluate`: a file of answers in, scores, a diagnosis and a stored run out."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ragtriage.cli.app_options import (
    COLLECTED_MAP,
    AppFlags,
    answers_collected,
    default_place,
    finished,
    questions_map,
    refuse_alone,
    refuse_beside_app,
    with_app_flags,
)
from ragtriage.cli.exits import GATE_FAILED, INCOMPLETE
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
    Thresholds,
    Where,
    pairs,
    place_of,
    settings_from,
)
from ragtriage.cli.plan import answers_in, planned, show_plan
from ragtriage.cli.progress import progress
from ragtriage.cli.results import assessed, print_run, report_path, spent_by, spent_in, write_html
from ragtriage.cli.stopping import INTERRUPTED, stoppable
from ragtriage.cli.wanting import Wanted, Wanting
from ragtriage.core.errors import InputError, Stopped
from ragtriage.evaluation.estimate import sum_estimates
from ragtriage.judges.build import ConfiguredJudge
from ragtriage.judges.llm.ledger import Ledger, dollars
from ragtriage.readers import CaseFile, Limits, open_cases
from ragtriage.report.plan_document import between
from ragtriage.report.repeats_document import repeats_document
from ragtriage.report.terminal import print_document
from ragtriage.report.words import plural
from ragtriage.runs.execute import FileRun, Repetition, Selection
from ragtriage.runs.repeats import RepeatSummary, repeats_of
from ragtriage.runs.tally import Assessment, Criteria
from ragtriage.store import RunInfo, Store, StoredRun, open_store


@with_app_flags
@with_judge_flags
def evaluate(  # noqa: PLR0913  # one parameter a flag
    file: Annotated[str, typer.Argument(help="JSONL, JSON, CSV or Parquet; - is JSONL on standard input.")],
    *,
    asking: AppFlags = AppFlags(),  # noqa: B008  # frozen
    collected: Annotated[
        Path | None, typer.Option(help="With --app: where its answers go, a .jsonl file [default: into the store].")
    ] = None,
    judging: JudgeFlags = JudgeFlags(),  # noqa: B008  # frozen
    metrics: Metrics = None,
    mapping: Columns = None,
    split_sources: SplitSources = None,
    citation_mark: CitationMark = None,
    file_format: Format = None,
    limit: Limit = None,
    sample: Sample = None,
    seed: Seed = 0,
    by: Annotated[str | None, typer.Option(help="A tag: the table also for each of its values.")] = None,
    threshold: Thresholds = None,
    fail_below: Annotated[
        list[str] | None,
        typer.Option(help="metric=value: exit with 1 if the mean is below; may be repeated."),
    ] = None,
    fail_above: Annotated[
        list[str] | None,
        typer.Option(help="The same where lower is better: exit with 1 if the mean is above."),
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Evaluate N times: does the judge agree with itself?")] = 1,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it would take, as `ragtriage plan` does.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    max_text: MaxText = 1_000_000,
    max_sources: MaxSources = 1_000,
    report: Annotated[Path | None, typer.Option(help="Where the HTML report goes [default: into the store].")] = None,
    store: Where = None,
    config: Config = None,
) -> None:
    """Evaluate the answers in FILE, tell which component to repair, and store the run.

    Exit codes: 0; 1 a gate failed; 2 usage or input; 3 incomplete (failures, too many unusable rows, interrupted).
    """
    settings = settings_from(config, threshold, metrics)
    chosen = ConfiguredJudge(choice_from(judging, settings))
    selection = Selection(limit, sample, seed)
    limits = Limits(max_text=max_text, max_sources=max_sources)
    wanting = Wanting(settings, metrics, chosen.paid, fail_below or (), fail_above or ())
    columns = {**settings.map, **pairs(mapping or (), "--map")}
    unanswered = False
    there = collected
    if not asking.app:
        refuse_alone(asking, collected)
    else:
        refuse_beside_app(dry_run=dry_run, split_sources=split_sources)
        there = collected or default_place(asking, file, selection, place_of(store, settings))
    with readable(file) as readable_path:
        path = readable_path
        if there is not None:
            questions = open_cases(
                path,
                mapping=questions_map(settings.map) | pairs(mapping or (), "--map"),
                limits=limits,
                format=file_format,
                questions=True,
            )
            say_columns(file, questions)
            wanting.of(questions.mapping)  # what is wrong with a flag must be said before anything is asked
            unanswered = answers_collected(questions, asking, selection, there)
            file = path = str(there)
            columns, selection, file_format = dict(COLLECTED_MAP), Selection(), "jsonl"
        cases = open_cases(
            path,
            mapping=columns,
            split_sources=split_sources,
            limits=limits,
            format=file_format,
            citation_mark=settings.citation_mark if citation_mark is None else citation_mark,
        )
        wanted = wanting.of(cases.mapping)
        say_columns(file, cases)
        if dry_run:
            with answers_in(place_of(store, settings)) as memory:
                show_plan(file, cases, chosen, memory, wanted, selection, times=repeat, as_json=as_json)
            return
        with open_store(place_of(store, settings)) as opened:
            criteria = wanted.criteria
            trials = _trials(_Work(cases, chosen, opened, wanted, selection, file, by), repeat)
            first, repeats = trials[0], repeats_of([trial.stored for trial in trials], criteria)
            written = report or (None if as_json else report_path(opened, first.stored))
            further = {"repeats": {**repeats.as_json(), **_taken_by(trials)}} if repeats else {}
            print_run(first.stored, criteria, first.assessment, as_json=as_json, further=further)
            unwritten = written is not None and not _reported(written, first, criteria, repeats)
            if repeats and not as_json:
                print_document(Console(), repeats_document(repeats, input=file, judge=first.stored.info.judge))
                sys.stdout.write(_taken_in_words(trials))
    unfinished = any(trial.stopped or trial.stored.info.failed for trial in trials)
    if asking.app and collected is None and not unfinished:
        finished(Path(path))
    gate = wanted.gates.failing(first.assessment.summary())
    remarks = [*gate, *(line for trial in trials for line in trial.remarks), *_sent_again(chosen.ledger)]
    sys.stderr.write("".join(f"{line}\n" for line in remarks))
    if unanswered or unwritten or first.incomplete or unfinished:
        raise typer.Exit(INCOMPLETE)
    if gate:
        raise typer.Exit(GATE_FAILED)


@dataclass(frozen=True, slots=True)
class _Work:
    """What is to be evaluated, by whom and into what."""

    cases: CaseFile
    chosen: ConfiguredJudge
    store: Store
    wanted: Wanted
    selection: Selection
    file: str
    by: str | None


@dataclass(frozen=True, slots=True)
class _Trial:
    """One evaluation of the file, and how it ended."""

    stored: StoredRun
    assessment: Assessment
    stopped: bool
    incomplete: bool
    remarks: tuple[str, ...]
    """What is to be said at the very end."""


def _trials(work: _Work, times: int) -> list[_Trial]:
    """Evaluate once or several times, each a run of its own; what stops one stops those that would follow."""
    done: list[_Trial] = []
    while len(done) < times and not (done and done[-1].stopped):
        done.append(_trial(work, len(done), times, done[0].stored.number if done else None))
    return done


def _trial(work: _Work, trial: int, times: int, repeats: int | None) -> _Trial:
    chosen, criteria = work.chosen, work.wanted.criteria
    given = (work.cases, chosen, work.store, criteria, work.selection, work.file)
    with FileRun(*given, repetition=Repetition(trial, times, repeats)) as run:
        if trial == 0:
            _say_rows(run, work)
        sys.stderr.write(f"{run.announcement}{f' (trial {trial + 1} of {times})' if times > 1 else ''}\n")
        assessment = Assessment(criteria, work.by)
        reason = _evaluate(run, chosen, assessment)
    stored = work.store.run(run.run.number)
    savings = [*_savings_of(chosen)]
    remarks = [*_rest_of(run, stored.info.done, work, reason, range(trial, times)), *savings]
    if reason:  # it may have stopped between keeping a case and counting it: the store is right
        assessment = assessed(stored, criteria, work.by)
    return _Trial(stored, assessment, bool(reason), run.survey.incomplete, tuple(remarks))


def _rest_of(run: FileRun, done: int, work: _Work, reason: str | None, trials: range) -> Iterator[str]:
    """Why it stopped, how far it came and what the rest would take, further repetitions included."""
    if reason is None:
        return
    yield reason
    far = f"{done} of {run.survey.selected} cases are done"
    if reason == INTERRUPTED or work.chosen.config.batch_api:  # nobody waits for sums; tickets are on their way
        yield far
    elif work.chosen.paid:
        memory, rest = work.store.answers(), []
        for trial in trials:
            first = trial == trials.start
            judge = run.judge if first else work.chosen.judge(memory, trial=trial)
            given = (work.cases, judge, work.wanted.criteria, work.selection, work.file)
            rest.append(planned(*given, concurrency=work.chosen.concurrency, memory=memory, trial=trial, sample=0)[0])
        yield f"{far}; the rest would take {between(sum_estimates(rest))}"


def _savings_of(chosen: ConfiguredJudge) -> Iterator[str]:
    if chosen.saved:
        decided, passed_on, requests = chosen.saved
        yield (
            f"cascade: the embedded judge decided {decided:,} verdicts and passed {passed_on:,} on, which saved about "
            f"{requests:,} requests"
        )


def _sent_again(ledger: Ledger) -> Iterator[str]:
    """How many requests this command had to repeat, and why."""
    if ledger.repeated:
        causes = ", ".join(f"{cause} {count:,}" for cause, count in ledger.repeated.most_common())
        yield f"{plural(ledger.repeated.total(), 'request')} sent again: {causes}"


def _taken_by(trials: Sequence[_Trial]) -> dict[str, Any]:
    """The runs of all repetitions, and what they took together, for machines."""
    return {"runs": [trial.stored.number for trial in trials], **spent_by(_all_of(trials))}


def _taken_in_words(trials: Sequence[_Trial]) -> str:
    spent = spent_in(_all_of(trials))
    return f"{len(trials)} trials together: {spent}\n" if spent else ""


def _all_of(trials: Sequence[_Trial]) -> RunInfo:
    """The first run, with what all of them took."""
    infos = [trial.stored.info for trial in trials]
    return replace(
        infos[0],
        cost=sum(info.cost for info in infos),
        requests=sum(info.requests for info in infos),
        tokens_in=sum(info.tokens_in for info in infos),
        tokens_out=sum(info.tokens_out for info in infos),
    )


def _reported(path: Path, trial: _Trial, criteria: Criteria, repeats: RepeatSummary | None) -> bool:
    """Whether the report could be written; the run is stored all the same, and the report can be written again."""
    number = trial.stored.number
    try:
        write_html(path, trial.stored, criteria, trial.assessment, repeats)
    except InputError as error:
        sys.stderr.write(f"ragtriage: {error}; the run is stored: ragtriage report {number} -o elsewhere.html\n")
        return False
    sys.stderr.write(f"report: {path}\n")
    return True


def _say_rows(run: FileRun, work: _Work) -> None:
    """What is to be known about the rows before they are judged."""
    if work.by is not None and work.by not in work.cases.tags:
        sys.stderr.write(f"note: --by {work.by}: none of the first rows has this tag\n")
    if run.survey.conversations and run.judge.unsupported_reason("standalone", "en"):
        sys.stderr.write(f"note: {run.survey.conversations} rows have a conversation; their query is read without it\n")
    say_rejected(run.survey)
    say_carried(run.survey, work.wanted.by_default)


def _evaluate(run: FileRun, chosen: ConfiguredJudge, assessment: Assessment) -> str | None:
    """Evaluate what is left.

    Returns:
        None if it came to its end; else why it stopped, with what was done counted and kept.
    """
    ledger = chosen.ledger

    def spent() -> str:
        price = f", {dollars(ledger.cost)}" if ledger.cost else ""
        return f"{ledger.requests:,} requests{price}" if chosen.paid else ""

    try:
        with stoppable(chosen), progress(run.survey.selected, run.done, spent) as advance:
            for _ in run.records(assessment):
                advance()
    except KeyboardInterrupt:
        return INTERRUPTED
    except Stopped as stop:
        return str(stop)
    return None
