"""The database of a ferry company: persons, places and things; keys both ways, to itself, over a bridge."""

from ragtriage.testset.generation.query_templates import QueryTemplate, enumerate_templates
from ragtriage.testset.generation.schema import Column, ColumnType, ForeignKey, Schema, Table


def columns(**types: ColumnType) -> tuple[Column, ...]:
    """Columns by their types; those of keys are surrogates."""
    return tuple(
        Column(name, kind, name.replace("_", " "), surrogate=name.endswith("_id")) for name, kind in types.items()
    )


SCHEMA = Schema(
    "sqlite",
    (
        Table(
            "port",
            "port",
            columns(port_id="integer", name="text", country="text", opened="date", population="integer"),
            ("port_id",),
            names=("name",),
        ),
        Table(
            "sailor",
            "sailor",
            columns(
                sailor_id="integer", first_name="text", last_name="text", title="text", birth_date="date",
                hire_date="date", salary="number", email="text", city="text", active="boolean", boss_id="integer",
                home_port_id="integer",
            ),
            ("sailor_id",),
            foreign_keys=(
                ForeignKey(("boss_id",), "sailor", ("sailor_id",), "manager"),
                ForeignKey(("home_port_id",), "port", ("port_id",), "home port"),
            ),
            names=("first_name", "last_name"),
        ),
        Table(
            "ship",
            "ship",
            columns(
                ship_id="integer", name="text", architect="text", length="number", price="number", launch_date="date",
                decks="integer", num_of_cabin="integer", is_electric="boolean", owner_id="integer",
            ),
            ("ship_id",),
            foreign_keys=(ForeignKey(("owner_id",), "company", ("company_id",), "owner"),),
            names=("name",),
        ),
        Table("company", "company", columns(company_id="integer", name="text"), ("company_id",), names=("name",)),
        Table(
            "voyage",
            "voyage",
            columns(voyage_id="integer", date="date", total="number", ship_id="integer", port_id="integer"),
            ("voyage_id",),
            foreign_keys=(
                ForeignKey(("ship_id",), "ship", ("ship_id",), "ship"),
                ForeignKey(("port_id",), "port", ("port_id",), "destination port"),
            ),
        ),
        Table("crew", "crew", columns(crew_id="integer", name="text"), ("crew_id",), names=("name",)),
        Table(
            "crew_sailor",
            "crew sailor",
            columns(crew_id="integer", sailor_id="integer"),
            ("crew_id", "sailor_id"),
            foreign_keys=(
                ForeignKey(("crew_id",), "crew", ("crew_id",), "crew"),
                ForeignKey(("sailor_id",), "sailor", ("sailor_id",), "sailor"),
            ),
        ),
    ),
)  # fmt: skip
TEMPLATES: tuple[QueryTemplate, ...] = enumerate_templates(SCHEMA, aggregates=True).templates


def template(select: str, *placeholders: str, aggregate: str | None = None) -> QueryTemplate:
    """The first template that selects `table.column` by these placeholders."""
    for one in TEMPLATES:
        assert one.shape
        if (f"{one.shape.table}.{one.shape.select}", one.placeholders, one.shape.aggregate) == (
            select,
            placeholders,
            aggregate,
        ):
            return one
    raise AssertionError(f"no template selects {select} by {placeholders}")
