"""`ragtriage trust test` and `table1`: pairs of which one is worse, and whether the judge scores it lower."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ragtriage.cli.console import exit_if, print_found, progress, tell
from ragtriage.cli.flags import command, parse_pairs
from ragtriage.cli.input_files import check_output, print_columns, print_rejected, rereadable, too_many
from ragtriage.cli.judge import JudgeFlags, Judging
from ragtriage.core.display import plural
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.statistics import ranked
from ragtriage.judges.protocol import Judge
from ragtriage.readers import Rejected, open_cases
from ragtriage.readers.files import OpenedFile
from ragtriage.report.exam_document import costs_document
from ragtriage.report.trust_document import selftest_document, table1_document
from ragtriage.runs.selection import RowCounts, RowSelection, SelectedCases
from ragtriage.trust.judge_card import fingerprints_of
from ragtriage.trust.pair_files import holds_pairs, read_pairs, write_pairs
from ragtriage.trust.pair_scoring import (
    FURTHER,
    OWN_PAIRS,
    CostEstimate,
    cost_of_pairs,
    read_table1,
    score_pairs,
    scoring_tasks,
    table1_rows,
    version_key,
)
from ragtriage.trust.perturb import PerturbedPairs, perturb
from ragtriage.trust.self_test import SelfTest, self_test_of

SHARED = "An answer that several metrics share is counted for each of them."
PairInput = tuple[PerturbedPairs, list[Rejected]]
"""What was made of the cases of a file, and the rows that can't be used."""


@command("trust test")
def self_test(  # noqa: PLR0913  # one parameter a flag
    file: str,
    *,
    out: Path | None = None,
    show: int = 0,
    mapping: list[str] | None = None,
    split_sources: str | None = None,
    file_format: str | None = None,
    selection: RowSelection,
    dry_run: bool = False,
    as_json: bool = False,
    judge_flags: JudgeFlags,
) -> None:
    """Test the judge on your own cases, without labels: does it score a version that was made worse lower?

    Every case is made worse in up to seven ways, one per metric, where that can be done safely. Exit codes: 0; 2 usage
    or input; 3 incomplete (the judge failed on a pair, or too many unusable rows).
    """
    check_output(out, file, "-o")
    judging = judge_flags.begin(asks=not dry_run)
    columns = {**judging.settings.map, **parse_pairs(mapping, "--map")}
    with rereadable(file) as rows:
        made, rejected = (
            _pairs_of(rows, selection)
            if holds_pairs(rows)
            else _cases_of(rows, columns, split_sources, file_format, selection)
        )
    print_rejected(rejected, len(rejected) + made.cases)
    if out:
        write_pairs(made.pairs, out)
        tell(f"{plural(len(made.pairs), 'pair')} in {out}")
    if not made.pairs:
        raise InputError(f"{rows}: no pair can be made safely of its {plural(made.cases, 'case')}: {_reasons(made)}")
    if dry_run:
        with judging.planned() as (asked, memory):
            cost = cost_of_pairs(made.pairs, asked, memory=memory)
        print_costs([(asked.name(), cost)], SHARED, as_json=as_json)
        return
    with judging.opened(tell_spending=True) as asked:
        found, by = _judged(made, asked, judging), asked.name()
        marks = fingerprints_of(asked)
    print_found(
        lambda: {"file": rows.name, "judge": by, "fingerprints": marks, "cases": made.cases, **found.as_json()},
        lambda: selftest_document(found, by, rows.name, show),
        as_json=as_json,
    )
    exit_if(incomplete=found.incomplete or too_many(rejected, made.cases))


@command("trust table1")
def table1(*, data: Path | None = None, dry_run: bool = False, as_json: bool = False, judge_flags: JudgeFlags) -> None:
    """THELMA's table 1: how often the better version of a pair scores higher, by our metrics and by RAGAs'.

    Both are computed by the same judge, and the paper's figures stand beside. Exit codes: 0; 2 usage or input; 3
    incomplete (the judge failed on a pair, or too many unusable rows).
    """
    judging = judge_flags.begin(asks=not dry_run)
    paired, rejected = read_table1(data or OWN_PAIRS)
    print_rejected(rejected, len(rejected) + len(paired))
    name = str(data) if data else "pairs of our own"
    if dry_run:
        with judging.planned() as (asked, memory):
            cost = cost_of_pairs(paired, asked, further=FURTHER, memory=memory)
        print_costs([(asked.name(), cost)], SHARED, as_json=as_json)
        return
    total = sum(len(task.cases) for task in scoring_tasks(paired, FURTHER))
    with judging.opened(tell_spending=True) as asked, progress(total, 0, word="scoring") as advance:
        config = judging.session.config
        scored = score_pairs(paired, asked, further=FURTHER, window=config.window, advance=advance)
        by = asked.name() + (", by the paper's protocol" if config.protocol == "paper" else "")
    rows = table1_rows(scored)
    print_found(
        lambda: {"data": name, "judge": by, "rows": {row.short: row.as_json() for row in rows}},
        lambda: table1_document(rows, by, name),
        as_json=as_json,
    )
    exit_if(incomplete=any(one.failed for one in scored) or too_many(rejected, len(paired)))


def _judged(made: PerturbedPairs, asked: Judge, judging: Judging) -> SelfTest:
    total = sum(len(task.cases) for task in scoring_tasks(made.pairs, {}))
    with progress(total, 0, word="testing") as advance:
        scored = score_pairs(made.pairs, asked, window=judging.session.config.window, advance=advance)
    return self_test_of(scored, made.skipped)


def _pairs_of(rows: OpenedFile, selection: RowSelection) -> PairInput:
    """A file of pairs; of the selection only the first rows count, as pairs are drawn already."""
    if selection.sample is not None:
        raise ConfigError("--sample is for cases, and this file holds pairs: take the first ones with --limit")
    usable, rejected = read_pairs(rows)
    kept = tuple(usable[: selection.limit])
    return PerturbedPairs(len({version_key(pair.better) for pair in kept}), kept, {}), rejected


def _cases_of(
    rows: OpenedFile,
    mapping: dict[str, str],
    split_sources: str | None,
    file_format: str | None,
    selection: RowSelection,
) -> PairInput:
    opened = open_cases(rows, mapping=mapping, split_sources=split_sources, format=file_format)
    print_columns(opened)
    rejected: list[Rejected] = []
    cases = list(SelectedCases(opened, selection).read(rejected.append))
    RowCounts(len(cases), len(rejected), rejected).require_some(opened.name)
    return perturb(cases, selection.seed), rejected


def _reasons(made: PerturbedPairs) -> str:
    """Why, the commonest reasons first."""
    counts: Counter[str] = Counter()
    for reasons in made.skipped.values():
        counts |= Counter(reasons)  # the highest count of each
    first = list(ranked(counts).items())[:3]
    return "; ".join(f"{'once' if count == 1 else f'{count} times'} {reason}" for reason, count in first)


def print_costs(costs: Sequence[tuple[str, CostEstimate]], remark: str, *, as_json: bool) -> None:
    """Say what it would take each judge: (its name, the cost); the remark says what is counted more than once."""
    print_found(
        lambda: {"judges": [{"judge": judge, **cost.as_json()} for judge, cost in costs]},
        lambda: costs_document(costs, remark),
        as_json=as_json,
    )
