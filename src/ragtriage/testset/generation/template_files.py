"""`templates.yaml` and `phrasings.yaml`: query templates and their phrasings as a person edits them."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from ragtriage.core.errors import InputError
from ragtriage.core.validation import STRICT
from ragtriage.testset.generation.query_templates import QueryTemplate, TextTemplate, placeholder_problem
from ragtriage.testset.generation.schema import Schema, YamlEntry, read_yaml, yaml_text
from ragtriage.testset.generation.sql_checks import RefusedSql, check_template

TEMPLATES = """
Query templates: SQL with placeholders [table.column], where values will stand. You may delete, edit and add some; a new
one needs only its sql. Every one is checked against schema.yaml when this file is read. The id is made from the SQL:
leave it as it is, or out.
"""
PHRASINGS = """
Phrasings of the query templates by linguistic criterion. You may delete, edit and add some; a new one needs template
(the id of one in templates.yaml), criterion and text, with the same placeholders as the template.
"""
T = TypeVar("T")


Read = tuple[tuple[T, ...], tuple[str, ...]]
"""Entries that can be used, and sentences about those that can't."""


@dataclass(frozen=True, slots=True)
class _Template:
    """An entry of `templates.yaml`."""

    __pydantic_config__: ClassVar[Any] = STRICT
    sql: str
    id: Any = None
    made_by: str = "written"


def templates_text(templates: Iterable[QueryTemplate]) -> str:
    """Templates as the text of their file."""
    entries = [{"id": one.id, "made_by": one.made_by, "sql": one.sql} for one in templates]
    return yaml_text({"templates": entries}, TEMPLATES)


def phrasings_text(phrasings: Iterable[TextTemplate]) -> str:
    """Phrasings as the text of their file."""
    entries = [
        {"template": one.template, "criterion": one.criterion, "text": one.text, "made_by": one.made_by}
        | ({"measures": dict(one.measures)} if one.measures else {})
        for one in phrasings
    ]
    return yaml_text({"phrasings": entries}, PHRASINGS)


def read_templates(path: Path, schema: Schema) -> Read[QueryTemplate]:
    """The templates of a file, checked against the schema; one that fails is refused and the others go on."""

    def template(entry: YamlEntry) -> QueryTemplate:
        given = entry.fitted(_Template)
        try:
            return check_template(given.sql, schema, given.made_by)
        except RefusedSql as why:
            raise entry.error(f"sql: {why}") from None

    return _read(path, "templates", "id", template, lambda one: one.id)


def read_phrasings(path: Path, templates: Sequence[QueryTemplate]) -> Read[TextTemplate]:
    """The phrasings of a file; one that doesn't fit its template is refused and the others go on."""
    known = {template.id: template for template in templates}

    def phrasing(entry: YamlEntry) -> TextTemplate:
        one = entry.fitted(TextTemplate)
        if one.template not in known:
            raise entry.error(f"template is {one.template!r}, which isn't in templates.yaml")
        if wrong := placeholder_problem(one.text, known[one.template]):
            raise entry.error(f"text: {wrong}")
        return one

    return _read(path, "phrasings", "template", phrasing, lambda one: (one.template, one.criterion, one.text))


def _read(path: Path, name: str, named: str, read: Callable[[YamlEntry], T], key: Callable[[T], Hashable]) -> Read[T]:
    """What the entries of a file are, the first of each key, and why others can't be used."""
    found: dict[Hashable, T] = {}
    refused: list[str] = []
    for entry in read_yaml(path).entries(name, named):
        try:
            one = read(entry)
        except InputError as why:
            refused.append(str(why))
        else:
            found.setdefault(key(one), one)
    if not found:
        raise InputError(f"{path}: no {name[:-1]} can be used.{' The first: ' + refused[0] if refused else ''}")
    return tuple(found.values()), tuple(refused)
