"""`ragtriage testset write`: a language model writes query templates, beside those that there are."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from ragtriage.cli.exits import INCOMPLETE
from ragtriage.cli.judging_options import JudgeFlags, choice_from, with_judge_flags
from ragtriage.cli.options import Config, Where, place_of, settings_from
from ragtriage.cli.stopping import stoppable
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.judges.build import ConfiguredJudge
from ragtriage.judges.llm.ledger import dollars
from ragtriage.report.sanitize import one_line
from ragtriage.report.words import plural
from ragtriage.store import open_store
from ragtriage.testset.making.schema import Schema
from ragtriage.testset.making.schema_file import read_schema
from ragtriage.testset.making.template import QueryTemplate
from ragtriage.testset.making.template_files import read_templates, templates_text
from ragtriage.testset.making.template_writing import TemplatesWritten, write_templates
from ragtriage.testset.making.yaml_files import write_whole

SHOWN = 5
"""Refused templates that are quoted; all are counted."""


@with_judge_flags
def write_by_model(
    folder: Annotated[Path, typer.Argument(help="Folder of the test set, with schema.yaml.")] = Path("testset"),
    *,
    judging: JudgeFlags,
    require: Annotated[
        list[str] | None,
        typer.Option(help='What templates must be like, in words: "join two tables"; may be repeated.'),
    ] = None,
    per_table: Annotated[int, typer.Option(help="Templates asked for, for each table.", min=1)] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    store: Where = None,
    config: Config = None,
) -> None:
    """Have the language model of --judge write query templates, into templates.yaml beside those there are.

    It sees the schema and no row. Every template is checked against the schema. Exit codes: 0; 2 usage or input; 3
    incomplete (the model failed or was stopped; the same command goes on).
    """
    if not judging.judge:
        raise ConfigError("a language model writes templates: name one with --judge PROVIDER:MODEL")
    settings = settings_from(config, None)
    chosen = ConfiguredJudge(choice_from(judging, settings))
    schema = read_schema(folder / "schema.yaml")
    target = folder / "templates.yaml"
    there = _there(target, schema)
    with open_store(place_of(store, settings)) as opened:
        writer = chosen.writer(opened.answers(), tickets=opened.tickets())
        with stoppable(chosen):
            written = write_templates(writer, schema, require or (), per_table=per_table)
        chosen.settle()
    known = {one.id for one in there}
    new = [one for one in written.templates if one.id not in known]
    if new:
        write_whole(target, templates_text([*there, *new]))
    numbers = {
        "file": str(target),
        "new": len(new),
        "kept": len(there),
        "duplicates": written.duplicates + len(written.templates) - len(new),
        "refused": [{"sql": one.sql, "reason": one.reason} for one in written.refused],
        "failed": list(written.failed),
        "stopped": written.stopped,
        "requests": chosen.ledger.requests,
        "cost": chosen.ledger.cost,
    }
    if as_json:
        sys.stdout.write(json.dumps(numbers, ensure_ascii=False) + "\n")
    else:
        _show(target, len(new), len(there), numbers["duplicates"], written)
        price = f", {dollars(chosen.ledger.cost)}" if chosen.ledger.cost else ""  # without a price nothing is known
        sys.stdout.write(f"{plural(chosen.ledger.requests, 'request')}{price}\n")
    for sentence in (*written.failed, written.stopped):
        if sentence:
            sys.stderr.write(f"{sentence}\n")
    if written.stopped or written.failed:
        raise typer.Exit(INCOMPLETE)


def _there(path: Path, schema: Schema) -> tuple[QueryTemplate, ...]:
    """The templates that the file has; none if there is no file.

    Raises:
        InputError: the file can't be read, or an entry can't be used: it would be lost where the file is written anew.
    """
    if not path.exists():
        return ()
    read = read_templates(path, schema)
    if read.refused:
        raise InputError(
            f"{path} has {plural(len(read.refused), 'entry', 'entries')} that can't be used: repair or delete them. "
            f"The first: {read.refused[0]}"
        )
    return read.templates


def _show(path: Path, new: int, kept: int, duplicates: object, written: TemplatesWritten) -> None:
    sys.stdout.write(f"{path}: {plural(new, 'new template')}, {kept:,} were there, {duplicates} duplicates left out\n")
    if written.refused:
        sys.stdout.write(f"{len(written.refused):,} refused:\n")
        for one in written.refused[:SHOWN]:
            sys.stdout.write(f"  {one_line(one.sql, 70)}\n    {one.reason}\n")
        more = Counter(one.reason for one in written.refused[SHOWN:])
        if more:
            sys.stdout.write(f"  and {sum(more.values()):,} more\n")
