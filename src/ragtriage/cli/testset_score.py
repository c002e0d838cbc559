"""`ragtriage testset score`: what known answers reveal of an application; how answers are decided."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from ragtriage.cli.collect import AppFlags, ask
from ragtriage.cli.console import exit_if, print_json, show, tell
from ragtriage.cli.flags import command, parse_names
from ragtriage.cli.input_files import print_rejected, rereadable, too_many
from ragtriage.cli.judge import JudgeFlags, Judging
from ragtriage.collect.answers_file import CollectedLines
from ragtriage.core.display import plural
from ragtriage.core.errors import ConfigError
from ragtriage.judges.protocol import Judge
from ragtriage.readers.files import STDIN, raw_rows
from ragtriage.report.testset_document import (
    gaps_document,
    matcher_document,
    scores_document,
    second_run_document,
)
from ragtriage.testset.answered_rows import AnsweredRows, Row, read_rows
from ragtriage.testset.corpus import Corpus, GapLookup, look_up_gaps, read_corpus
from ragtriage.testset.correctness import TOLERANCE, Decision, Given, check_matcher, decide
from ragtriage.testset.failure_analysis import (
    SecondRun,
    TaggedRow,
    decide_second_answers,
    second_questions,
    second_run_counts,
    tag_rows,
)
from ragtriage.testset.scoring import Average, ModularScores, Policy, ScoringOptions, score_balanced, score_decided


@dataclass(frozen=True)
class BlameFlags:
    """What was given on the command line."""

    given: Given = "sibling"
    second_run: Path | None = None
    corpus: Path | None = None


@command("testset score")
def score(  # noqa: PLR0913  # a command's flags are its arguments
    rows: str,
    *,
    clusters: str | None = None,
    scope: Literal["pooled", "cluster"] = "pooled",
    average: Average = "rows",
    lm_errors: Policy = "correct",
    balanced: bool = False,
    seed: int = 0,
    tolerance: float = TOLERANCE,
    typed_only: bool = False,
    as_json: bool = False,
    judge_flags: JudgeFlags,
    blame_flags: BlameFlags,
    app_flags: AppFlags,
) -> None:
    """Tell missing knowledge from weak robustness, cluster by cluster, and which module is at fault.

    Exit codes: 0; 2 usage or input; 3 incomplete (the judge failed on a row, or too many unusable rows).
    """
    names = parse_names(clusters)
    if clusters is not None and len(names) != 2:
        raise ConfigError(f"--clusters {clusters}: name two, as in --clusters short,long")
    compared = (names[0], names[1]) if names else None
    terms = ScoringOptions("pooled" if scope == "pooled" else "per cluster", average, lm_errors, compared, seed)
    corpus = _prepare(rows, blame_flags, app_flags)
    with rereadable(rows) as there:
        read = read_rows(there)
    print_rejected(read.rejected, len(read.rows) + len(read.rejected))
    tell(*read.notes)
    again = None
    with deciding_judge(judge_flags, tolerance, typed_only=typed_only) as judge:
        decisions = decide(read.rows, judge, tolerance)
        if app_flags.app:
            decisions, again = _ask_again(rows, read.rows, decisions, blame_flags, app_flags, corpus, judge, tolerance)
    whole = (score_balanced if balanced else score_decided)(read.rows, decisions, terms)
    gaps = _gaps(read.rows, tag_rows(read.rows, decisions, terms.scope), corpus) if corpus else []
    if as_json:
        found = whole.as_json()
        if again:
            found["second_run"] = asdict(again)
        if corpus:
            found["gaps"] = {gap.group: gap.as_json() for gap in gaps}
        print_json(found)
    else:
        even = None if balanced else _balanced(read, decisions, terms, whole)
        show(scores_document(whole, even, decisions, "a balanced sample of " * balanced + rows))
        if again:
            show(second_run_document(again))
        if corpus:
            show(gaps_document(gaps, len(corpus.texts)))
        if check := check_matcher(read.rows, tolerance):
            show(matcher_document(check))
    exit_with(read, decisions)


def _balanced(
    read: AnsweredRows, decisions: Sequence[Decision], terms: ScoringOptions, whole: ModularScores
) -> ModularScores | None:
    """The balanced sample's scores; None where it is all there is, or where nothing can be balanced."""
    if whole.comparison is None or not next(iter(whole.comparison.metrics.values())).paired_groups:
        return None
    found = score_balanced(read.rows, decisions, terms)
    names = (whole.comparison.first, whole.comparison.second)
    same = all(found.clusters[name].rows == whole.clusters[name].rows for name in names)
    return None if same else found


