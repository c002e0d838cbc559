"""`ragtriage trust label` and `calibrate`: a person labels what was judged, blind; what labels correct."""

import shutil
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from ragtriage.cli.console import exit_if, print_found, print_json, show, tell
from ragtriage.cli.flags import command
from ragtriage.cli.input_files import print_rejected, too_many
from ragtriage.cli.opened_stores import open_named_store
from ragtriage.cli.results import open_run, tell_deleted
from ragtriage.core.case import Record
from ragtriage.core.errors import InputError
from ragtriage.core.validation import as_builtins
from ragtriage.report.judge_document import calibration_document
from ragtriage.report.trust_document import labels_document
from ragtriage.runs.evaluation_config import CORRECTIONS
from ragtriage.trust.calibration import calibrate as calibrated
from ragtriage.trust.corrected_mean import join_labels
from ragtriage.trust.label_files import Item, Label, LabelFile, draw_items, metrics_to_label, read_labels
from ragtriage.trust.label_fits import write_settings
from ragtriage.trust.label_session import (
    KEYS,
    LINES,
    AskKey,
    LabellingSession,
    compare_with_judge,
    items_of_run,
    screen,
)

_CLEAR = "\x1b[2J\x1b[H"
_WORDS = {"yes": "y", "no": "n", "skip": "s", "back": "b", "everything": "e", "quit": "q"}


@command("trust label")
def label(  # noqa: PLR0913  # a command's flags are its arguments
    run: str = "last",
    *,
    n: int = 20,
    metric: list[str] | None = None,
    by: str = "",
    out: Path = Path("labels.jsonl"),
    seed: int = 0,
    as_json: bool = False,
    store: str | None = None,
    project: str | None = None,
) -> None:
    """Label components of a run yourself, blind: the judge's verdicts are shown at the end, next to yours.

    Every label is stored at once; the same command continues where you stopped. Keys, each with Enter: y, n, s (skip),
    b (back), e (show all the evidence), q (quit).

    Exit codes: 0 all are labelled; 2 usage or input; 3 there is more to label.
    """
    shown = sys.stderr if as_json else sys.stdout
    with open_named_store(store, project) as there, LabelFile(out) as file:
        stored = there.run(run)
        tell_deleted(stored)
        print_rejected(file.rejected, len(file.rejected) + len(file.labels))
        metrics = metrics_to_label(metric or ["groundedness"], stored.info.metrics)
        draw = draw_items(items_of_run(stored, metrics), metrics, n, seed)
        session, count = LabellingSession(file, str(stored.number), draw, by), len(draw.items)
        before = len(session.labels)
        if count < n:
            shown.write(f"run {stored.number} has {count} such items: all of them are asked\n")
        if before and not session.done:
            shown.write(f"going on in {out}: {before} of {count} were labelled before\n")
        finished = False
        try:
            finished = session.run(_asking(stored.record, count, shown))
        except KeyboardInterrupt:
            shown.write("\n")
        if not finished:
            left = count - len(session.labels)
            shown.write(f"\n{left} of {count} are left; the same command goes on. Labels are in {out}\n")
            exit_if(incomplete=True)
    if as_json:
        found = compare_with_judge(session.labels)
        more = {"file": str(out), "disagreements": [asdict(one) for one in found.disagreements]}
        print_json({"run": stored.number, **found.as_json(), **more})
    else:
        sys.stdout.write("\n")
        show(labels_document(session.labels, str(out)))


def _asking(record: Callable[[str], Record], count: int, shown: TextIO) -> AskKey:
    """Asks on a screen of its own where there is a terminal, else line by line; the end of the input is a q."""
    terminal = shown.isatty()
    lines = max(LINES, shutil.get_terminal_size().lines) if terminal else LINES

    def ask(item: Item, at: int, before: Label | None) -> str:
        case = record(item.case)
        place = f"{at + 1} of {count}"
        whole = False
        while True:
            page = screen(item, case, place, whole=whole, lines=lines)
            shown.write((_CLEAR if terminal else "\n") + "\n".join(page) + "\n")
            said = {True: " (you said yes)", False: " (you said no)", None: " (you skipped it)"}
            shown.write(KEYS + ("" if before is None else said[before.label]) + "\n> ")
            key = _key(shown)
            if key != "e":
                return key
            whole = True

    return ask


def _key(shown: TextIO) -> str:
    while True:
        shown.flush()
        line = sys.stdin.readline()
        if not line:
            return "q"
        word = line.strip().lower()
        key = _WORDS.get(word, word)
        if key in _WORDS.values():
            return key
        shown.write(f"{KEYS}\n> ")


@command("trust calibrate")
def calibrate(
    labels: Path,
    *,
    run: str | None = None,
    write: Path | None = None,
    threshold: list[str] | None = None,
    as_json: bool = False,
    store: str | None = None,
    project: str | None = None,
) -> None:
    """Correct a run's means by labels; learn base rates and chances, fit decision and metric thresholds and bands.

    Exit codes: 0; 2 usage or input; 3 incomplete (too many unusable rows).
    """
    usable, rejected = read_labels(labels)
    print_rejected(rejected, len(rejected) + len(usable))
    if not usable:
        raise InputError(f"{labels}: holds no label: make some with `ragtriage trust label`")
    with open_named_store(store, project) as there:
        named = Counter(label.run for label in usable).most_common(1)[0][0]  # among equals the one named first
        stored, config = open_run(there, run or named, threshold)
        names = str(stored.number), stored.info.identity
        joined = join_labels(names, config.metrics, stored.records(), usable)
        if not joined.metrics:
            reasons = "; ".join(f"{count} {reason}" for reason, count in joined.unused.items())
            which = "its only label can't" if len(usable) == 1 else f"none of its {len(usable)} labels can"
            raise InputError(f"{labels}: {which} be used for run {stored.number}: {reasons}")
        found = calibrated(joined, config.metrics, stored.info.judge, stored.info.fingerprints, config.thresholds)
        if write is not None and found.settings:
            write_settings(write, found.settings, found.replaced)
        corrections = {name: as_builtins(one) for name, one in found.corrections().items()}
        before = stored.info.configuration.get(CORRECTIONS, {})
        there.add_to_configuration(stored.number, CORRECTIONS, {**before, **corrections})
    earlier = [name for name in before if name not in corrections]
    if earlier:
        tell(f"note: kept with the run by other labels, and left as it was: {', '.join(earlier)}")
    written = None if write is None else str(write)
    print_found(
        lambda: {"run": stored.number, **found.as_json(), "earlier": earlier},
        lambda: calibration_document(found, f"run {stored.number}", str(labels), written),
        as_json=as_json,
    )
    exit_if(incomplete=too_many(rejected, len(usable)))
