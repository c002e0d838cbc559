"""The example company's documents: each states some facts of the database, and knows which."""

from __future__ import annotations

import calendar
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from ragtriage.testset.example.company import TEXTS, Company, Fact, facts_of

Key = tuple[str, str, str]
_SENTENCES: Mapping[str, Any] = TEXTS["sentences"]
_LABELS: Mapping[str, str] = TEXTS["labels"]
_SECTIONS = tuple(TEXTS["remarks"].items())

MENTIONED = {
    "client": 0.7,
    "director": 0.65,
    "manager": 0.7,
    "city": 0.85,
    "start date": 0.75,
    "end date": 0.65,
    "fee": 0.55,
}
"""How likely a project's report states an attribute; roles are at 0.5."""
_ROLE = 0.5
_NOTED = 0.75
"""The share of employees and of clients that have a note of their own."""
_LISTED = 0.85
"""The share of employees that the page of their department lists."""


@dataclass(frozen=True, slots=True)
class Document:
    """One text, and what it states."""

    id: str
    """Its file's name without the ending."""
    text: str
    """Markdown."""
    facts: tuple[Key, ...]
    """The facts that it states, by key."""


@dataclass(frozen=True, slots=True)
class _Said:
    """A sentence or line, and the facts in it."""

    text: str
    facts: tuple[Key, ...] = ()


def documents_of(company: Company, seed: int = 0) -> tuple[Document, ...]:
    """All documents, by id.

    Args:
        company: what they are about.
        seed: decides which facts are stated where, and in which words.
    """
    facts = {fact.key: fact for fact in facts_of(company)}
    drawn = random.Random(f"documents {seed}")  # noqa: S311  # chooses words, hides nothing
    found = [
        _profile(company, facts, drawn),
        *_departments(company, facts, drawn),
        *_people(company, facts, drawn),
        *_clients(company, facts, drawn),
        *_reports(company, facts, drawn),
        *_reviews(company, facts, drawn),
    ]
    implied = _implied(company)
    whole = [
        replace(one, facts=tuple(dict.fromkeys(k for f in one.facts for k in implied.get(f, (f,))))) for one in found
    ]
    return tuple(sorted(whole, key=lambda document: document.id))


def _implied(company: Company) -> dict[Key, tuple[Key, ...]]:
    """Facts that are stated by stating another: who heads a department has that title, and belongs to it."""
    found: dict[Key, tuple[Key, ...]] = {}
    for department, head in company.heads:
        post, title = ("department", department, "head"), ("employee", head, "job title")
        found[post] = found[title] = (post, title, ("employee", head, "department"))
    executive = ("company", company.name, "chief executive"), ("employee", company.chief_executive, "job title")
    return found | dict.fromkeys(executive, executive)


def _profile(company: Company, facts: Mapping[Key, Fact], drawn: random.Random) -> Document:
    name = company.name
    named = [fact for fact in facts.values() if fact.table == "company"]
    head, *others = named
    said = [
        _Said(f"{name} is a firm of consulting engineers, founded in {head.value}.", (head.key,)),
        _Said(f"The headquarters of {name} are in {others[0].value}.", (others[0].key,)),
        _Said(f"{others[1].value} is its chief executive.", (others[1].key,)),
        _Said("We design bridges, buildings and quays, look after old structures and listen to them with sensors."),
        _Said("Small commissions are as welcome as large ones, and every drawing is checked by a second pair of eyes."),
    ]
    listed = [
        _Said(f"- {fact.entity}, headed by {fact.value}", (fact.key,))
        for fact in facts.values()
        if fact.table == "department" and drawn.random() < 0.8
    ]
    blocks = [_paragraph(said), _Said("## Departments"), _lines(listed)]
    return _document("company-profile", f"{name}: who we are", blocks)


def _departments(company: Company, facts: Mapping[Key, Fact], drawn: random.Random) -> Iterator[Document]:
    """One page a department, with the people that its editor remembered."""
    for department, _ in company.heads:
        lines = []
        for one in company.employees:
            if one.department != department or drawn.random() > _LISTED:
                continue
            parts, keys = [], [("employee", one.name, "department")]
            for attribute, before in (("job title", ""), ("manager", "reports to ")):
                key = ("employee", one.name, attribute)
                if key in facts and drawn.random() < 0.8:
                    parts.append(f"{before}{facts[key].value}")
                    keys.append(key)
            lines.append(_Said(", ".join([f"- {one.name}", *parts]), tuple(keys)))
        opening = _Said("Who works here, as of the last update of this page. Ask the front desk for telephone numbers.")
        yield _document(f"team-{_slug(department)}", f"The department {department}", [opening, _lines(lines)])


def _people(company: Company, facts: Mapping[Key, Fact], drawn: random.Random) -> Iterator[Document]:
    for one in company.employees:
        if drawn.random() > _NOTED:
            continue
        keys = [
            key for a in _SENTENCES["person"] if (key := ("employee", one.name, a)) in facts and drawn.random() < 0.65
        ]
        drawn.shuffle(keys)
        style = drawn.randrange(3)
        said = [_worded(facts[key], _SENTENCES["person"][key[2]], style, drawn) for key in keys]
        said.append(_Said(drawn.choice(_SENTENCES["about"]["hobbies"])))
        yield _document(f"people-{_slug(one.name)}", f"Meet {one.name}", [_paragraph(said)])


