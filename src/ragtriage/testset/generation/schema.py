"""What is known of a database's structure, what people call it, and the YAML files in which people edit that."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from ragtriage.core.errors import InputError
from ragtriage.core.files import atomic_write
from ragtriage.core.validation import STRICT, Invalid, validated
from ragtriage.testset.generation import yaml

T = TypeVar("T", bound=Any)


@dataclass(frozen=True, slots=True)
class YamlEntry:
    """One mapping of a file, and where it stands."""

    file: Path
    where: str
    """As people find it: `tables[2] (Album), columns[1] (Title)`; empty for the whole file."""
    values: Mapping[str, Any]

    def error(self, reason: str) -> InputError:
        """What is wrong with it, as an error that says where."""
        return InputError(f"{self.file}: {self.where + ': ' if self.where else ''}{reason}")

    def fitted(self, shape: type[T]) -> T:
        """The entry as one of these dataclasses."""
        for one in fields(shape):
            value = self.values.get(one.name)
            if one.default is MISSING and isinstance(value, str) and not value.strip():
                raise self.error(f"{one.name} is empty: write a text")
        try:
            return validated(shape, self.values)
        except Invalid as problem:
            raise self.error(str(problem)) from None

    def entries(self, field: str, named: str = "name") -> "list[YamlEntry]":
        """The mappings of a list; none if it isn't there."""
        listed = self.values.get(field, [])
        if not isinstance(listed, list):
            raise self.error(f"{field} isn't a list: begin every entry with a dash")
        found = []
        for number, one in enumerate(listed, 1):
            place = f"{self.where + ', ' if self.where else ''}{field}[{number}]"
            if not isinstance(one, dict):
                raise InputError(f"{self.file}: {place}: is {one!r}: write fields as `name: value`")
            name = f" ({one[named]})" if isinstance(one.get(named), str) else ""
            found.append(YamlEntry(self.file, place + name, one))
        return found


def read_yaml(path: Path) -> YamlEntry:
    """The mapping that a file holds; fields without a value are left out."""
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file: the step before this one writes it") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: isn't UTF-8") from None
    except OSError as error:
        raise InputError(f"{path}: can't be read: {error.strerror or error}") from None
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        raise InputError(f"{path}{line}: isn't YAML: {getattr(error, 'problem', None) or error}") from None
    if not isinstance(values, dict):
        raise InputError(f"{path}: holds no fields: it is to look as `ragtriage testset` writes it")
    return YamlEntry(path, "", _with_values(values))


def _with_values(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _with_values(one) for name, one in value.items() if one is not None}
    return [_with_values(one) for one in value] if isinstance(value, list) else value


def yaml_text(values: Mapping[str, Any], header: str) -> str:
    """Values as YAML under a header of comments; texts of several lines stand as blocks, tuples in one line."""

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # chosen at run time
        """Has representers of its own."""

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    def sequence(dumper: Any, value: tuple[Any, ...]) -> Any:
        return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=True)

    Dumper.add_representer(str, text)
    Dumper.add_representer(tuple, sequence)
    body = yaml.dump(dict(values), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110)
    return "".join(f"# {line}".rstrip() + "\n" for line in header.strip().splitlines()) + str(body)


