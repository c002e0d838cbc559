"""Query templates and phrasings that a language model writes, each held against the schema or its criterion.

The criteria of templates are those of table 4 in GRAMMAR (Li, Liu and Gao), and the user's own requirements. What fails
of phrasings is told to the model once, and asked for again.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Literal

from ragtriage.core.errors import ConfigError, JudgeError
from ragtriage.core.verdicts import Failure
from ragtriage.judges.llm.fencing import quoted
from ragtriage.judges.llm.options import Prompt
from ragtriage.judges.llm.text_writer import Lists, Writer, asking_for_lists
from ragtriage.testset.generation.phrasing.criteria import (
    CRITERIA,
    Criterion,
    Refusal,
    Requirements,
    ValueLeakDetector,
    requirements_of,
)
from ragtriage.testset.generation.phrasing.questions import wordings_of
from ragtriage.testset.generation.phrasing.row_descriptions import Unnameable
from ragtriage.testset.generation.phrasing.rule_phrasing import PhrasingResult, RefusedPhrasing, with_typos
from ragtriage.testset.generation.query_templates import QueryTemplate, TextTemplate
from ragtriage.testset.generation.schema import Schema, Table
from ragtriage.testset.generation.sql_checks import RefusedSql, check_template

MEMBER = "templates"
NEIGHBOURS = 12
"""Tables beside the one that templates are asked for; those along its keys come first."""
TOKENS, THOUGHT = 120, 4_000
"""Of a template or phrasing in a reply, at most and with room, and of what a model may think before."""


def prompt_text(name: Literal["phrasings", "templates"]) -> str:
    """The text of a prompt."""
    return files(__package__).joinpath("prompts", f"{name}.md").read_text("utf-8").strip()


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
    """Query templates by a language model: one request for every table that has something to ask for."""
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
    for table, reply in zip(
        targets, asyncio.run(_template_replies(writer, schema, targets, said, per_table)), strict=True
    ):
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


async def _template_replies(
    writer: Writer, schema: Schema, targets: Sequence[Table], requirements: Sequence[str], count: int
) -> list[Lists | Failure | JudgeError]:
    async def one(table: Table) -> Lists | Failure | JudgeError:
        try:
            return await writer.lists(_template_prompt(schema, table, requirements, count), (MEMBER,))
        except JudgeError as error:
            return error

    return await asyncio.gather(*map(one, targets))


def _template_prompt(schema: Schema, table: Table, requirements: Sequence[str], count: int) -> Prompt:
    """What is asked for one table: the schema around it, and what the user requires."""
    shown = "\n".join(_table_described(one) for one in [table, *_beside(schema, table)])
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


def _table_described(table: Table) -> str:
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


ROUNDS = 2
"""How often a template's phrasings are asked for: at first, and where some were refused."""
TYPOS, QUESTION = "typos", "question"
TRIES = 20
"""Draws of typing mistakes for one phrasing."""


@dataclass(slots=True)
class _Work:
    """One template under way."""

    schema: Schema
    template: QueryTemplate
    required: Requirements
    writer: Writer
    count: int
    found: dict[str, list[TextTemplate]] = field(default_factory=dict)
    refused: list[RefusedPhrasing] = field(default_factory=list)
    failed: str = ""

    def lacking(self, criteria: Sequence[Criterion]) -> list[Criterion]:
        """The criteria under which there are too few phrasings."""
        return [one for one in criteria if len(self.found.get(one.name, ())) < self.count]

    def take(self, criterion: Criterion, texts: Sequence[str], required: Requirements | None = None) -> None:
        """Verify phrasings; as many as are wanted are kept."""
        kept = self.found.setdefault(criterion.name, [])
        for text in texts:
            if len(kept) == self.count or any(text == one.text for one in kept):
                continue
            try:
                measures = (required or self.required).verify(text, criterion)
            except Refusal as error:
                self.refused.append(RefusedPhrasing(self.template.id, criterion.name, str(error), text))
            else:
                kept.append(TextTemplate(self.template.id, criterion.name, text, self.writer.name, measures))


def phrase_by_model(
    writer: Writer,
    schema: Schema,
    templates: Sequence[QueryTemplate],
    criteria: Sequence[Criterion] = CRITERIA,
    *,
    per_criterion: int = 1,
    seed: int = 0,
    values: Mapping[str, Sequence[str]] | None = None,
) -> PhrasingResult:
    """Phrasings of query templates that a language model writes.

    Typing mistakes are made by rule in the plain questions that it writes, since a model would be paid for nothing.
    """
    if per_criterion < 1:
        raise ConfigError(f"--per-criterion {per_criterion}: give at least 1")
    known = dict(values or {})
    leaks = ValueLeakDetector(known)
    works = []
    for template in templates:
        required = requirements_of(schema, template, _plains(schema, template), known, leaks)
        works.append(_Work(schema, template, required, writer, per_criterion))
    stops = asyncio.run(_all_written(works, criteria, seed))
    return _collected(works, criteria, next((stop for stop in stops if stop), ""))


