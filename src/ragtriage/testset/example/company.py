"""A fictitious engineering consultancy, drawn from one seed, and every fact that there is to know about it."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from importlib.resources import files
from itertools import product
from typing import Any

from ragtriage.core.errors import ConfigError

TEXTS: Mapping[str, Any] = tomllib.loads(files(__package__).joinpath("texts.toml").read_text("utf-8"))
"""Invented names, and the sentences of the documents."""
_NAMES = TEXTS["names"]
_ROLES: Sequence[str] = _NAMES["roles"]
_DEPARTMENTS = tuple(_NAMES["departments"].items())
SMALLEST, LARGEST = 4, 400
"""Projects: fewer have no reports worth comparing, more than that have no names of their own."""
_GRADES = ("graduate", "senior", "principal", "associate")


@dataclass(frozen=True, slots=True)
class Employee:
    """Somebody who works there; the name is unique."""

    name: str
    job_title: str
    department: str
    manager: str | None
    """To whom they report; None for the chief executive."""
    office: str
    joined: date


@dataclass(frozen=True, slots=True)
class Client:
    """Who commissions projects; the name is unique."""

    name: str
    industry: str
    city: str


@dataclass(frozen=True, slots=True)
class Project:
    """A commission; the name is unique."""

    name: str
    city: str
    client: str
    director: str
    manager: str
    start: date
    end: date
    fee: int
    """Euros, in whole ten thousands, so that it can be written in millions without rounding."""
    roles: tuple[tuple[str, str], ...]
    """(role, employee), each role once; nobody has two, and neither director nor manager has one."""


@dataclass(frozen=True, slots=True)
class Company:
    """The whole of it."""

    name: str
    founded: int
    headquarters: str
    chief_executive: str
    heads: tuple[tuple[str, str], ...]
    """(department, its head)."""
    employees: tuple[Employee, ...]
    clients: tuple[Client, ...]
    projects: tuple[Project, ...]


def make_company(seed: int = 0, size: int = 30) -> Company:
    """The company of a seed.

    Args:
        seed: the same seed and size give the same company.
        size: how many projects; there are 12 more employees than that, and two clients for three projects.

    Raises:
        ConfigError: the size is out of range.
    """
    if not SMALLEST <= size <= LARGEST:
        raise ConfigError(f"--size {size}: use a number of projects from {SMALLEST} to {LARGEST}")
    drawn = random.Random(f"company {seed}")  # noqa: S311  # invents a company, hides nothing
    offices = drawn.sample(_NAMES["towns"], 3)
    employees = _employees(drawn, size + 12, offices)
    heads = tuple((one.department, one.name) for one in employees[1 : len(_DEPARTMENTS) + 1])
    clients = tuple(_clients(drawn, max(4, 2 * size // 3)))
    return Company(
        name=_NAMES["company"],
        founded=drawn.randint(1958, 1994),
        headquarters=offices[0],
        chief_executive=employees[0].name,
        heads=heads,
        employees=tuple(employees),
        clients=clients,
        projects=tuple(_projects(drawn, size, employees, clients)),
    )


def _employees(drawn: random.Random, size: int, offices: list[str]) -> list[Employee]:
    """The chief executive first, then the heads of the departments, then all who report to a head or a lead."""
    names = [f"{first} {last}" for first, last in drawn.sample(list(product(_NAMES["first"], _NAMES["last"])), size)]
    found = [Employee(names[0], "chief executive", "Board", None, offices[0], _day(drawn, 1996, 2012))]
    for (department, _), name in zip(_DEPARTMENTS, names[1:], strict=False):
        found.append(
            Employee(
                name, f"head of {department}", department, names[0], drawn.choice(offices), _day(drawn, 1999, 2016)
            )
        )
    leads: dict[str, list[str]] = {one.department: [one.name] for one in found[1:]}
    for name in names[len(found) :]:
        department, craft = drawn.choice(_DEPARTMENTS)
        grade = drawn.choice(_GRADES)
        manager = drawn.choice(leads[department])
        found.append(
            Employee(name, f"{grade} {craft}", department, manager, drawn.choice(offices), _day(drawn, 2004, 2023))
        )
        if grade in {"principal", "associate"} and len(leads[department]) < 4:
            leads[department].append(name)
    return found


def _clients(drawn: random.Random, size: int) -> Iterator[Client]:
    for stem, (kind, industry) in drawn.sample(
        list(product(_NAMES["client_stems"], _NAMES["client_kinds"].items())), size
    ):
        yield Client(f"{stem} {kind}", industry, drawn.choice(_NAMES["towns"]))


def _projects(
    drawn: random.Random, size: int, employees: list[Employee], clients: tuple[Client, ...]
) -> Iterator[Project]:
    for place, structure in drawn.sample(list(product(_NAMES["places"], _NAMES["structures"])), size):
        people = drawn.sample(employees[1:], 2 + len(_ROLES))
        kept = sorted(drawn.sample(range(len(_ROLES)), drawn.randint(2, len(_ROLES))))
        start = _day(drawn, 2012, 2022)
        yield Project(
            name=f"{place} {structure}",
            city=drawn.choice(_NAMES["towns"]),
            client=drawn.choice(clients).name,
            director=people[0].name,
            manager=people[1].name,
            start=start,
            end=start + timedelta(days=drawn.randint(150, 1300)),
            fee=10_000 * drawn.randint(12, 640),
            roles=tuple((_ROLES[i], people[2 + i].name) for i in kept),
        )


def _day(drawn: random.Random, first: int, last: int) -> date:
    return date(drawn.randint(first, last), drawn.randint(1, 12), drawn.randint(1, 28))


@dataclass(frozen=True, slots=True)
class Fact:
    """One value of the database, and of what it is a value."""

    table: str
    entity: str
    """The unique name of the row."""
    attribute: str
    """What a person calls the column: `start date`."""
    value: str | int
    """A text, a whole number, or a date as an ISO text."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from all others."""
        return self.table, self.entity, self.attribute

    @property
    def id(self) -> str:
        """The same as one text."""
        return f"{self.table}/{self.entity}/{self.attribute}"


def facts_of(company: Company) -> Iterator[Fact]:
    """All facts of the database, each once, table by table."""
    yield Fact("company", company.name, "founding year", company.founded)
    yield Fact("company", company.name, "headquarters", company.headquarters)
    yield Fact("company", company.name, "chief executive", company.chief_executive)
    for department, head in company.heads:
        yield Fact("department", department, "head", head)
    for one in company.employees:
        if one.manager:
            yield Fact("employee", one.name, "manager", one.manager)
            yield Fact("employee", one.name, "department", one.department)
        yield Fact("employee", one.name, "job title", one.job_title)
        yield Fact("employee", one.name, "office", one.office)
        yield Fact("employee", one.name, "joining date", one.joined.isoformat())
    for client in company.clients:
        yield Fact("client", client.name, "industry", client.industry)
        yield Fact("client", client.name, "city", client.city)
    for project in company.projects:
        known: tuple[tuple[str, str | int], ...] = (
            ("city", project.city),
            ("client", project.client),
            ("director", project.director),
            ("manager", project.manager),
            ("start date", project.start.isoformat()),
            ("end date", project.end.isoformat()),
            ("fee", project.fee),
            *project.roles,
        )
        for attribute, value in known:
            yield Fact("project", project.name, attribute, value)
