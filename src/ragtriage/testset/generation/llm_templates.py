"""Query templates that a language model writes, every one held against the schema.

The criteria are those of table 4 in GRAMMAR (Li, Liu and Gao), and the user's own requirements.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from ragtriage.core.errors import ConfigError, JudgeError
from ragtriage.core.verdicts import Failure
from ragtriage.judges.llm.fencing import quoted
from ragtriage.judges.llm.messages import Prompt
from ragtriage.judges.llm.text_writer import Lists, Writer, asking_for_lists
from ragtriage.testset.generation.prompts import prompt_text
from ragtriage.testset.generation.query_templates import QueryTemplate
from ragtriage.testset.generation.schema import Schema, Table
from ragtriage.testset.generation.sql_checks import RefusedSql, check_template

MEMBER = "templates"
NEIGHBOURS = 12
"""Tables beside the one that templates are asked for; those along its keys come first."""
TOKENS, THOUGHT = 120, 4_000


@dataclass(frozen=True, slots=True)
class RefusedTemplate:
    """SQL of a model's that can't be a template."""

    sql: str
    reason: str


@dataclass(frozen=True, slots=True)
class TemplatesWritten:
    """What a model wrote."""

    templates: tuple[QueryTemplate, ...]
    refused: tuple[RefusedTemplate, ...] = ()
    duplicates: int = 0
    """Templates that say what an earlier one says."""
    failed: tuple[str, ...] = ()
    """Why requests failed, one sentence for each table that has none for it."""
    stopped: str = ""
    """Why the model was asked no more; empty if it was asked for everything."""


def write_templates(
    writer: Writer, schema: Schema, requirements: Sequence[str] = (), *, per_table: int = 10
) -> TemplatesWritten:
    """Query templates by a language model: one request for every table that has something to ask for.

    Args:
        writer: the model; it sees the schema and no row.
        schema: what it may ask about.
        requirements: the user's own, in words: "join at least two tables".
        per_table: how many it is asked for, at least 1.

    Returns:
        The usable templates in the order of the schema's tables, each once, and what was refused.

    Raises:
        ConfigError: `per_table` is below 1, or a requirement is empty.
        MissingExtraError: the package that reads SQL isn't installed.
        StoreError: what it writes can't be kept.
    """
    if per_table < 1:
        raise ConfigError(f"--per-table {per_table}: give at least 1")
    said = [" ".join(one.split()) for one in requirements]
    if "" in said:
        raise ConfigError('--require is empty: say in words what templates must be like, as in "join two tables"')
    targets = [table for table in schema.tables if any(not column.surrogate for column in table.columns)]
    found: dict[str, QueryTemplate] = {}
    refused: list[RefusedTemplate] = []
    failed: list[str] = []
    duplicates, stopped = 0, ""
    for table, reply in zip(targets, asyncio.run(_all(writer, schema, targets, said, per_table)), strict=True):
        if isinstance(reply, JudgeError):
            stopped = stopped or str(reply)
        elif isinstance(reply, Failure):
            failed.append(f"{table.name}: {reply.cause}")
        else:
            for sql in reply[MEMBER]:
                try:
                    template = check_template(sql, schema, made_by=writer.name)
                except RefusedSql as error:
                    refused.append(RefusedTemplate(sql, str(error)))
                    continue
                duplicates += template.id in found
                found.setdefault(template.id, template)
    return TemplatesWritten(tuple(found.values()), tuple(refused), duplicates, tuple(failed), stopped)


async def _all(
    writer: Writer, schema: Schema, targets: Sequence[Table], requirements: Sequence[str], count: int
) -> list[Lists | Failure | JudgeError]:
    async def one(table: Table) -> Lists | Failure | JudgeError:
        try:
            return await writer.lists(_prompt(schema, table, requirements, count), (MEMBER,))
        except JudgeError as error:
            return error

    return await asyncio.gather(*map(one, targets))


def _prompt(schema: Schema, table: Table, requirements: Sequence[str], count: int) -> Prompt:
    """What is asked for one table: the schema around it, and what the user requires."""
    shown = "\n".join(_described(one) for one in [table, *_beside(schema, table)])
    parts = [f"Dialect: {schema.dialect}", f"Schema:\n{shown}"]
    if requirements:
        parts.append("Further requirements:\n" + "\n".join(f"- {quoted(one)}" for one in requirements))
    parts.append(f"Write up to {count} templates that select a column of {quoted(table.name)}.")
    return asking_for_lists(prompt_text("templates"), "\n\n".join(parts), (MEMBER,), THOUGHT + TOKENS * count)


def _beside(schema: Schema, table: Table) -> list[Table]:
    """The other tables, those with a key from or to this one first, as many as fit."""
    near = {key.table for key in table.foreign_keys}
    near |= {one.name for one in schema.tables for key in one.foreign_keys if key.table == table.name}
    others = [one for one in schema.tables if one.name != table.name]
    return sorted(others, key=lambda one: one.name not in near)[:NEIGHBOURS]


def _described(table: Table) -> str:
    lines = [f"table {quoted(table.name)}: one row is a {quoted(table.words)}"]
    for column in table.columns:
        said = "a record identifier" if column.surrogate else f"{quoted(column.words)}, {column.type}"
        lines.append(f"  {quoted(column.name)}: {said}" + (f" ({quoted(column.comment)})" if column.comment else ""))
    lines += [
        f"  key {', '.join(map(quoted, key.columns))} refers to {quoted(key.table)} "
        f"({', '.join(map(quoted, key.referred))}), its {quoted(key.words)}"
        for key in table.foreign_keys
    ]
    return "\n".join(lines)
