"""`ragtriage testset write` and `phrase`: query templates by a language model, and templates put into words."""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TypeVar

from ragtriage.cli.console import exit_if, print_json, show, tell
from ragtriage.cli.flags import command, parse_names
from ragtriage.cli.input_files import print_rejected
from ragtriage.cli.judge import JudgeFlags, spending
from ragtriage.core.display import one_line, plural
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.judges.budget import Ledger
from ragtriage.report.testset_document import phrasings_document, refused_document
from ragtriage.testset.generation.build import FILLINGS, PHRASINGS, SCHEMA, TEMPLATES
from ragtriage.testset.generation.fillings import read_fillings, values_of
from ragtriage.testset.generation.llm_writing import TemplatesWritten, phrase_by_model, write_templates
from ragtriage.testset.generation.phrasing.criteria import criteria_named
from ragtriage.testset.generation.phrasing.rule_phrasing import RULES, PhrasingResult, added, lacking, phrase
from ragtriage.testset.generation.query_templates import TextTemplate
from ragtriage.testset.generation.schema import read_schema, write_whole
from ragtriage.testset.generation.template_files import (
    Read,
    phrasings_text,
    read_phrasings,
    read_templates,
    templates_text,
)

T = TypeVar("T")
REFUSED_SHOWN = 5
"""Refused templates that are quoted; all are counted."""


@command("testset write")
def write(
    folder: Path = Path("testset"),
    *,
    require: list[str] | None = None,
    per_table: int = 10,
    as_json: bool = False,
    judge_flags: JudgeFlags,
) -> None:
    """Have the language model of --judge write query templates, and add them to templates.yaml.

    It sees the schema and no row. Every template is checked against the schema. Exit codes: 0; 2 usage or input; 3
    incomplete (the model failed or was stopped; the same command continues).
    """
    if not judge_flags.judge:
        raise ConfigError("a language model writes templates: name one with --judge PROVIDER:MODEL")
    judging = judge_flags.begin()
    schema = read_schema(folder / SCHEMA)
    target = folder / TEMPLATES
    there = _existing(target, partial(read_templates, schema=schema))
    with judging.writing() as writer:
        written = write_templates(writer, schema, require or (), per_table=per_table)
    known = {one.id for one in there}
    new = [one for one in written.templates if one.id not in known]
    if new:
        write_whole(target, templates_text([*there, *new]))
    numbers = {
        "file": str(target),
        "new": len(new),
        "kept": len(there),
        "duplicates": written.duplicates + len(written.templates) - len(new),
        "refused": [asdict(one) for one in written.refused],
        "failed": list(written.failed),
        "stopped": written.stopped,
        "requests": judging.session.ledger.requests,
        "cost": judging.session.ledger.cost,
    }
    if as_json:
        print_json(numbers)
    else:
        _print_written(target, len(new), len(there), numbers["duplicates"], written)
        sys.stdout.write(f"{spending(judging.session.ledger)}\n")
    tell(*(sentence for sentence in (*written.failed, written.stopped) if sentence))
    exit_if(incomplete=written.stopped or written.failed)


@command("testset phrase")
def phrase_templates(
    folder: Path = Path("testset"),
    *,
    criteria: str | None = None,
    own: list[str] | None = None,
    per_criterion: int = 1,
    seed: int = 0,
    again: bool = False,
    as_json: bool = False,
    judge_flags: JudgeFlags,
) -> None:
    """Put query templates into words: by rule, or with --judge PROVIDER:MODEL by a language model.

    No value of fillings.jsonl may stand in a phrasing, if that file is there. What phrasings.yaml has already is kept,
    and only what is missing is made. Exit codes: 0; 2 usage or input; 3 incomplete (the model failed or was stopped;
    the same command continues).
    """
    wanted = criteria_named(parse_names(criteria), own or ())
    file, target = folder / TEMPLATES, folder / PHRASINGS
    schema = read_schema(folder / SCHEMA)
    read, refused = read_templates(file, schema)
    print_rejected(refused, len(refused) + len(read), what="templates")
    there = _existing(target, partial(read_phrasings, templates=read))
    judging = judge_flags.begin()
    session = judging.session if judge_flags.judge else None  # settings that name a model ask nobody: it costs money
    maker = session.config.names[0] if session else RULES
    if again:
        names = {one.name for one in wanted}
        there = [one for one in there if not (one.made_by == maker and one.criterion in names)]
    fillings = folder / FILLINGS
    values = values_of(read_fillings(fillings, read)[0], read) if fillings.exists() else {}
    open_ones = lacking(read, wanted, there, maker, per_criterion)
    if session:
        with judging.writing() as writer:
            phrased = phrase_by_model(
                writer, schema, open_ones, wanted, per_criterion=per_criterion, seed=seed, values=values
            )
    else:
        phrased = phrase(schema, open_ones, wanted, per_criterion=per_criterion, seed=seed, values=values)
    texts = added(read, wanted, there, phrased.texts, per_criterion)
    if not texts:
        first = f" The first reason: {phrased.without[0].reason}" if phrased.without else ""
        raise InputError(f"{file}: no phrasing could be made.{first}")
    if len(texts) > len(there) or again:
        write_whole(target, phrasings_text(texts))
    _report(target, texts, len(there), phrased, session.ledger if session else None, as_json=as_json)
    exit_if(incomplete=phrased.stopped or phrased.failed)


def _existing(path: Path, read: Callable[[Path], Read[T]]) -> list[T]:
    """The templates or phrasings that a file has; none if there is no file, an InputError if one can't be used."""
    if not path.exists():
        return []
    found, refused = read(path)
    if refused:
        raise InputError(
            f"{path} has {plural(len(refused), 'entry', 'entries')} that can't be used: repair or delete them. The "
            f"first: {refused[0]}"
        )
    return [*found]


def _report(  # what there is to tell
    path: Path,
    texts: Sequence[TextTemplate],
    kept: int,
    phrased: PhrasingResult,
    ledger: Ledger | None,
    *,
    as_json: bool,
) -> None:
    new = len(texts) - kept
    if as_json:
        print_json(
            {
                "file": str(path),
                "phrasings": len(texts),
                "new": new,
                "kept": kept,
                "by_criterion": dict(Counter(one.criterion for one in texts)),
                "refused": [asdict(one) for one in phrased.refused],
                "without": [asdict(one) for one in phrased.without],
                "stopped": phrased.stopped,
                "failed": phrased.failed,
                "requests": ledger.requests if ledger else 0,
                "cost": ledger.cost if ledger else 0.0,
            }
        )
    else:
        head = f"{path}: {plural(new, 'new phrasing')}, {kept:,} were there"
        sys.stdout.write(f"{head}\n\n" if new else f"{head}; nothing was missing that can be made\n\n")
        show(phrasings_document(texts))
        if phrased.refused or phrased.without:
            sys.stdout.write("\n")
        show(refused_document(phrased))
        if ledger:
            sys.stdout.write(f"{spending(ledger)}\n")
    if phrased.stopped:
        tell(phrased.stopped)


def _print_written(path: Path, new: int, kept: int, duplicates: object, written: TemplatesWritten) -> None:
    sys.stdout.write(f"{path}: {plural(new, 'new template')}, {kept:,} were there, {duplicates} duplicates left out\n")
    if written.refused:
        sys.stdout.write(f"{len(written.refused):,} refused:\n")
        for one in written.refused[:REFUSED_SHOWN]:
            sys.stdout.write(f"  {one_line(one.sql, 70)}\n    {one.reason}\n")
        if (more := len(written.refused) - REFUSED_SHOWN) > 0:
            sys.stdout.write(f"  and {more:,} more\n")