def _prepare(path: str, flags: BlameFlags, app_flags: AppFlags) -> Corpus | None:
    """Check the flags against each other, and read the corpus."""
    if not app_flags.app:
        app_flags.refuse()
        if flags.second_run is not None or flags.given != "sibling":
            raise ConfigError("--given and --second-run are for asking again: name the application with --app")
    elif path == STDIN and flags.second_run is None:
        reason = "rows from a pipe have no name, so name a .jsonl file for the answers"
        raise ConfigError(f"--second-run is needed: {reason}")
    return read_corpus(flags.corpus) if flags.corpus else None


def _ask_again(
    path: str,
    rows: Sequence[Row],
    decisions: list[Decision],
    flags: BlameFlags,
    app_flags: AppFlags,
    corpus: Corpus | None,
    judge: Callable[[], Judge] | None,
    tolerance: float,
) -> tuple[list[Decision], SecondRun]:
    """Ask the application again what it got wrong, from sources that suffice, unless that was asked before."""
    columns = tuple(dict.fromkeys(["query", "id", *(name for row in rows for name in row.columns)]))
    application, policy = app_flags.application(columns, give_sources=True)
    questions = second_questions(rows, decisions, flags.given, corpus.texts if corpus else None)
    plain = Path(path.removesuffix(".gz"))
    where = flags.second_run or plain.with_name(f"{plain.stem}.again.jsonl")
    cases = list(questions.cases.values())
    with CollectedLines(where, retry_failed=app_flags.retry_failed, flag="--second-run") as lines:
        before = sum(lines.has(case) for case in cases)
        tell(f"asking {application.name} again, into {where}: {before} of {len(cases)} were asked before")
        stopped = ask(cases, len(cases), before, application, policy, lines)
    if stopped:
        tell(stopped)
        exit_if(incomplete=True)
    found = decide_second_answers(rows, decisions, questions, _responses(where), judge, tolerance)
    return found, second_run_counts(questions, found)


def _gaps(rows: Sequence[Row], tagged: Sequence[TaggedRow], corpus: Corpus) -> list[GapLookup]:
    """What the corpus says of the gap groups."""
    if corpus.skipped:
        tell(f"{plural(corpus.skipped, 'document')} of the corpus can't be used")
    return look_up_gaps(rows, list(dict.fromkeys(one.row.group for one in tagged if one.tag == "gap")), corpus)


def _responses(path: Path) -> dict[str, str]:
    found = {}
    for record in raw_rows(str(path)):
        values = record.values or {}
        if isinstance(values.get("response"), str):
            found[str(values["id"])] = str(values["response"])
    return found


def check_tolerance(tolerance: float) -> None:
    """Refuse a tolerance that is no share."""
    if not math.isfinite(tolerance) or not 0 <= tolerance < 1:
        raise ConfigError(f"--tolerance {tolerance:g}: use a share from 0 to below 1, for example 0.005")


@contextmanager
def deciding_judge(
    flags: JudgeFlags, tolerance: float, *, typed_only: bool, judging: Judging | None = None
) -> Iterator[Callable[[], Judge] | None]:
    """What decides where the typed match can't tell; None if nobody is to."""
    check_tolerance(tolerance)
    if typed_only and flags.judge and judging is None:
        raise ConfigError("--typed-only asks no judge: leave it out, or --judge")
    if typed_only:
        yield None
        return
    with (judging or flags.begin()).opened() as judge:
        yield lambda: judge


def exit_with(read: AnsweredRows, decisions: Sequence[Decision], *, incomplete: bool = False) -> None:
    """Exit with 3 if a later call can bring more."""
    failed = [decision.why for decision in decisions if decision.failed]
    if failed:
        tell(f"{plural(len(failed), 'undecided answer')}, as the judge failed. The first: {failed[0]}")
    exit_if(incomplete=failed or incomplete or too_many(read.rejected, len(read.rows)))
