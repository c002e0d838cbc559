"""Templates filled with values and answered by the database: groups, each with one true answer."""

import json
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar, Literal

from ragtriage.core.errors import InputError
from ragtriage.core.files import why_unreadable
from ragtriage.core.validation import STRICT, Invalid, validated
from ragtriage.testset.answered_rows import AnswerType
from ragtriage.testset.generation.database import OpenedDatabase
from ragtriage.testset.generation.query_templates import (
    QueryShape,
    QueryTemplate,
    QueryValue,
    aliases_of,
    digest,
    parameterized_sql,
    quoted,
    shown_value,
)
from ragtriage.testset.generation.schema import ColumnType, Schema, Table
from ragtriage.testset.generation.value_combinations import CombinationKind, CombinationSampler, storable

_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?)(?:\.0+)?)?")


@dataclass(frozen=True, slots=True)
class AnswerPolicies:
    """What becomes of a query that gives no single value."""

    none: Literal["drop", "no-answer"] = "drop"
    """No row."""
    several: Literal["drop", "list"] = "drop"
    null: Literal["drop", "no-answer"] = "drop"
    """One row, and nothing in it."""


@dataclass(frozen=True, slots=True)
class TypedAnswer:
    """A true answer."""

    value: QueryValue | tuple[QueryValue, ...]
    """Dates in ISO form, as exact as they are stored; the empty tuple says that there is no answer."""
    type: AnswerType


def typed_answer(value: Any, column: ColumnType | None) -> TypedAnswer | None:
    """A driver's value as an answer; None if it is NULL, empty, or nothing that a text can say."""
    if isinstance(value, bool) or (column == "boolean" and isinstance(value, int) and value in {0, 1}):
        return TypedAnswer(bool(value), "yes/no")
    if isinstance(value, int | Decimal | float):
        return _number(value, column)
    if isinstance(value, datetime):
        return _moment(value.date().isoformat(), value.time().isoformat("seconds"))
    if isinstance(value, date | time):
        return TypedAnswer(value.isoformat(), "date" if isinstance(value, date) else "time")
    return _text(value, column) if isinstance(value, str) and value.strip() else None


def _number(value: Decimal | float, column: ColumnType | None) -> TypedAnswer | None:
    if not math.isfinite(value):
        return None
    whole = isinstance(value, int) or (column == "integer" and value == int(value))
    if whole:
        return TypedAnswer(int(value), "number" if column == "number" else "integer")
    return TypedAnswer(float(value), "number")


def _text(value: str, column: ColumnType | None) -> TypedAnswer:
    day = _DAY.fullmatch(value.strip())
    if day:
        return _moment(day[1], day[2] or "")
    return TypedAnswer(value, "time" if column == "time" else "text")


def _moment(day: str, clock: str) -> TypedAnswer:
    """A day alone where the time is midnight, since that is how databases store days."""
    if clock.removesuffix(":00") in {"", "00:00"}:
        return TypedAnswer(day, "date")
    return TypedAnswer(f"{day} {clock}", "datetime")


QueryRows = list[tuple[Any, ...]]


