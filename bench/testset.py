"""From databases to questions: how long it takes, how much memory, and whether the answers are true.

    python bench/testset.py chinook CHINOOK.sqlite     10,000 questions; every answer asked again
    python bench/testset.py schemas TABLES.json        templates for each of Spider's schemas, explained by SQLite
    python bench/testset.py large                      200 tables, 10 million rows in one of them

Each part prints what it measured as one JSON object.
"""

import json
import resource
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from ragtriage.testset.generation.build import BuildOptions, build, make_fillings, make_schema, make_templates
from ragtriage.testset.generation.database import OpenedDatabase
from ragtriage.testset.generation.fillings import FillingOptions, typed_answer
from ragtriage.testset.generation.query_templates import enumerate_templates, parameterized_sql
from ragtriage.testset.generation.reflection import reflect
from ragtriage.testset.generation.sampling import SamplingPlan
from ragtriage.testset.generation.sql_checks import check_template

ROWS = 10_000_000
TABLES = 200


def chinook(path: str) -> dict[str, Any]:
    """Build 10,000 questions, and ask every stored query again."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, OpenedDatabase(path) as database:
        steps = build(database, Path(folder), BuildOptions(plan=SamplingPlan(size=10_000)))
        seconds = time.perf_counter() - begin
        rows = [json.loads(line) for line in (Path(folder) / "questions.jsonl").open(encoding="utf-8")]
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        kinds = {
            (table.name, column.name): column.type
            for table in reflect(database).schema.tables
            for column in table.columns
        }
        again: Counter[str] = Counter()
        for row in {row["group"]: row for row in rows}.values():
            found = connection.execute(row["sql"], row["parameters"]).fetchall()
            if len(found) != 1:
                again["none or several"] += 1
                continue
            answers = {getattr(typed_answer(found[0][0], kind), "value", None) for kind in {None, *kinds.values()}}
            again["same" if row["answer"] in answers else "different"] += 1
    largest = max(Counter(row["template"] for row in rows).values()) / len(rows)
    return {
        "seconds": round(seconds, 1),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "questions": len(rows),
        "templates": steps[-1].numbers["templates"],
        "joining": steps[-1].numbers["joining"],
        "largest_share": largest,
        "asked_again": dict(again),
    }


def schemas(path: str) -> dict[str, Any]:
    """Make templates for each schema, and let SQLite explain every one of them."""
    begin = time.perf_counter()
    counts: Counter[str] = Counter()
    failed: list[str] = []
    for one in json.loads(Path(path).read_text(encoding="utf-8")):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "schema.sqlite"
            connection = sqlite3.connect(file)
            try:
                connection.executescript(_ddl(one))
            except sqlite3.Error as error:
                failed.append(f"{one['db_id']}: {error}")
                connection.close()
                continue
            with OpenedDatabase(str(file)) as database:
                schema = reflect(database).schema
            found = enumerate_templates(schema, aggregates=True).templates
            counts["schemas"] += 1
            counts["templates"] += len(found)
            counts["joining"] += sum(len(t.tables) > 1 or bool(t.shape and t.shape.joined) for t in found)
            if not found:
                counts["without templates"] += 1
                failed.append(f"{one['db_id']}: no template")
            for template in found:
                query = parameterized_sql(template)
                connection.execute(f"EXPLAIN {query.sql}", dict.fromkeys(query.names.values(), "x"))
                if check_template(template.sql, schema, "enumerated") != template:
                    failed.append(f"{one['db_id']}: {template.sql} is another template when it is read")
            connection.close()
    return {"seconds": round(time.perf_counter() - begin, 1), **counts, "failed": failed}


def _ddl(one: dict[str, Any]) -> str:
    """A schema of Spider's as SQL."""

    def name(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    kinds = {"text": "TEXT", "number": "INTEGER", "time": "DATETIME", "boolean": "BOOLEAN", "others": "TEXT"}
    lines: dict[int, list[str]] = {number: [] for number in range(len(one["table_names_original"]))}
    columns = one["column_names_original"]
    for (table, column), kind in zip(columns, one["column_types"], strict=True):
        if table >= 0:
            lines[table].append(f"{name(column)} {kinds[kind]}")
    for table, parts in lines.items():
        keys = [name(columns[key][1]) for key in _flat(one["primary_keys"]) if columns[key][0] == table]
        if keys:
            parts.append(f"PRIMARY KEY ({', '.join(keys)})")
        for key, target in one["foreign_keys"]:
            if columns[key][0] == table:
                there = name(one["table_names_original"][columns[target][0]])
                parts.append(f"FOREIGN KEY ({name(columns[key][1])}) REFERENCES {there} ({name(columns[target][1])})")
    tables = one["table_names_original"]
    made = {
        number: parts for number, parts in lines.items() if not tables[number].startswith("sqlite_")
    }  # SQLite's own
    return ";\n".join(f"CREATE TABLE {name(tables[number])} ({', '.join(parts)})" for number, parts in made.items())


def _flat(keys: list[Any]) -> list[int]:
    return [one for key in keys for one in (key if isinstance(key, list) else [key])]


def large() -> dict[str, Any]:
    """A database of many tables, one of them with many rows: schema, templates and fillings."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.sqlite"
        connection = sqlite3.connect(file)
        connection.execute("PRAGMA journal_mode=OFF")
        for number in range(TABLES - 1):
            parent = f", parent_id INTEGER REFERENCES table_{number - 1}(id)" if number else ""
            connection.execute(
                f"CREATE TABLE table_{number} (id INTEGER PRIMARY KEY, name TEXT, amount INTEGER, city TEXT{parent})"
            )
            values = ((n, f"thing {number} {n}", n * 7, f"city {n % 9}", *((n,) if number else ())) for n in range(50))
            marks = ", ".join("?" * (5 if number else 4))
            connection.executemany(f"INSERT INTO table_{number} VALUES ({marks})", values)
        connection.execute(
            "CREATE TABLE event (id INTEGER PRIMARY KEY, name TEXT, weight INTEGER, "
            "table_0_id INTEGER REFERENCES table_0(id))"
        )
        connection.executemany(
            "INSERT INTO event VALUES (?, ?, ?, ?)", ((n, f"event number {n}", n % 997, n % 50) for n in range(ROWS))
        )
        connection.commit()
        connection.close()
        times = {}
        with OpenedDatabase(str(file)) as database:
            begin = time.perf_counter()
            make_schema(database, Path(folder) / "schema.yaml")
            times["schema"] = time.perf_counter() - begin
            begin = time.perf_counter()
            made = make_templates(Path(folder) / "schema.yaml", Path(folder) / "templates.yaml", most=100_000)
            times["templates"] = time.perf_counter() - begin
            only = Path(folder) / "only"
            begin = time.perf_counter()
            make_schema(database, only / "schema.yaml", ("event", "table_0"))
            make_templates(only / "schema.yaml", only / "templates.yaml")
            filled = make_fillings(database, only, FillingOptions(per_template=25))
            times["fill the templates of the large table"] = time.perf_counter() - begin
        return {
            "rows": ROWS,
            "tables": TABLES,
            "templates": made.numbers["templates"],
            "seconds": {name: round(value, 1) for name, value in times.items()},
            "filled": dict(filled.numbers),
            "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }


if __name__ == "__main__":
    if sys.argv[1:2] == ["chinook"]:
        measured = chinook(sys.argv[2])
    elif sys.argv[1:2] == ["schemas"]:
        measured = schemas(sys.argv[2])
    elif sys.argv[1:] == ["large"]:
        measured = large()
    else:
        sys.exit(__doc__)
    print(json.dumps(measured, indent=1, ensure_ascii=False))
