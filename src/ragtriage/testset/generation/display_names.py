"""What a person calls a table, a column or a reference: words made from the names that programmers gave them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+")
ABBREVIATIONS = {
    "acct": "account", "addr": "address", "amt": "amount", "avg": "average", "bal": "balance", "cat": "category",
    "cnt": "count", "cust": "customer", "dept": "department", "desc": "description", "dest": "destination",
    "dob": "date of birth", "emp": "employee", "fname": "first name", "govt": "government", "hq": "headquarters",
    "lang": "language", "lname": "last name", "loc": "location", "max": "maximum", "mgr": "manager", "min": "minimum",
    "msg": "message", "nbr": "number", "num": "number", "org": "organisation", "pct": "percentage", "pop": "population",
    "prod": "product", "qty": "quantity", "rep": "representative", "ssn": "social security number",
    "tel": "telephone number", "temp": "temperature", "wgt": "weight", "yr": "year",
}  # fmt: skip
"""What is written short in many databases → the words."""
_SINGULARS = {
    "children": "child", "people": "person", "men": "man", "women": "woman", "feet": "foot", "geese": "goose",
    "mice": "mouse", "movies": "movie", "cookies": "cookie", "ties": "tie", "shoes": "shoe", "caches": "cache",
    "data": "data", "media": "media", "series": "series", "species": "species", "news": "news", "status": "status",
    "analysis": "analysis", "bus": "bus", "campus": "campus", "lens": "lens", "gas": "gas", "canvas": "canvas",
}  # fmt: skip
_ROLES = {
    "reports to": "manager", "report to": "manager", "managed by": "manager", "created by": "creator",
    "written by": "author", "owned by": "owner", "assigned to": "assignee", "supervised by": "supervisor",
    "approved by": "approver", "updated by": "editor", "belongs to": "",
}  # fmt: skip
_KEY_WORDS = frozenset("id key fk uuid guid code ref no number".split())


def words_of(name: str) -> str:
    """The words of a name: `HireDate`, `hire_date` and `HIRE_DATE` are "hire date", `qty` is "quantity"."""
    parts = [part.lower() for part in _PARTS.findall(name)]
    return " ".join(ABBREVIATIONS.get(part, part) for part in parts) or name.strip()


def singular(words: str) -> str:
    """The last word in its singular: "media types" is "media type"."""
    rest, _, last = words.rpartition(" ")
    return f"{rest} {_one(last)}".strip()


def _one(word: str) -> str:
    if word in _SINGULARS:
        return _SINGULARS[word]
    for ending, instead in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("zzes", "zz")):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            return word.removesuffix(ending) + instead
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def column_words(name: str, table: str) -> str:
    """The words of a column, without its table's where they stand before it: `StadiumName` of a stadium is "name"."""
    words, owner = words_of(name), singular(words_of(table))
    for before in (owner, words_of(table)):
        rest = words.removeprefix(before + " ")
        if rest != words:
            return rest
    return words


def reference_words(columns: Sequence[str], table: str, referred: str) -> str:
    """What the referred row is to the one that refers: `RepId` is "representative", `ReportsTo` "manager".

    Args:
        columns: those that refer.
        table: the table that they stand in.
        referred: the table that they refer to.
    """
    target = singular(words_of(referred))
    if len(columns) != 1:
        return target
    words = words_of(columns[0])
    if words in _ROLES:
        return _ROLES[words] or target
    parts = words.split()
    while parts and parts[-1] in _KEY_WORDS:
        parts.pop()
    role = " ".join(parts)
    if not role or role in {target, words_of(referred)} or role == singular(words_of(table)):
        return target if singular(words_of(table)) != target else f"parent {target}"
    if role == "parent":
        return f"parent {target}"
    return role


def is_identifier_name(name: str) -> bool:
    """Whether a column's name says that it holds an identifier, or something nobody should be asked about."""
    parts = [part.lower() for part in _PARTS.findall(name)]
    return bool(parts) and (
        parts[-1] in {"id", "ids", "uuid", "guid", "pk", "fk", "oid", "rowid", "key", "hash", "checksum", "token"}
        or bool({"password", "passwd", "pwd", "secret", "salt"} & set(parts))
    )