def _folded(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Values without what a collation may overlook: case, accents, blanks around."""

    def bare(text: str) -> str:
        plain = unicodedata.normalize("NFKD", text.casefold())
        return "".join(character for character in plain if not unicodedata.combining(character)).strip()

    return tuple(bare(value) if isinstance(value, str) else value for value in key)


PER_TEMPLATE = 100
"""Fillings of a template, by default."""
LONGEST_LIST = 100
"""Rows of an answer that is a list; a query with more is dropped as one with several answers."""
_SPARE = 3
"""Combinations that are tried for one that is wanted, since some have no single answer."""


@dataclass(frozen=True, slots=True)
class Filling:
    """One query with its values and its true answer: what a group of questions asks."""

    __pydantic_config__: ClassVar[Any] = STRICT
    group: str
    """A digest of the template's canonical SQL and its values."""
    template: str
    values: Mapping[str, QueryValue]
    """Placeholder → value."""
    answer: QueryValue | tuple[QueryValue, ...]
    """Dates in ISO form, as exact as they are stored; the empty tuple says that there is no answer."""
    answer_type: AnswerType
    sql: str
    parameters: Mapping[str, QueryValue] = field(default_factory=dict)
    """Of the SQL: name → value."""
    keys: Mapping[str, Any] = field(default_factory=dict)
    """Table → primary key of the row that the answer comes from; a counted answer has none."""


@dataclass(frozen=True, slots=True)
class FilledTemplate:
    """What came of one template."""

    template: str
    fillings: tuple[Filling, ...]
    counts: Mapping[str, int]
    """`occurring` and `product` combinations, those that were `tried`, and why some were dropped: `none`, `several`,
    `null`, `echo` (the question holds its answer), `empty` (a value to ask with is missing)."""
    sampled: bool = False
    problem: str = ""
    """Why nothing, or not all, could be had."""


@dataclass(frozen=True, slots=True)
class FillingOptions:
    """How templates are filled."""

    per_template: int = PER_TEMPLATE
    combinations: CombinationKind = "occurring"
    policies: AnswerPolicies = field(default_factory=AnswerPolicies)
    seed: int = 0


def fill_template(
    template: QueryTemplate,
    schema: Schema,
    sampler: CombinationSampler,
    database: OpenedDatabase,
    terms: FillingOptions,
) -> FilledTemplate:
    """The fillings of one template; what the database refuses, or takes too long for, is told in `problem`."""
    counts: Counter[str] = Counter()
    found: list[Filling] = []
    problem = ""
    sampled = False
    try:
        drawn = sampler.combinations(template, terms.per_template * _SPARE, terms.combinations)
        counts.update(occurring=drawn.occurring, product=drawn.product, empty=drawn.skipped)
        sampled = drawn.sampled
        asked = _QueryRunner(template, schema, database, terms.policies)
        known: Mapping[int, QueryRows] = {}
        for place, values in enumerate(drawn.values):
            if len(found) == terms.per_template:
                break
            if sampled and place % terms.per_template == 0:
                known = asked.rows_at_once(drawn.values[place : place + terms.per_template])
            counts["tried"] += 1
            outcome = asked.ask(values, known.get(place % terms.per_template))
            if isinstance(outcome, Filling):
                found.append(outcome)
            else:
                counts[outcome] += 1
    except InputError as error:
        problem = str(error)
    return FilledTemplate(template.id, tuple(found), dict(counts), sampled, problem)


class _QueryRunner:
    """One template, asked with one combination after the other."""

    def __init__(
        self, template: QueryTemplate, schema: Schema, database: OpenedDatabase, policies: AnswerPolicies
    ) -> None:
        self._template = template
        self._database = database
        self._policies = policies
        self._dialect = schema.dialect
        self._bound = parameterized_sql(template)
        self._shape = shape = template.shape
        self._tables: list[Table] = []
        self._aliases: list[str] = []
        self._column: ColumnType | None = None
        self._counted = shape is not None and shape.counted
        if shape is not None:
            self._tables = [schema.by_name[name] for name in shape.tables]
            self._aliases = aliases_of(shape.tables, list(schema.by_name))
            if not self._counted:
                self._column = next(c.type for c in self._tables[0].columns if c.name == shape.select)
        self._wide = self._bound.sql if shape is None else self._widened(shape)
        self._enough = LONGEST_LIST + 1 if policies.several == "list" else 2

    def rows_at_once(self, some: Sequence[Mapping[str, QueryValue]]) -> Mapping[int, QueryRows]:
        """Place in `some` → rows of a combination, from one query for all where the template's form allows it.

        A combination is left out, and is to be asked by itself, where the database may call values equal that Python
        doesn't (by case, accents or blanks), and where no row came back.
        """
        if self._shape is None:
            return {}
        names = self._shape.placeholders
        columns = [self._quoted(one.occurrence, one.column) for one in self._shape.filters]
        parameters: dict[str, QueryValue] = {}
        conditions = []
        for number, (name, column) in enumerate(zip(names, columns, strict=True)):
            values = dict.fromkeys(one[name] for one in some)
            known = {f"v{number}_{place}": value for place, value in enumerate(values)}
            parameters |= known
            conditions.append(f"{column} IN ({', '.join(f':{key}' for key in known)})")
        first, *middle, _ = self._wide.split("\n")  # a clause on each line: the first selects, the last filters
        said = ", ".join(columns)
        lines = [f"SELECT {said}, {first.removeprefix('SELECT ')}", *middle, f"WHERE {' AND '.join(conditions)}"]
        if self._counted:
            lines.append(f"GROUP BY {said}")
        found = self._database.rows("\n".join(lines), parameters)
        if len(found) == self._database.most_rows:  # there may be more
            return {}
        exact: dict[tuple[Any, ...], QueryRows] = defaultdict(list)
        alike: Counter[tuple[Any, ...]] = Counter()
        for row in found:
            key = tuple(storable(value) for value in row[: len(columns)])
            exact[key].append(row[len(columns) :])
            alike[_folded(key)] += 1
        keys = [tuple(one[name] for name in names) for one in some]
        return {
            place: exact[key]
            for place, key in enumerate(keys)
            if key in exact and alike[_folded(key)] == len(exact[key])
        }

    def ask(self, values: Mapping[str, QueryValue], rows: QueryRows | None = None) -> Filling | str:
        """The filling, or why there is none: none, several, null, echo; the database is asked for unknown rows."""
        parameters = self._bound.parameters(values)
        if rows is None:
            rows = self._database.rows(self._wide, parameters, self._enough)
        if self._counted and any(number > 1 for number in rows[0][1:]):
            return "several"  # rows of the same name would be counted together
        answer = self._answer([row[0] for row in rows[: 1 if self._counted else None]])
        if isinstance(answer, str):
            return answer
        if not self._counted and _echoes(answer, values):
            return "echo"
        return Filling(
            group=digest(json.dumps([self._template.sql, sorted(values.items())], ensure_ascii=True)),
            template=self._template.id,
            values=dict(values),
            answer=answer.value,
            answer_type=answer.type,
            sql=self._bound.sql,
            parameters=parameters,
            keys=self._keys(rows[0]) if len(rows) == 1 and not self._counted else {},
        )

    def _answer(self, values: list[Any]) -> TypedAnswer | str:
        nothing = TypedAnswer((), "none")
        if not values:
            return nothing if self._policies.none == "no-answer" else "none"
        answers = [typed_answer(value, self._column) for value in values]
        if len(values) == 1:
            return answers[0] or (nothing if self._policies.null == "no-answer" else "null")
        if self._policies.several == "drop" or len(values) > LONGEST_LIST:
            return "several"
        if any(one and one.type == "yes/no" for one in answers):
            return "several"  # "yes and no" answers nothing
        known = tuple(dict.fromkeys(one.value for one in answers if one and not isinstance(one.value, tuple)))
        return TypedAnswer(known, "list") if known else "null"

    def _widened(self, shape: QueryShape) -> str:
        """The same query, with the keys of its rows beside the answer; of a counted row, how many have its name."""
        filtered = {one.occurrence for one in shape.filters} - {0}
        columns = []
        for place, table in enumerate(self._tables):
            keys = [self._quoted(place, name) for name in table.primary_key]
            if not self._counted:
                columns += keys
            elif place in filtered and len(keys) == 1:
                columns.append(f"COUNT(DISTINCT {keys[0]})")
        select, rest = self._bound.sql.split("\n", 1)
        return "\n".join([", ".join([select, *columns]), rest])

    def _quoted(self, place: int, column: str) -> str:
        name = quoted(column, self._dialect)
        return f"{quoted(self._aliases[place], self._dialect)}.{name}" if len(self._tables) > 1 else name

    def _keys(self, row: tuple[Any, ...]) -> dict[str, Any]:
        values = iter(row[1:])
        return {
            alias: {name: _plain(next(values)) for name in table.primary_key}
            for table, alias in zip(self._tables, self._aliases, strict=True)
            if table.primary_key
        }


def _echoes(answer: TypedAnswer, values: Mapping[str, QueryValue]) -> bool:
    """Whether the question holds its answer; a yes or a no it can't hold."""
    if answer.type == "yes/no" or isinstance(answer.value, tuple):
        return False
    said = shown_value(answer.value).casefold().strip()
    return any(said == shown_value(value).casefold().strip() for value in values.values())


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)