def write_whole(path: Path, text: str) -> None:
    """Write a file at once: a reader, and a kill, sees the old one or the new one."""
    try:
        with atomic_write(path, "replace", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{path}: can't be written: {error.strerror or error}") from None


Dialect = Literal["sqlite", "postgresql", "duckdb"]
"""SQLAlchemy's names of databases."""
ColumnType = Literal["text", "integer", "number", "date", "datetime", "time", "boolean", "other"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    __pydantic_config__: ClassVar[Any] = STRICT
    name: str
    type: ColumnType
    words: str
    """What a person calls it ("hire date"); made from the name, and meant to be edited."""
    nullable: bool = True
    surrogate: bool = False
    """An identifier without meaning to a person: neither asked for nor asked about."""
    comment: str = ""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns of a table that refer to another table's, or to its own."""

    __pydantic_config__: ClassVar[Any] = STRICT
    columns: tuple[str, ...]
    table: str
    """The table that is referred to."""
    referred: tuple[str, ...]
    """Its columns, one for each of `columns`."""
    words: str
    """What the row that is referred to is to the row that refers ("manager", "support representative")."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table."""

    __pydantic_config__: ClassVar[Any] = STRICT
    name: str
    words: str
    """What a person calls one row of it, in the singular ("album")."""
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    """Sets of columns whose values occur once, beside the primary key."""
    foreign_keys: tuple[ForeignKey, ...] = ()
    names: tuple[str, ...] = ()
    """The columns by which a person names a row ("first name", "last name"); empty if none does."""
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Schema:
    """The part of a database that questions are made from."""

    dialect: str
    """See `Dialect`."""
    tables: tuple[Table, ...]

    @property
    def by_name(self) -> dict[str, Table]:
        """Name → table."""
        return {table.name: table for table in self.tables}


HEADER = """
The part of a database that questions are made from. You may edit all of it, and give `ragtriage testset templates`
again. words: what a person calls a table's row, a column, or the row that a foreign key refers to. names: the columns
by which a person names a row. surrogate: true keeps a column out of all questions; so does deleting it.
foreign_keys may be added where the database declares none.
"""


@dataclass(frozen=True, slots=True)
class _File:
    """The file's own fields."""

    __pydantic_config__: ClassVar[Any] = STRICT
    dialect: Dialect
    tables: tuple[Any, ...] = ()


def schema_text(schema: Schema) -> str:
    """A schema as the text of its file."""
    return yaml_text({"dialect": schema.dialect, "tables": [_entry(table) for table in schema.tables]}, HEADER)


def _entry(table: Table) -> dict[str, Any]:
    entry = {
        "name": table.name,
        "words": table.words,
        "comment": table.comment,
        "names": table.names,
        "primary_key": table.primary_key,
        "unique": list(table.unique),
        "columns": [_without_defaults(column) for column in table.columns],
        "foreign_keys": [_without_defaults(key) for key in table.foreign_keys],
    }
    return {name: value for name, value in entry.items() if value or name in {"names", "primary_key", "columns"}}


def _without_defaults(one: Column | ForeignKey) -> dict[str, Any]:
    return {field.name: value for field in fields(one) if (value := getattr(one, field.name)) != field.default}


def read_schema(path: Path) -> Schema:
    """The schema of a file, hand-edited or not."""
    whole = read_yaml(path)
    dialect = whole.fitted(_File).dialect
    entries = whole.entries("tables")
    tables = {table.name: table for table in map(_table_of, entries)}
    if len(tables) != len(entries):
        raise whole.error("tables: two have the same name")
    for entry, table in zip(entries, tables.values(), strict=True):
        for at, key in zip(entry.entries("foreign_keys", "words"), table.foreign_keys, strict=True):
            if key.table not in tables:
                raise at.error(f"table is {key.table!r}, which isn't in this file")
            _check_columns(at, "columns", key.columns, table)
            _check_columns(at, "referred", key.referred, tables[key.table])
            if len(key.columns) != len(key.referred) or not key.columns:
                raise at.error("referred must have as many columns as columns has, at least one")
    return Schema(dialect, tuple(tables.values()))


def _table_of(entry: YamlEntry) -> Table:
    for column in entry.entries("columns"):  # by themselves, so that an error names the column
        column.fitted(Column)
    for key in entry.entries("foreign_keys", "words"):
        key.fitted(ForeignKey)
    table = entry.fitted(Table)
    if len({column.name for column in table.columns}) != len(table.columns):
        raise entry.error("columns has two of the same name")
    _check_columns(entry, "names", table.names, table)
    _check_columns(entry, "primary_key", table.primary_key, table)
    return table


def _check_columns(entry: YamlEntry, field: str, names: Iterable[str], table: Table) -> None:
    known = {column.name for column in table.columns}
    for name in names:
        if name not in known:
            raise entry.error(f"{field} names {name!r}, which is no column of {table.name}")