def _clients(company: Company, facts: Mapping[Key, Fact], drawn: random.Random) -> Iterator[Document]:
    for one in company.clients:
        if drawn.random() > _NOTED:
            continue
        keys = [("client", one.name, attribute) for attribute in _SENTENCES["client"] if drawn.random() < 0.75]
        said = [_worded(facts[key], _SENTENCES["client"][key[2]], 0, drawn) for key in keys]
        said.append(_Said(drawn.choice(_SENTENCES["about"]["manners"])))
        yield _document(f"client-{_slug(one.name)}", f"Notes on {one.name}", [_paragraph(said)])


def _reports(company: Company, facts: Mapping[Key, Fact], drawn: random.Random) -> Iterator[Document]:
    """One report a project; it states what its author thought worth saying."""
    for project in company.projects:
        kind = drawn.choice(("completion report", "project report", "report to the board", "final report"))
        own = [fact for fact in facts.values() if (fact.table, fact.entity) == ("project", project.name)]
        told = [fact for fact in own if drawn.random() < MENTIONED.get(fact.attribute, _ROLE)]
        style = drawn.randrange(3)
        begin = _Said(f"This {kind} sums up our work on {project.name}.")
        rest = [fact for fact in told if fact.attribute not in _LABELS]
        if drawn.random() < 0.35:
            listed = [fact for fact in told if fact.attribute in _LABELS]
            data = [_Said(f"- {_LABELS[f.attribute]}: {written(f, style)}", (f.key,)) for f in listed]
            blocks = [begin, _Said("## Key data"), _lines(data)]
        else:
            half = [fact for fact in told if fact.attribute in _LABELS]
            drawn.shuffle(half)
            said = [_worded(fact, _SENTENCES["project"][fact.attribute], style, drawn) for fact in half]
            blocks = [_paragraph([begin, *said[:3]]), *([_paragraph(said[3:])] if said[3:] else [])]
        team = [_worded(fact, _SENTENCES["about"]["role"], style, drawn) for fact in rest]
        blocks += _sections(team, drawn)
        yield _document(f"report-{_slug(project.name)}", f"{project.name}: {kind}", blocks)


def _sections(team: Sequence[_Said], drawn: random.Random) -> Iterator[_Said]:
    """Some sections of remarks; who did what stands somewhere in between."""
    chosen = sorted(drawn.sample(range(len(_SECTIONS)), drawn.randint(1, len(_SECTIONS))))
    waiting = list(team)
    for number, at in enumerate(chosen):
        title, remarks = _SECTIONS[at]
        said = [_Said(remark) for remark in drawn.sample(remarks, drawn.randint(2, min(5, len(remarks))))]
        here = len(waiting) if number == len(chosen) - 1 else min(len(waiting), drawn.randint(0, 2))
        for one in waiting[:here]:
            said.insert(drawn.randint(0, len(said)), one)
        waiting = waiting[here:]
        yield _Said(f"## {title}")
        yield _paragraph(said)


def _reviews(company: Company, facts: Mapping[Key, Fact], drawn: random.Random) -> Iterator[Document]:
    """A review of every second year in which projects ended: a fact or two of some of them."""
    years = sorted({project.end.year for project in company.projects})
    for year in years[::2]:
        said = []
        style = drawn.randrange(3)
        for project in company.projects:
            if project.end.year == year and drawn.random() < 0.7:
                key = ("project", project.name, drawn.choice(("client", "city", "end date")))
                named = tuple(one for one in _SENTENCES["project"][key[2]] if "{name}" in one)
                said.append(_worded(facts[key], named, style, drawn))
        if said:
            begin = _Said(f"What {company.name} brought to an end in {year}, and what the year was like.")
            close = _Said("Thanks go to all who stayed late, and to the canteen.")
            yield _document(f"review-{year}", f"Review of the year {year}", [begin, _paragraph(said), close])


def _worded(fact: Fact, ways: Sequence[str], style: int, drawn: random.Random) -> _Said:
    text = drawn.choice(ways).format(name=fact.entity, value=written(fact, style), role=fact.attribute)
    return _Said(text, (fact.key,))


def _paragraph(said: Sequence[_Said]) -> _Said:
    return _Said(" ".join(one.text for one in said), tuple(key for one in said for key in one.facts))


def _lines(said: Sequence[_Said]) -> _Said:
    return _Said("\n".join(one.text for one in said), tuple(key for one in said for key in one.facts))


def _document(name: str, title: str, blocks: Sequence[_Said]) -> Document:
    text = "\n\n".join([f"# {title}", *(block.text for block in blocks if block.text)]) + "\n"
    return Document(name, text, tuple(dict.fromkeys(key for block in blocks for key in block.facts)))


def _slug(name: str) -> str:
    return "-".join("".join(c for c in word if c.isalnum()) for word in name.lower().split())


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
