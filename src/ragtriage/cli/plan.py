"""`ragtriage plan`: what an evaluation of a file would take, before a request is made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ragtriage.cli.console import print_found, progress, tell
from ragtriage.cli.evaluation_flags import RequestedMetrics, requested_metrics
from ragtriage.cli.flags import command
from ragtriage.cli.input_files import CaseFlags, print_columns, print_counts, print_optional_metrics, read_as_one
from ragtriage.cli.judge import NOTHING_SENT, JudgeFlags
from ragtriage.cli.opened_stores import answers_in
from ragtriage.execution.estimate import estimate_file
from ragtriage.judges.build import build_judge
from ragtriage.judges.judge_config import JudgeConfig, in_a_sentence
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers import AnswerMemory
from ragtriage.readers import CaseFile
from ragtriage.report.plan_document import plan_document
from ragtriage.runs.selection import RowSelection, require_tag_of


@command("plan")
def plan(
    files: list[str],
    *,
    metrics: str | None = None,
    case_flags: CaseFlags,
    selection: RowSelection,
    repeat: int = 1,
    exact: bool = False,
    as_json: bool = False,
    judge_flags: JudgeFlags,
) -> None:
    """Show what evaluating FILES would take: requests, tokens, price and time.

    Nothing is asked and nothing is stored; no key and no provider's package is needed. Answers that the store has are
    left out, so the plan of a run that was cut off shows what is left. Exit codes: 0; 2 usage or input; 3 the store
    can't be read.
    """
    judging = judge_flags.begin(judge_flags.settings(metrics=metrics), asks=False)
    settings, session = judging.settings, judging.session
    with read_as_one(files) as there:
        cases = case_flags.open(there, settings)
        requested = requested_metrics(settings, metrics, cases.mapping, paid=bool(session.config.models))
        print_columns(cases)
        with answers_in(judging.store) as memory:
            print_plan(cases, session, memory, requested, selection, trials=repeat, as_json=as_json, exact=exact)


def print_plan(  # noqa: PLR0913  # what would be evaluated, by which judge, and how it is shown
    cases: CaseFile,
    session: JudgeSession,
    memory: AnswerMemory,
    requested: RequestedMetrics,
    selection: RowSelection,
    *,
    trials: int,
    as_json: bool,
    exact: bool = False,
    by: str | None = None,
) -> None:
    """Print what evaluating the selected rows of a file would take: one JSON object, or a table.

    Of a large file a sample is looked at, unless it is to be exact. A tag to slice by that no row has is an error.
    """
    config, notes = session.config, _notes(session.config)
    if config.batch_api:  # it takes the same requests, but wants a place for its tickets
        session = JudgeSession.of(replace(config, batch_api=False, wait=False), offline=NOTHING_SENT)
    built = [build_judge(session, memory, trial=trial) for trial in range(trials)]
    judges = [one.judge for one in built]
    notes += [
        f"The hub model {one.name()} takes about {one.memory() / 1e9:.1f} GB of memory." for one in built[0].hub_models
    ]
    require_tag_of(cases, selection, by)
    with progress(None, 0, word="looking at rows", unit="rows") as advance:
        estimate, counts = estimate_file(
            cases,
            judges,
            requested.config,
            selection,
            concurrency=config.options.concurrency,
            memory=memory,
            exact=exact,
            advance=advance,
        )
    counts.require_some(cases.name)
    print_counts(counts)
    tell(*(f"note: {note}" for note in requested.notes))
    print_optional_metrics(counts, requested.default_groups)
    name, embeddings = judges[0].name(), requested.config.embeddings_of(built[0].embeddings)
    who = {"judge": name} | ({"embeddings": embeddings} if embeddings else {})
    shown = Path(cases.name).name if Path(cases.name).is_absolute() else cases.name
    asked = config.protocol if config.models else None
    rate = "; ".join(one.rate for one in session.deciders.values())
    name += f", repetition by {embeddings}" if embeddings else ""
    print_found(
        lambda: {"file": cases.name, **who, **estimate.as_json(), "notes": [*requested.notes, *notes]},
        lambda: plan_document(estimate, input=shown, judge=name, notes=notes, asked=asked, rate=rate),
        as_json=as_json,
    )


def _notes(choice: JudgeConfig) -> list[str]:
    notes = []
    if choice.cascade is not None:
        first = in_a_sentence(choice.first)
        notes.append(f"At least: if {first} decides all that it may; at most: if it decides nothing.")
    if choice.batch_api:
        notes.append("By the batch API it costs about half of this price, and takes up to a day.")
    return notes
