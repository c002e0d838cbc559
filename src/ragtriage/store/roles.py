"""The roles of a server store as SQL, printed for its owner and never run by us."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragtriage.store.schema import (
    answers,
    case_texts,
    cases,
    claims,
    meta,
    metadata,
    readings,
    rejected,
    runs,
    scores,
    tickets,
)
from ragtriage.store.schema import texts as texts_table

if TYPE_CHECKING:
    from sqlalchemy import Table

NUMBERS, READER, WRITER = "ragtriage_numbers", "ragtriage_reader", "ragtriage_writer"

HIDDEN = (texts_table, case_texts, answers)
"""Tables that hold what customers wrote; who may see numbers alone sees nothing of them."""

HIDDEN_COLUMNS = {cases.name: {"steps"}, readings.name: {"head"}, rejected.name: {"reason"}, scores.name: {"reason"}}
"""The same by column, of tables that hold numbers beside it. A reason may quote a case."""

DELETED_FROM = (claims, tickets, meta)
"""Tables of which a writer deletes rows itself: locks, tickets and notes, which hold no text and no result."""


def roles_sql(schema: str) -> str:
    """The statements that make three roles and give them their rights in a schema; they may be run again.

    - `ragtriage_numbers` reads everything but what customers wrote;
    - `ragtriage_reader` reads everything;
    - `ragtriage_writer` reads, inserts and updates, and deletes texts and answers only through `forget_texts`.
    """
    inside = _quoted(schema)
    tables = [f"{inside}.{_quoted(table.name)}" for table in metadata.sorted_tables]
    lines = ["-- Three roles for a store of ragtriage. Run this as the owner of the tables, then give people one:"]
    lines += [f"--   GRANT {WRITER} TO anna;", ""]
    for role in (NUMBERS, READER, WRITER):
        lines.append(f"DO $$ BEGIN CREATE ROLE {role} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;")
    lines.append(f"GRANT USAGE ON SCHEMA {inside} TO {NUMBERS}, {READER}, {WRITER};")
    lines += [f"GRANT SELECT ON {table} TO {READER}, {WRITER};" for table in tables]
    lines += [f"GRANT SELECT {_shown(table)}ON {inside}.{_quoted(table.name)} TO {NUMBERS};" for table in _numbers()]
    lines += [f"GRANT INSERT, UPDATE ON {table} TO {WRITER};" for table in tables]
    lines += [f"GRANT DELETE ON {inside}.{_quoted(table.name)} TO {WRITER};" for table in DELETED_FROM]
    lines.append(f"GRANT USAGE ON SEQUENCE {inside}.{_quoted(f'{runs.name}_number_seq')} TO {WRITER};")
    lines.append(f"GRANT EXECUTE ON FUNCTION {inside}.forget_texts(bytea[], boolean) TO {WRITER};")
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _numbers() -> list[Table]:
    return [table for table in metadata.sorted_tables if table not in HIDDEN]


def _shown(table: Table) -> str:
    """The columns that may be read, in brackets, where some may not."""
    hidden = HIDDEN_COLUMNS.get(table.name)
    if not hidden:
        return ""
    shown = ", ".join(f'"{column.name}"' for column in table.columns if column.name not in hidden)
    return f"({shown}) "
