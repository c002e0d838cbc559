"""The example company as an SQLite database: foreign keys, a self reference and a bridge table."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path

from ragtriage.core.files import private_file
from ragtriage.testset.example.company import Company

SCHEMA = """
CREATE TABLE company (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, founding_year INTEGER NOT NULL, headquarters TEXT NOT NULL,
    chief_executive_id INTEGER NOT NULL REFERENCES employee (id)
);
CREATE TABLE department (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, head_id INTEGER REFERENCES employee (id)
);
CREATE TABLE employee (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, job_title TEXT NOT NULL,
    department_id INTEGER REFERENCES department (id), manager_id INTEGER REFERENCES employee (id),
    office TEXT NOT NULL, joining_date DATE NOT NULL
);
CREATE TABLE client (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, industry TEXT NOT NULL, city TEXT NOT NULL
);
CREATE TABLE project (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, city TEXT NOT NULL,
    client_id INTEGER NOT NULL REFERENCES client (id), director_id INTEGER NOT NULL REFERENCES employee (id),
    manager_id INTEGER NOT NULL REFERENCES employee (id), start_date DATE NOT NULL, end_date DATE NOT NULL,
    fee_in_euros INTEGER NOT NULL
);
CREATE TABLE assignment (
    project_id INTEGER NOT NULL REFERENCES project (id), employee_id INTEGER NOT NULL REFERENCES employee (id),
    role TEXT NOT NULL, PRIMARY KEY (project_id, employee_id), UNIQUE (project_id, role)
);
"""


def write_database(company: Company, path: Path) -> None:
    """Write all of it; an older file is replaced.

    Raises:
        OSError, sqlite3.Error: the file can't be written.
    """
    path.unlink(missing_ok=True)
    people = {one.name: at for at, one in enumerate(company.employees, 1)}
    departments = {name: at for at, (name, _) in enumerate(company.heads, 1)}
    clients = {one.name: at for at, one in enumerate(company.clients, 1)}
    employees = [
        (
            people[e.name],
            e.name,
            e.job_title,
            departments.get(e.department),
            people.get(e.manager or ""),
            e.office,
            e.joined,
        )
        for e in company.employees
    ]
    projects = [
        (at, p.name, p.city, clients[p.client], people[p.director], people[p.manager], p.start, p.end, p.fee)
        for at, p in enumerate(company.projects, 1)
    ]
    executive = people[company.chief_executive]
    rows: Mapping[str, Sequence[Sequence[object]]] = {
        "employee": employees,
        "department": [(departments[name], name, people[head]) for name, head in company.heads],
        "company": [(1, company.name, company.founded, company.headquarters, executive)],
        "client": [(clients[one.name], one.name, one.industry, one.city) for one in company.clients],
        "project": projects,
        "assignment": [(at, people[n], role) for at, p in enumerate(company.projects, 1) for role, n in p.roles],
    }
    private_file(path)
    with closing(sqlite3.connect(path)) as there, there:
        there.executescript(SCHEMA)
        for table, values in rows.items():
            places = ", ".join("?" for _ in values[0])
            as_text = [[one.isoformat() if isinstance(one, date) else one for one in row] for row in values]
            there.executemany(f"INSERT INTO {table} VALUES ({places})", as_text)  # noqa: S608  # our own names
