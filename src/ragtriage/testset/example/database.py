"""The example company as an SQLite database: foreign keys, a self reference and a bridge table."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

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
    with closing(sqlite3.connect(path)) as there, there:
        there.executescript(SCHEMA)
        there.executemany(
            "INSERT INTO employee VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    people[one.name],
                    one.name,
                    one.job_title,
                    departments.get(one.department),
                    people[one.manager] if one.manager else None,
                    one.office,
                    one.joined.isoformat(),
                )
                for one in company.employees
            ],
        )
        there.executemany(
            "INSERT INTO department VALUES (?, ?, ?)",
            [(departments[name], name, people[head]) for name, head in company.heads],
        )
        there.execute(
            "INSERT INTO company VALUES (1, ?, ?, ?, ?)",
            (company.name, company.founded, company.headquarters, people[company.chief_executive]),
        )
        there.executemany(
            "INSERT INTO client VALUES (?, ?, ?, ?)",
            [(clients[one.name], one.name, one.industry, one.city) for one in company.clients],
        )
        for at, one in enumerate(company.projects, 1):
            there.execute(
                "INSERT INTO project VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    at,
                    one.name,
                    one.city,
                    clients[one.client],
                    people[one.director],
                    people[one.manager],
                    one.start.isoformat(),
                    one.end.isoformat(),
                    one.fee,
                ),
            )
            there.executemany(
                "INSERT INTO assignment VALUES (?, ?, ?)", [(at, people[name], role) for role, name in one.roles]
            )
