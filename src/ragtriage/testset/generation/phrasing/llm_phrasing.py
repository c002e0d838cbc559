"""Phrasings by a language model, verified like all others; what fails is told to it once, and asked for again."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ragtriage.core.errors import ConfigError, JudgeError
from ragtriage.core.verdicts import Failure
from ragtriage.judges.llm.fencing import quoted
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
from ragtriage.testset.generation.phrasing.rule_phrasing import PhrasingResult, RefusedPhrasing
from ragtriage.testset.generation.phrasing.styles import with_typos
from ragtriage.testset.generation.prompts import prompt_text
from ragtriage.testset.generation.query_templates import QueryTemplate, TextTemplate
from ragtriage.testset.generation.schema import Schema

ROUNDS = 2
"""How often a template's phrasings are asked for: at first, and where some were refused."""
TYPOS, QUESTION = "typos", "question"
TRIES = 20
"""Draws of typing mistakes for one phrasing."""
TOKENS = 120
"""Of a phrasing in a reply, at most and with room; a model may think before."""
THOUGHT = 4_000


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
                self.refused.append(
                    RefusedPhrasing(self.template.id, criterion.name, str(error), text, self.writer.name)
                )
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
    together: int = 32,
) -> PhrasingResult:
    """Phrasings of query templates that a language model writes.

    Typing mistakes are made by rule in the plain questions that it writes, since a model would be paid for nothing.

    Args:
        writer: the model.
        schema: the database's.
        templates: with or without a shape.
        criteria: a user's own as well.
        per_criterion: how many phrasings, at least 1.
        seed: of the typing mistakes.
        values: see `ragtriage.testset.generation.phrasing.phrase`. The model doesn't see them.
        together: the most criteria in one request.

    Returns:
        What was written. Where the model stopped, failed, or wrote too few, `stopped` and `without` say so; what was
        paid for is kept, and the same call goes on from there.

    Raises:
        ConfigError: `per_criterion` is below 1.
        StoreError: what it writes can't be kept.
    """
    if per_criterion < 1:
        raise ConfigError(f"--per-criterion {per_criterion}: give at least 1")
    known = dict(values or {})
    leaks = ValueLeakDetector(known)
    works = []
    for template in templates:
        required = requirements_of(schema, template, _plains(schema, template), known, leaks)
        works.append(_Work(schema, template, required, writer, per_criterion))
    stops = asyncio.run(_all(works, criteria, seed, together))
    return _collected(works, criteria, next((stop for stop in stops if stop), ""))


async def _all(works: Sequence[_Work], criteria: Sequence[Criterion], seed: int, together: int) -> list[str]:
    return await asyncio.gather(*(_written(work, criteria, seed, together) for work in works))


async def _written(work: _Work, criteria: Sequence[Criterion], seed: int, together: int) -> str:
    """Have one template phrased; why it was stopped, if it was."""
    by_model = [one for one in criteria if one.name != TYPOS]
    mistyped = next((one for one in criteria if one.name == TYPOS), None)
    if mistyped and not any(one.name == QUESTION for one in by_model):
        by_model.append(next(one for one in CRITERIA if one.name == QUESTION))
    try:
        for _ in range(ROUNDS):
            lacking = work.lacking(by_model)
            portions = [lacking[i : i + together] for i in range(0, len(lacking), together)]
            for portion, said in zip(portions, await asyncio.gather(*(_asked(work, p) for p in portions)), strict=True):
                if isinstance(said, Failure):
                    work.failed = said.cause
                    continue
                for number, criterion in enumerate(portion, 1):
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


async def _asked(work: _Work, criteria: Sequence[Criterion]) -> Lists | Failure:
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
            without.append(RefusedPhrasing(work.template.id, one.name, why, made_by=work.writer.name))
    return PhrasingResult(
        tuple(text for work in works for name in wanted for text in work.found.get(name, ())),
        tuple(one for work in works for one in work.refused if one.criterion in wanted),
        tuple(without),
        stopped,
        sum(1 for work in works if work.failed),
    )