def json_line(values: Mapping[str, Any]) -> str:
    """Values as one line of JSON."""
    return json.dumps(values, ensure_ascii=False) + "\n"


def read_fillings(path: Path, templates: Iterable[QueryTemplate]) -> tuple[tuple[Filling, ...], tuple[str, ...]]:
    """The fillings of a file, hand-edited or not, and sentences about those that can't be used."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file: `ragtriage testset fill` writes it") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: can't be read: {why_unreadable(error)}") from None
    known = {template.id: template for template in templates}
    found: dict[str, Filling] = {}
    refused: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            given = json.loads(line)
            if isinstance(given, dict) and given.get("answer") in (None, ""):
                raise Invalid("answer is missing: write [] where there is none")
            one = _checked(validated(Filling, given), known)
            if one.group in found:
                raise Invalid("group is that of an earlier line")
            found[one.group] = one
        except (ValueError, RecursionError) as wrong:  # Invalid is a ValueError
            why = str(wrong) if isinstance(wrong, Invalid) else "is no JSON"
            refused.append(f"{path}, line {number}: {why}")
    if not found:
        raise InputError(
            f"{path}: no filling can be used.{' The first: ' + refused[0] if refused else ' It is empty.'}"
        )
    return tuple(found.values()), tuple(refused)


def _checked(one: Filling, known: Mapping[str, QueryTemplate]) -> Filling:
    """The filling, if it fits its template; else Invalid is raised."""
    if one.template not in known:
        raise Invalid(f"template is {one.template!r}, which isn't in templates.yaml")
    for name in known[one.template].placeholders:
        if name not in one.values:
            raise Invalid(f"values lacks {name}")
    return one


def values_of(fillings: Iterable[Filling], templates: Iterable[QueryTemplate]) -> dict[str, list[str]]:
    """The values that stand in questions and in their answers, by `table.column`: no phrasing may have one of them."""
    selected = {one.id: f"{one.shape.table}.{one.shape.select}" for one in templates if one.shape}
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for one in fillings:
        for name, value in {selected.get(one.template, ""): one.answer, **one.values}.items():
            if not isinstance(value, bool | tuple):
                found[name][str(value)] = None
    return {name: list(values) for name, values in found.items()}
