"""A fictitious engineering consultancy, drawn from one seed: who works there, for whom, and on what."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import product

from ragtriage.core.errors import ConfigError
from ragtriage.testset.example.names import (
    CLIENT_KINDS,
    CLIENT_STEMS,
    COMPANY,
    DEPARTMENTS,
    FIRST,
    LAST,
    PLACES,
    ROLES,
    STRUCTURES,
    TOWNS,
)

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
    offices = drawn.sample(TOWNS, 3)
    employees = _employees(drawn, size + 12, offices)
    heads = tuple((one.department, one.name) for one in employees[1 : len(DEPARTMENTS) + 1])
    clients = tuple(_clients(drawn, max(4, 2 * size // 3)))
    return Company(
        name=COMPANY,
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
    names = [f"{first} {last}" for first, last in drawn.sample(list(product(FIRST, LAST)), size)]
    found = [Employee(names[0], "chief executive", "Board", None, offices[0], _day(drawn, 1996, 2012))]
    for (department, _), name in zip(DEPARTMENTS, names[1:], strict=False):
        found.append(
            Employee(
                name, f"head of {department}", department, names[0], drawn.choice(offices), _day(drawn, 1999, 2016)
            )
        )
    leads: dict[str, list[str]] = {one.department: [one.name] for one in found[1:]}
    for name in names[len(found) :]:
        department, craft = drawn.choice(DEPARTMENTS)
        grade = drawn.choice(_GRADES)
        manager = drawn.choice(leads[department])
        found.append(
            Employee(name, f"{grade} {craft}", department, manager, drawn.choice(offices), _day(drawn, 2004, 2023))
        )
        if grade in {"principal", "associate"} and len(leads[department]) < 4:
            leads[department].append(name)
    return found


def _clients(drawn: random.Random, size: int) -> Iterator[Client]:
    for stem, (kind, industry) in drawn.sample(list(product(CLIENT_STEMS, CLIENT_KINDS)), size):
        yield Client(f"{stem} {kind}", industry, drawn.choice(TOWNS))


def _projects(
    drawn: random.Random, size: int, employees: list[Employee], clients: tuple[Client, ...]
) -> Iterator[Project]:
    for place, structure in drawn.sample(list(product(PLACES, STRUCTURES)), size):
        people = drawn.sample(employees[1:], 2 + len(ROLES))
        kept = sorted(drawn.sample(range(len(ROLES)), drawn.randint(2, len(ROLES))))
        start = _day(drawn, 2012, 2022)
        yield Project(
            name=f"{place} {structure}",
            city=drawn.choice(TOWNS),
            client=drawn.choice(clients).name,
            director=people[0].name,
            manager=people[1].name,
            start=start,
            end=start + timedelta(days=drawn.randint(150, 1300)),
            fee=10_000 * drawn.randint(12, 640),
            roles=tuple((ROLES[i], people[2 + i].name) for i in kept),
        )


def _day(drawn: random.Random, first: int, last: int) -> date:
    return date(drawn.randint(first, last), drawn.randint(1, 12), drawn.randint(1, 28))
