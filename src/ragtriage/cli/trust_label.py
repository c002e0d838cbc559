"""`ragtriage trust label`: a person labels what the judge judged, without seeing what it said."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, TextIO

import typer
from rich.console import Console

from ragtriage.cli.exits import INCOMPLETE
from ragtriage.cli.options import Run, Where, place_of
from ragtriage.cli.trust_app import say_unusable, trust
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.record import Record
from ragtriage.report.agreement_document import PICKED, labels_document
from ragtriage.report.terminal import print_document
from ragtriage.store import Store, StoredRun, open_store
from ragtriage.trust.items import Drawn, Item, draw, items_of, labelled_metrics
from ragtriage.trust.items import pick as pick_items
from ragtriage.trust.label_files import LabelFile
from ragtriage.trust.labelling import Ask, Session, compare, draw_name
from ragtriage.trust.labels import Label
from ragtriage.trust.screen import KEYS, LINES, WIDTH, screen

_CLEAR = "\x1b[2J\x1b[H"
_WORDS = {"yes": "y", "no": "n", "skip": "s", "back": "b", "everything": "e", "quit": "q"}


@trust.command("label")
def label(  # noqa: PLR0913  # a command's flags are its arguments
    run: Run = "last",
    *,
    n: Annotated[int, typer.Option("--n", help="How many items are drawn.", min=1)] = 20,
    metric: Annotated[
        list[str] | None,
        typer.Option(help="Which metric's components, or all; may be repeated [default: groundedness]."),
    ] = None,
    pick: Annotated[str, typer.Option(help="random, or disagreements: where trouble is likely.")] = "random",
    against: Annotated[
        str | None, typer.Option(help="With --pick disagreements: another run of the same cases.")
    ] = None,
    by: Annotated[str, typer.Option(help="Your name, kept with your labels.")] = "",
    out: Annotated[Path, typer.Option("-o", "--out", help="Where labels go; what is there is gone on with.")] = Path(
        "labels.jsonl"
    ),
    seed: Annotated[int, typer.Option(help="Of the draw.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output, at the end.")] = False,
    store: Where = None,
) -> None:
    """Label components of a run yourself, blind: the judge's verdicts are shown at the end, beside yours.

    Every label is kept at once; the same command goes on where you stopped. Keys, each with Enter: y, n, s (skip), b
    (back), e (everything that the item is held against), q (quit).

    Exit codes: 0 all are labelled; 2 usage or input; 3 there is more to label.
    """
    if pick not in {"random", "disagreements"}:
        raise ConfigError(f"--pick {pick}: use random or disagreements")
    if against is not None and pick == "random":
        raise ConfigError("--against goes with --pick disagreements")
    shown = sys.stderr if as_json else sys.stdout
    with open_store(place_of(store), create=False) as there, LabelFile(out) as file:
        stored = there.run(run)
        say_unusable(file.rejected, len(file.labels))
        metrics = labelled_metrics(metric or ["groundedness"], stored.info.metrics)
        items = _items(stored, metrics)
        if not items:
            raise InputError(f"run {stored.number} shows no component of {', '.join(metrics)}: nothing can be labelled")
        if pick == "random":
            sample, drawn = draw(items, n, seed), draw_name(metrics, len(items), seed)
        else:
            sample, drawn = pick_items(items, n, seed, _other(there, against, metrics)), ""
            shown.write(f"{textwrap.fill(PICKED, WIDTH)}\n")
        session = Session(file, str(stored.number), sample, by, drawn)
        before = len(session.labels)
        if len(sample) < n:
            shown.write(f"run {stored.number} has {len(sample)} such items: all of them are asked\n")
        if before and not session.done:
            shown.write(f"going on in {out}: {before} of {len(sample)} were labelled before\n")
        finished = _worked(session, _asking(stored.record, len(sample), shown), shown)
        if not finished:
            left = len(sample) - len(session.labels)
            shown.write(f"\n{left} of {len(sample)} are left; the same command goes on. Labels are in {out}\n")
            raise typer.Exit(INCOMPLETE)
    if as_json:
        found = compare(session.labels)
        more = {"pick": pick, "file": str(out), "disagreements": [asdict(one) for one in found.disagreements]}
        sys.stdout.write(json.dumps({"run": stored.number, **found.as_json(), **more}, ensure_ascii=False) + "\n")
    else:
        sys.stdout.write("\n")
        print_document(Console(), labels_document(session.labels, str(out)))


def _items(stored: StoredRun, metrics: tuple[str, ...]) -> list[Item]:
    return [item for record in stored.records() for item in items_of(record, metrics)]


def _other(there: Store, against: str | None, metrics: tuple[str, ...]) -> list[Item]:
    return [] if against is None else _items(there.run(against), metrics)


def _worked(session: Session, ask: Ask, shown: TextIO) -> bool:
    try:
        return session.work(ask)
    except KeyboardInterrupt:
        shown.write("\n")
        return False


def _asking(record: Callable[[str], Record], count: int, shown: TextIO) -> Ask:
    """Asks on a screen of its own where there is a terminal, else line by line; the end of the input is a q."""
    terminal = shown.isatty()
    lines = max(LINES, shutil.get_terminal_size().lines) if terminal else LINES

    def ask(drawn: Drawn, at: int, before: Label | None) -> str:
        case = record(drawn.item.case)
        place = f"{at + 1} of {count}{', picked' if drawn.chance is None else ''}"
        whole = False
        while True:
            page = screen(drawn.item, case, place, whole=whole, lines=lines)
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
