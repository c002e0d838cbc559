"""`ragtriage trust card`: what is known of a judge, and what isn't."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ragtriage import __version__
from ragtriage.cli.judging_options import JudgeFlags, choice_from, with_judge_flags
from ragtriage.cli.options import Config, Where, place_of, settings_from
from ragtriage.cli.trust_app import trust
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.judges.build import ConfiguredJudge
from ragtriage.report.judge_card import card_document, card_title
from ragtriage.report.markdown import markdown
from ragtriage.runs.execute import criteria_of
from ragtriage.runs.repeats import RepeatSummary, repeats_of, trials_of
from ragtriage.store import RunInfo, Store, open_store
from ragtriage.store.connection import place
from ragtriage.store.run_info import now
from ragtriage.trust.judge_card import card_of, read_figures, same_judge


@trust.command("card")
@with_judge_flags
def card(
    *,
    judging: JudgeFlags,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="A .md file; a .json file is written beside it [default: standard output]."),
    ] = None,
    agreement: Annotated[Path | None, typer.Option(help="What `ragtriage trust agreement --json` printed.")] = None,
    self_test: Annotated[Path | None, typer.Option(help="What `ragtriage trust test --json` printed.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    store: Where = None,
    config: Config = None,
) -> None:
    """Write a judge's card: what it is, what it was measured on, what it costs, and what isn't known.

    Nothing is judged: it is read from the stored runs by this very judge, and from the files given.

    Exit codes: 0; 2 usage or input; 3 incomplete (the store can't be read).
    """
    if out is not None and out.suffix != ".md":
        raise ConfigError(f"-o {out}: name a .md file; the .json file is written beside it")
    settings = settings_from(config, None)
    chosen = ConfiguredJudge(choice_from(judging, settings))
    judge = chosen.judge()
    given = [read_figures(path) if path else None for path in (agreement, self_test)]
    where = place_of(store, settings)
    runs: list[RunInfo] = []
    repeats = None
    if "://" in place(where) or Path(place(where)).exists():
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
    )
    text = json.dumps(found, ensure_ascii=False, indent=None if out is None else 2) + "\n"
    if out is not None:
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(markdown(card_document(found), card_title(found)), encoding="utf-8")
            out.with_suffix(".json").write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{out} can't be written: {error.strerror or error}") from error
        sys.stderr.write(f"{out} and {out.with_suffix('.json').name}\n")
    if as_json:
        sys.stdout.write(text)
    elif out is None:
        sys.stdout.write(markdown(card_document(found), card_title(found)))


def _repeated(store: Store, runs: Sequence[RunInfo]) -> tuple[int, RepeatSummary] | None:
    """The newest repeated evaluation among these runs."""
    for info in runs:
        if info.repeats is None and any(later.repeats == info.number for later in runs):
            first = store.run(info.number)
            found = repeats_of(trials_of(store, first), criteria_of(info, {}))
            if found:
                return info.number, found
    return None
