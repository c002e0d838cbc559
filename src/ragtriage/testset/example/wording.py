"""How facts are worded: several ways for each, dates and money written as people write them."""

from __future__ import annotations

import calendar
from collections.abc import Mapping
from datetime import date

from ragtriage.testset.example.facts import Fact

PROJECT: Mapping[str, tuple[str, ...]] = {
    "city": (
        "The site lies in {value}.",
        "{name} stands in {value}.",
        "All work on site took place in {value}, a short walk from the station.",
    ),
    "client": (
        "The client is {value}.",
        "{name} was commissioned by {value}.",
        "We were appointed by our client {value} after a competition.",
    ),
    "director": (
        "The project director is {value}.",
        "{value} directed {name} and signed off every stage.",
        "As director, {value} answered to the board for the result.",
    ),
    "manager": (
        "The project manager is {value}.",
        "{value} managed {name} from day to day.",
        "Managed by {value}, the team met every second Monday.",
    ),
    "start date": (
        "Work on {name} started on {value}.",
        "The project began on {value}.",
        "We started on {value}, once the permits were there.",
    ),
    "end date": (
        "Work on {name} ended on {value}.",
        "The project was completed on {value}.",
        "It was finished on {value}, when the last drawings were handed over.",
    ),
    "fee": (
        "Our fee was {value}.",
        "The fee for {name} came to {value}.",
        "A fee of {value} was agreed, travel included.",
    ),
}
"""Attribute → sentences about a project."""
ROLE = (
    "{value} was the {role} on {name}.",
    "The {role} was {value}.",
    "{value} joined the team as {role}.",
)
"""Sentences about who had a role."""
PERSON: Mapping[str, tuple[str, ...]] = {
    "job title": ("The job title of {name} is {value}.", "{name} signs as {value}."),
    "office": ("{name} works in our {value} office.", "The desk of {name} is in the {value} office."),
    "joining date": ("{name} joined us on {value}.", "{name} has been with us since {value}."),
    "manager": ("{name} reports to {value}.", "The manager of {name} is {value}."),
    "department": ("{name} belongs to the department {value}.", "{name} is part of {value}."),
}
"""Attribute → sentences about an employee."""
CLIENT: Mapping[str, tuple[str, ...]] = {
    "industry": ("{name} works in {value}.", "The industry of {name} is {value}."),
    "city": ("{name} has its seat in {value}.", "The head office of {name} is in {value}."),
}
"""Attribute → sentences about a client."""
LABELS: Mapping[str, str] = {
    "city": "City",
    "client": "Client",
    "director": "Project director",
    "manager": "Project manager",
    "start date": "Start",
    "end date": "End",
    "fee": "Fee",
}
"""Attribute → how a list of key data names it."""


def written(fact: Fact, style: int) -> str:
    """The value as one author writes it; three styles, by number."""
    if fact.attribute == "fee":
        return money(int(fact.value), style)
    if fact.attribute in {"start date", "end date", "joining date"}:
        return day(date.fromisoformat(str(fact.value)), style)
    return str(fact.value)


def day(value: date, style: int) -> str:
    """A date: 3 March 2019, March 3, 2019 or 2019-03-03."""
    month = calendar.month_name[value.month]
    return (f"{value.day} {month} {value.year}", f"{month} {value.day}, {value.year}", value.isoformat())[style % 3]


def money(euros: int, style: int) -> str:
    """An amount in whole ten thousands: €1.24 million, EUR 1,240,000 or 1.24 million euros."""
    millions = f"{euros / 1_000_000:.2f}".rstrip("0").rstrip(".")
    return (f"€{millions} million", f"EUR {euros:,}", f"{millions} million euros")[style % 3]
