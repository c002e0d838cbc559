"""What there is to know about the example company, one value at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragtriage.testset.example.company import Company

Value = str | int


@dataclass(frozen=True, slots=True)
class Fact:
    """One value of the database, and of what it is a value."""

    table: str
    entity: str
    """The unique name of the row."""
    attribute: str
    """What a person calls the column: `start date`."""
    value: Value
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
        known: tuple[tuple[str, Value], ...] = (
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
