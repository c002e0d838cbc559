"""`templates.yaml` and `phrasings.yaml`: query templates and their phrasings as a person edits them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragtriage.core.errors import InputError
from ragtriage.testset.generation.query_templates import QueryTemplate, TextTemplate
from ragtriage.testset.generation.schema import Schema
from ragtriage.testset.generation.sql_checks import PLACEHOLDER, Refused, check_template
from ragtriage.testset.generation.yaml_files import read_yaml, yaml_text

TEMPLATES = """
Query templates: SQL with placeholders [table.column], where values will stand. You may delete, edit and add some; a new
one needs only its sql. Every one is checked against schema.yaml when this file is read. The id is made from the SQL:
leave it as it is, or out.
"""
PHRASINGS = """
Phrasings of the query templates by linguistic criterion. You may delete, edit and add some; a new one needs template
(the id of one in templates.yaml), criterion and text, with the same placeholders as the template.
"""


@dataclass(frozen=True, slots=True)
class TemplatesRead:
    """Templates that can be used, and sentences about those that can't."""

    templates: tuple[QueryTemplate, ...]
    refused: tuple[str, ...]
    duplicates: int = 0
    """Entries whose SQL says what an earlier one says."""


@dataclass(frozen=True, slots=True)
class PhrasingsRead:
    """Phrasings that can be used, and sentences about those that can't."""

    phrasings: tuple[TextTemplate, ...]
    refused: tuple[str, ...]
    duplicates: int = 0


def templates_text(templates: Iterable[QueryTemplate]) -> str:
    """Templates as the text of their file."""
    entries = [{"id": one.id, "made_by": one.made_by, "sql": one.sql} for one in templates]
    return yaml_text({"templates": entries}, TEMPLATES)


def read_templates(path: Path, schema: Schema) -> TemplatesRead:
    """The templates of a file, checked against the schema; one that fails is refused and the others go on.

    Raises:
        InputError: the file can't be read, or holds no usable template.
    """
    found: dict[str, QueryTemplate] = {}
    refused: list[str] = []
    duplicates = 0
    for entry in read_yaml(path).entries("templates", "id"):
        try:
            entry.only({"id", "sql", "made_by"})
            made = check_template(entry.text("sql"), schema, entry.text("made_by", "written"))
        except Refused as why:
            refused.append(f"{path}: {entry.where}: sql: {why}")
        except InputError as why:
            refused.append(str(why))
        else:
            duplicates += made.id in found
            found.setdefault(made.id, made)
    if not found:
        raise InputError(f"{path}: no template can be used.{' The first: ' + refused[0] if refused else ''}")
    return TemplatesRead(tuple(found.values()), tuple(refused), duplicates)


def phrasings_text(phrasings: Iterable[TextTemplate]) -> str:
    """Phrasings as the text of their file."""
    entries = [
        {
            "template": one.template,
            "criterion": one.criterion,
            "text": one.text,
            "made_by": one.made_by,
            **({"measures": dict(one.measures)} if one.measures else {}),
        }
        for one in phrasings
    ]
    return yaml_text({"phrasings": entries}, PHRASINGS)


def read_phrasings(path: Path, templates: Sequence[QueryTemplate]) -> PhrasingsRead:
    """The phrasings of a file; one that doesn't fit its template is refused and the others go on.

    Raises:
        InputError: the file can't be read, or holds no usable phrasing.
    """
    known = {template.id: template for template in templates}
    found: dict[tuple[str, str, str], TextTemplate] = {}
    refused: list[str] = []
    duplicates = 0
    for entry in read_yaml(path).entries("phrasings", "template"):
        try:
            entry.only({"template", "criterion", "text", "made_by", "measures"})
            one = TextTemplate(
                entry.text("template"),
                entry.text("criterion"),
                entry.text("text"),
                entry.text("made_by", "written"),
                _measures(entry.values.get("measures")),
            )
            if one.template not in known:
                raise entry.error("template", f"is {one.template!r}, which isn't in templates.yaml")
            if wrong := misplaced(one.text, known[one.template]):
                raise entry.error("text", wrong)
        except InputError as why:
            refused.append(str(why))
        else:
            duplicates += (one.template, one.criterion, one.text) in found
            found.setdefault((one.template, one.criterion, one.text), one)
    if not found:
        raise InputError(f"{path}: no phrasing can be used.{' The first: ' + refused[0] if refused else ''}")
    return PhrasingsRead(tuple(found.values()), tuple(refused), duplicates)


def misplaced(text: str, template: QueryTemplate) -> str:
    """What is wrong with the placeholders of a phrasing; empty if nothing is."""
    there = set(PLACEHOLDER.findall(text))
    for name in template.placeholders:
        if f"[{name}]" not in text:
            return f"lacks the placeholder [{name}]"
    added = sorted(there - set(template.placeholders))
    return f"has the placeholder [{added[0]}], which its template hasn't" if added else ""


def _measures(values: object) -> dict[str, float]:
    if not isinstance(values, dict):
        return {}
    return {str(name): float(value) for name, value in values.items() if isinstance(value, int | float)}
