"""The database of a ferry company: persons, places and things; keys both ways, to itself, over a bridge."""

from ragtriage.testset.generation.query_templates import QueryTemplate, enumerate_templates
from ragtriage.testset.generation.schema import Column, ColumnType, ForeignKey, Schema, Table


def columns(**types: ColumnType) -> tuple[Column, ...]:
    """Columns by their types; those of keys are surrogates."""
    return tuple(
        Column(name, kind, name.replace("_", " "), surrogate=name.endswith("_id")) for name, kind in types.items()
    )


def table(table_name: str, *foreign_keys: ForeignKey, names: tuple[str, ...] = (), **types: ColumnType) -> Table:
    """A table whose first column is its key; of one that has nothing but keys all of them."""
    found = columns(**types)
    key = tuple(types) if all(one.surrogate for one in found) else (found[0].name,)
    return Table(table_name, table_name.replace("_", " "), found, key, foreign_keys=foreign_keys, names=names)


def to(other: str, column: str, words: str) -> ForeignKey:
    """A key of another table by its own key."""
    return ForeignKey((column,), other, (f"{other}_id",), words)


SCHEMA = Schema(
    "sqlite",
    (
        table(
            "port", names=("name",),
            port_id="integer", name="text", country="text", opened="date", population="integer",
        ),
        table(
            "sailor", to("sailor", "boss_id", "manager"), to("port", "home_port_id", "home port"),
            names=("first_name", "last_name"),
            sailor_id="integer", first_name="text", last_name="text", title="text", birth_date="date",
            hire_date="date", salary="number", email="text", city="text", active="boolean", boss_id="integer",
            home_port_id="integer",
        ),
        table(
            "ship", to("company", "owner_id", "owner"), names=("name",),
            ship_id="integer", name="text", architect="text", length="number", price="number", launch_date="date",
            decks="integer", num_of_cabin="integer", is_electric="boolean", owner_id="integer",
        ),
        table("company", names=("name",), company_id="integer", name="text"),
        table(
            "voyage", to("ship", "ship_id", "ship"), to("port", "port_id", "destination port"),
            voyage_id="integer", date="date", total="number", ship_id="integer", port_id="integer",
        ),
        table("crew", names=("name",), crew_id="integer", name="text"),
        table(
            "crew_sailor", to("crew", "crew_id", "crew"), to("sailor", "sailor_id", "sailor"),
            crew_id="integer", sailor_id="integer",
        ),
    ),
)  # fmt: skip
TEMPLATES: tuple[QueryTemplate, ...] = enumerate_templates(SCHEMA, aggregates=True).templates


def template(select: str, *placeholders: str) -> QueryTemplate:
    """The first template that selects `table.column` by these placeholders."""
    for one in TEMPLATES:
        assert one.shape
        if not one.shape.counted and (f"{one.shape.table}.{one.shape.select}", one.placeholders) == (
            select,
            placeholders,
        ):
            return one
    raise AssertionError(f"no template selects {select} by {placeholders}")
