"""`ragtriage testset phrase`: query templates in, phrasings by linguistic criterion out."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ragtriage.cli.exits import INCOMPLETE
from ragtriage.cli.judging_options import JudgeFlags, choice_from, with_judge_flags
from ragtriage.cli.options import Config, Where, place_of, settings_from
from ragtriage.cli.stopping import stoppable
from ragtriage.core.errors import InputError
from ragtriage.judges.build import ConfiguredJudge
from ragtriage.judges.llm.ledger import Ledger, dollars
from ragtriage.report.making_document import phrasings_document, refused_document
from ragtriage.report.terminal import print_document
from ragtriage.report.words import plural
from ragtriage.store import open_store
from ragtriage.testset.making.filling_files import read_fillings
from ragtriage.testset.making.phrasing import (
    NAMES,
    Added,
    Criterion,
    Phrased,
    added,
    criteria_named,
    lacking,
    phrase,
    phrase_with,
)
from ragtriage.testset.making.schema import Schema
from ragtriage.testset.making.schema_file import read_schema
from ragtriage.testset.making.template import QueryTemplate, TextTemplate
from ragtriage.testset.making.template_files import phrasings_text, read_phrasings, read_templates
from ragtriage.testset.making.yaml_files import write_whole

SHOWN = 10
"""Unusable entries that are quoted; all are counted."""
RULES = "rules"


@with_judge_flags
def phrase_templates(  # noqa: PLR0913  # a command's flags are its arguments
    templates: Annotated[
        Path, typer.Argument(help="Folder of the test set, or templates.yaml with schema.yaml beside it.")
    ],
    *,
    judging: JudgeFlags,
    criteria: Annotated[
        str | None, typer.Option(help=f"Which, by commas: {', '.join(NAMES)} [default: all of them].")
    ] = None,
    own: Annotated[
        list[str] | None,
        typer.Option(help='A criterion of your own in words, "as a child would ask"; needs --judge; may be repeated.'),
    ] = None,
    per_criterion: Annotated[int, typer.Option(help="Phrasings of a template under each.", min=1)] = 1,
    seed: Annotated[int, typer.Option(help="Which of the possible phrasings are taken.", min=0)] = 0,
    again: Annotated[
        bool, typer.Option("--again", help="Make those anew that the same rules, or the same model, made before.")
    ] = False,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="[default: phrasings.yaml beside them].")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    store: Where = None,
    config: Config = None,
) -> None:
    """Put query templates into words: by rule, or with --judge PROVIDER:MODEL by a language model.

    No value of fillings.jsonl may stand in a phrasing, if that file is there. What phrasings.yaml has already is kept,
    and only what is missing is made. Exit codes: 0; 2 usage or input; 3 incomplete (the model failed or was stopped;
    the same command goes on).
    """
    wanted = criteria_named([name.strip() for name in criteria.split(",")] if criteria else (), own or ())
    if not templates.exists():
        raise InputError(f"{templates}: there is no such folder or file: `ragtriage testset templates` writes one")
    folder, file = (templates, templates / "templates.yaml") if templates.is_dir() else (templates.parent, templates)
    schema = read_schema(folder / "schema.yaml")
    read = read_templates(file, schema)
    _say("templates", read.refused)
    target = out or folder / "phrasings.yaml"
    there = _there(target, read.templates)
    choice = choice_from(judging, settings_from(config, None))
    chosen = ConfiguredJudge(choice) if judging.judge else None  # settings that name a model ask nobody: it costs money
    maker = chosen.config.names[0] if chosen else RULES
    if again:
        names = {one.name for one in wanted}
        there = [one for one in there if not (one.made_by == maker and one.criterion in names)]
    values = _values(folder / "fillings.jsonl", read.templates)
    open_ones = lacking(read.templates, wanted, there, maker, per_criterion)
    if chosen:
        phrased = _by_model(chosen, schema, open_ones, wanted, per_criterion, seed, values, place_of(store))
    else:
        phrased = phrase(schema, open_ones, wanted, per_criterion=per_criterion, seed=seed, values=values)
    found = added(read.templates, wanted, there, phrased.texts, per_criterion)
    if not found.texts:
        first = f" The first reason: {phrased.without[0].reason}" if phrased.without else ""
        raise InputError(f"{file}: no phrasing could be made.{first}")
    if found.new or again:
        write_whole(target, phrasings_text(found.texts))
    _report(target, found, phrased, chosen.ledger if chosen else None, as_json=as_json)
    if phrased.stopped or phrased.failed:
        raise typer.Exit(INCOMPLETE)


def _there(path: Path, templates: Sequence[QueryTemplate]) -> list[TextTemplate]:
    """The phrasings that the file has; none if there is no file.

    Raises:
        InputError: the file can't be read, or an entry can't be used: it would be lost where the file is written anew.
    """
    if not path.exists():
        return []
    read = read_phrasings(path, templates)
    if read.refused:
        raise InputError(
            f"{path} has {plural(len(read.refused), 'entry', 'entries')} that can't be used: repair or delete them, "
            f"or write elsewhere with -o. The first: {read.refused[0]}"
        )
    return list(read.phrasings)


def _values(path: Path, templates: Sequence[QueryTemplate]) -> Mapping[str, Sequence[str]]:
    """The values that will be filled in and the answers, where they are known already; none if there is no file.

    Raises:
        InputError: the file can't be read, or holds nothing that can be used.
    """
    found: dict[str, dict[str, None]] = {}
    selected = {one.id: f"{one.shape.table}.{one.shape.select}" for one in templates if one.shape}
    if path.exists():
        for filling in read_fillings(path, templates).fillings:
            answer = filling.answer.value
            said = {selected.get(filling.template, ""): answer, **filling.values}
            for name, value in said.items():
                if isinstance(value, str | int | float) and not isinstance(value, bool):
                    found.setdefault(name, {})[str(value)] = None
    return {name: tuple(some) for name, some in found.items()}


def _by_model(  # what a model needs to know
    chosen: ConfiguredJudge,
    schema: Schema,
    templates: Sequence[QueryTemplate],
    criteria: Sequence[Criterion],
    count: int,
    seed: int,
    values: Mapping[str, Sequence[str]],
    place: str | None,
) -> Phrased:
    """Phrasings by the model that was named; its replies are kept in the store as they come."""
    with ExitStack() as stack:
        opened = stack.enter_context(open_store(place))
        writer = chosen.writer(opened.answers(), tickets=opened.tickets())
        stack.enter_context(stoppable(chosen))
        found = phrase_with(
            writer,
            schema,
            templates,
            criteria,
            per_criterion=count,
            seed=seed,
            values=values,
            together=chosen.config.options.batch_size,
        )
        chosen.settle()
        return found


def _report(path: Path, found: Added, phrased: Phrased, ledger: Ledger | None, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(_numbers(path, found, phrased, ledger), ensure_ascii=False) + "\n")
    else:
        console = Console()
        head = f"{path}: {plural(found.new, 'new phrasing')}, {found.kept:,} were there"
        sys.stdout.write(f"{head}\n\n" if found.new else f"{head}; nothing was missing that can be made\n\n")
        print_document(console, phrasings_document(found.texts))
        if phrased.refused or phrased.without:
            console.print()
        print_document(console, refused_document(phrased))
        if ledger:
            price = f", {dollars(ledger.cost)}" if ledger.cost else ""  # of a model without a price nothing is known
            sys.stdout.write(f"{plural(ledger.requests, 'request')}{price}\n")
    if phrased.stopped:
        sys.stderr.write(f"{phrased.stopped}\n")


def _numbers(path: Path, found: Added, phrased: Phrased, ledger: Ledger | None) -> dict[str, Any]:
    by_criterion: dict[str, int] = {}
    for one in found.texts:
        by_criterion[one.criterion] = by_criterion.get(one.criterion, 0) + 1

    def listed(some: Sequence[Any]) -> list[dict[str, str]]:
        return [
            {"template": one.template, "criterion": one.criterion, "reason": one.reason, "text": one.text}
            for one in some
        ]

    return {
        "file": str(path),
        "phrasings": len(found.texts),
        "new": found.new,
        "kept": found.kept,
        "by_criterion": by_criterion,
        "refused": listed(phrased.refused),
        "without": listed(phrased.without),
        "stopped": phrased.stopped,
        "failed": phrased.failed,
        "requests": ledger.requests if ledger else 0,
        "cost": ledger.cost if ledger else 0.0,
    }


def _say(what: str, refused: Sequence[str]) -> None:
    """Entries of a file that can't be used, on standard error."""
    if refused:
        sys.stderr.write(f"{len(refused):,} {what} can't be used:\n")
        sys.stderr.write("".join(f"  {one}\n" for one in refused[:SHOWN]))
        if len(refused) > SHOWN:
            sys.stderr.write(f"  and {len(refused) - SHOWN:,} more\n")