async def _all_written(works: Sequence[_Work], criteria: Sequence[Criterion], seed: int) -> list[str]:
    return await asyncio.gather(*(_phrased(work, criteria, seed) for work in works))


async def _phrased(work: _Work, criteria: Sequence[Criterion], seed: int) -> str:
    """Have one template phrased; why it was stopped, if it was."""
    by_model = [one for one in criteria if one.name != TYPOS]
    mistyped = next((one for one in criteria if one.name == TYPOS), None)
    if mistyped and not any(one.name == QUESTION for one in by_model):
        by_model.append(next(one for one in CRITERIA if one.name == QUESTION))
    try:
        for _ in range(ROUNDS):
            if not (lacking := work.lacking(by_model)):
                break
            said = await _phrasings_asked(work, lacking)
            if isinstance(said, Failure):
                work.failed = said.cause
                continue
            for number, criterion in enumerate(lacking, 1):
                work.take(criterion, said[f"c{number}"])
    except JudgeError as error:
        return str(error)
    finally:
        if mistyped:
            _mistype(work, mistyped, seed)
    return ""


def _mistype(work: _Work, criterion: Criterion, seed: int) -> None:
    """Make typing mistakes in the plain questions that the model wrote."""
    plains = [one.text for one in work.found.get(QUESTION, ())]
    if not plains:
        return
    required = replace(work.required, plains=tuple(plains))  # a model's question may be far from the rules' own
    chance = random.Random(f"{seed}:{work.template.id}:{criterion.name}")  # noqa: S311  # a choice of letters
    work.take(criterion, [with_typos(plains[n % len(plains)], chance) for n in range(TRIES)], required)


async def _phrasings_asked(work: _Work, criteria: Sequence[Criterion]) -> Lists | Failure:
    """Ask for one template: its SQL, what the names mean, the criteria, and what was refused."""
    template, words = work.template, []
    for table in work.schema.tables:
        if table.name in template.tables:
            words.append(f"{quoted(table.name)}: one row is a {quoted(table.words)}")
            words += [
                f"{quoted(f'{table.name}.{c.name}')}: {quoted(c.words)}" + (f" ({quoted(c.comment)})" * bool(c.comment))
                for c in table.columns
                if not c.surrogate
            ]
    parts = [
        f"SQL: {quoted(template.sql)}",
        "Placeholders: " + ", ".join(quoted(f"[{name}]") for name in template.placeholders),
    ]
    if words:
        parts.append("What the names mean:\n" + "\n".join(words))
    if work.required.plains:
        parts.append(f"One plain way of asking: {quoted(work.required.plains[0])}")
    names = {criterion.name: f"c{number}" for number, criterion in enumerate(criteria, 1)}
    asked = "\n".join(f"{names[one.name]}: {quoted(one.says) if one.own else one.says}" for one in criteria)
    parts.append(f"Write {work.count} under each of these criteria:\n{asked}")
    refused = [one for one in work.refused if one.criterion in names]
    if bad := [f"- {names[one.criterion]}: {quoted(one.text)}: {one.reason}" for one in refused]:
        parts.append("These can't be used; write others:\n" + "\n".join(bad))
    members = tuple(names.values())
    room = THOUGHT + TOKENS * work.count * len(members)
    prompt = asking_for_lists(prompt_text("phrasings"), "\n\n".join(parts), members, room)
    return await work.writer.lists(prompt, members)


def _plains(schema: Schema, template: QueryTemplate) -> list[str]:
    """The rules' plain questions; none if they know none."""
    try:
        return [f"{one.direct}?" for one in wordings_of(schema, template)]
    except Unnameable:
        return []


def _collected(works: Sequence[_Work], criteria: Sequence[Criterion], stopped: str) -> PhrasingResult:
    wanted = [one.name for one in criteria]
    without = []
    for work in works:
        for one in work.lacking(criteria):
            has = len(work.found.get(one.name, ()))
            why = work.failed or stopped or f"the model wrote {has} of {work.count} that can be used"
            without.append(RefusedPhrasing(work.template.id, one.name, why))
    return PhrasingResult(
        tuple(text for work in works for name in wanted for text in work.found.get(name, ())),
        tuple(one for work in works for one in work.refused if one.criterion in wanted),
        tuple(without),
        stopped,
        sum(1 for work in works if work.failed),
    )
