"""A template's placeholders as bound parameters of SQL, and as words of a text; a value is never pasted into SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ragtriage.testset.generation.query_templates import QueryTemplate

PLACEHOLDER = re.compile(r"\[([^\[\]]+\.[^\[\]]+)\]")
_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d)[ T]00:00(?::00(?:\.0+)?)?")
"""A day as databases store it in a column of moments."""

Value = str | int | float | bool
"""What a placeholder stands for, as JSON can hold it."""


@dataclass(frozen=True, slots=True)
class ParameterizedSql:
    """SQL with named parameters."""

    sql: str
    """Its parameters are written `:name`."""
    names: Mapping[str, str]
    """Placeholder → name of its parameter."""

    def parameters(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Values by placeholder → values by parameter."""
        return {self.names[placeholder]: values[placeholder] for placeholder in self.names}


def parameterized_sql(template: QueryTemplate) -> ParameterizedSql:
    """The SQL of a template with named parameters: `[Album.Title]` becomes `:Album_Title`."""
    names: dict[str, str] = {}
    for placeholder in template.placeholders:
        name = re.sub(r"[^A-Za-z0-9_]", "_", placeholder)
        name = f"p_{name}" if not name[:1].isalpha() else name
        while name in names.values() or f":{name}" in template.sql:
            name += "_"
        names[placeholder] = name
    return ParameterizedSql(_pattern(template).sub(lambda match: f":{names[match[1]]}", template.sql), names)


def fill_placeholders(text: str, template: QueryTemplate, values: Mapping[str, Value]) -> str:
    """A phrasing with its values, in one pass: a value that looks like a placeholder stays what it is."""
    return _pattern(template).sub(lambda match: shown_value(values[match[1]]), text)


def shown_value(value: Value) -> str:
    """A value as a person writes it in a question: a day without its midnight, a whole number without its point."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    midnight = _MIDNIGHT.fullmatch(value) if isinstance(value, str) else None
    return midnight[1] if midnight else str(value)


def _pattern(template: QueryTemplate) -> re.Pattern[str]:
    return re.compile(rf"\[({'|'.join(re.escape(name) for name in template.placeholders)})\]")


def placeholder_problem(text: str, template: QueryTemplate) -> str:
    """What is wrong with the placeholders of a phrasing; empty if nothing is."""
    for name in template.placeholders:
        if f"[{name}]" not in text:
            return f"lacks the placeholder [{name}]"
    added = sorted(set(PLACEHOLDER.findall(text)) - set(template.placeholders))
    return f"has the placeholder [{added[0]}], which its template hasn't" if added else ""
