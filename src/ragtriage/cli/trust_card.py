"""`ragtriage trust card`: what is known of a judge, and what isn't."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ragtriage import __version__
from ragtriage.cli.console import print_json, tell
from ragtriage.cli.flags import command
from ragtriage.cli.judge_flags import JudgeFlags
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.files import atomic_write
from ragtriage.judges.build import build_judge
from ragtriage.report.judge_card import card_document, card_title
from ragtriage.report.markdown import markdown
from ragtriage.runs.evaluation_config import config_of
from ragtriage.runs.repeats import RepeatSummary, repeats_of, trials_of
from ragtriage.runs.run import RunInfo
from ragtriage.store import Store, open_store
from ragtriage.store.database import store_address
from ragtriage.store.run_writer import now
from ragtriage.trust.judge_card import card_of, read_figures, same_judge


@command("trust card")
def card(
    *,
    out: Path | None = None,
    agreement: Path | None = None,
    self_test: Path | None = None,
    as_json: bool = False,
    judge_flags: JudgeFlags,
) -> None:
    """Write a judge's card: what it is, what it was measured on, what it costs, and what isn't known.

    Nothing is judged: it is read from the stored runs by this very judge, and from the files given.

    Exit codes: 0; 2 usage or input; 3 incomplete (the store can't be read).
    """
    if out is not None and out.suffix != ".md":
        raise ConfigError(f"-o {out}: name a .md file; the .json file is written beside it")
    settings = judge_flags.settings()
    judge = build_judge(judge_flags.session(settings)).judge
    given = [read_figures(path) if path else None for path in (agreement, self_test)]
    where = judge_flags.store_address(settings)
    runs: list[RunInfo] = []
    repeats = None
    if "://" in store_address(where) or Path(store_address(where)).exists():
        with open_store(where, create=False) as there:
            runs = [info for info in there.runs() if same_judge(info, judge)]
            repeats = _repeated(there, runs)
    found = card_of(
        judge, version=__version__, made=now(), runs=runs, repeats=repeats, agreement=given[0], self_test=given[1]
    )
    indent = None if out is None else 2
    if out is not None:
        try:
            with atomic_write(out) as page:
                page.write(markdown(card_document(found), card_title(found)))
            with atomic_write(out.with_suffix(".json")) as figures:
                figures.write(json.dumps(found, ensure_ascii=False, indent=indent) + "\n")
        except OSError as error:
            raise InputError(f"{out} can't be written: {error.strerror or error}") from error
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
