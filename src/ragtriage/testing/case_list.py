"""The cases that a decorator or a fixture names, read while tests are collected: nothing is judged."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ragtriage.config import Settings, find_settings
from ragtriage.core.case import Case
from ragtriage.core.display import listed, one_line, plural
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.validation import near_names
from ragtriage.readers import Rejected, open_cases
from ragtriage.readers.case_rows import cases_from, made_up_id
from ragtriage.testing.options import CONFIGS

LONGEST_ID = 80
"""Characters of a case's id in the name of a test."""
MOST_VALUES = 8
"""Values of a tag that a message lists."""


@dataclass(frozen=True, slots=True)
class CaseList:
    """The cases of one file, or those that were given as values."""

    key: tuple[str, ...]
    """What makes two lists the same: their cases are judged together."""
    name: str
    """What people know it by."""
    cases: tuple[Case, ...]
    """All of them, in the order of the input; without responses where an application is to be asked."""
    labels: tuple[str, ...]
    """What stands in a test's name for each: its id, or its row where the id was made from the content."""
    app: str | None = None
    """The application that answers the queries."""

    def positions(self, tags: Mapping[str, Any] | None) -> list[int]:
        """Where the cases with these values of their tags are; an InputError if there is none."""
        found = list(range(len(self.cases)))
        for tag, wanted in (tags or {}).items():
            left = [i for i in found if _has(self.cases[i], tag, wanted)]
            if found and not left:
                raise InputError(f"{self.name}: {_none_has(tag, wanted, [self.cases[i] for i in found])}")
            found = left
        return found


def read_list(path: Path, name: str, settings: Settings, app: str | None = None) -> CaseList:
    """The cases of a file; of questions, if there is an application that is to answer them.

    A row that can't be used is an InputError: no case may silently have no test.
    """
    try:
        stamp = path.stat().st_mtime_ns
    except OSError:
        stamp = 0  # whoever opens the file says what is wrong
    mapping = {field: column for field, column in settings.map.items() if not (app and field in _ANSWERED)}
    found = _read(str(path), stamp, tuple(mapping.items()), settings.citation_mark, app is not None)
    key = ("file", str(path.resolve()), *([app] if app else []))
    return _listed(key, name, found, app)


def case_from(given: Any, name: str, settings: Settings) -> Case:
    """A case from a Case, a mapping with the names that a file may have, or an LLMTestCase of DeepEval."""
    if isinstance(given, Case):
        return given
    if not isinstance(given, Mapping):
        if not hasattr(given, "input") or not hasattr(given, "actual_output"):
            kinds = "a Case, a dict with query, sources and response, or an LLMTestCase"
            raise InputError(f"{name}: {type(given).__name__} is no case: give {kinds}")
        given = _of_test_case(given)
        settings = replace(settings, map={})
    (found,) = cases_from([given], name, mapping=settings.map, citation_mark=settings.citation_mark)
    if isinstance(found, Rejected):
        field = f", field {found.field!r}" if found.field else ""
        raise InputError(f"{name}{field}: {found.reason}")
    return found


def declared(given: str | Path | Sequence[Any], home: Path, test: str, *, app: str | None = None) -> CaseList:
    """The cases that are meant by a test in the file `home`; see `cases`."""
    settings = find_settings(CONFIGS[-1].rootpath if CONFIGS else home.parent)
    if isinstance(given, str | Path):
        path = beside(Path(given), home.parent)
        return read_list(path, _name(path), settings, _application(app, home.parent))
    if app is not None:
        raise ConfigError(f"app={app!r} is for a file of questions: name the file")
    name = f"{_name(home)}::{test}"
    found = [case_from(one, f"{name}, case {i}", settings) for i, one in enumerate(given, 1)]
    return _listed(("given", name), name, found)


def beside(path: Path, folder: Path) -> Path:
    """A path as a test means it: beside the test's file, in the rootdir, or in the present folder."""
    roots = [config.rootpath for config in CONFIGS[-1:]]
    places = [place / path.expanduser() for place in (folder, *roots, Path.cwd())]
    return next((place for place in places if place.exists()), places[0])


def _application(app: str | None, folder: Path) -> str | None:
    """An application whose file is named by its path from the test's folder, or from the rootdir."""
    if app is None or "://" in app:
        return app
    where, colon, name = app.rpartition(":")
    return f"{beside(Path(where), folder)}{colon}{name}" if where.endswith(".py") else app


def _name(path: Path) -> str:
    """A file from the rootdir, as tests are named."""
    root = CONFIGS[-1].rootpath if CONFIGS else Path.cwd()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


_ANSWERED = frozenset({"response", "sources"})


def _of_test_case(given: Any) -> dict[str, Any]:
    """The fields of an LLMTestCase under our names."""
    name = getattr(given, "name", None)
    return {
        "query": given.input,
        "response": given.actual_output,
        "sources": getattr(given, "retrieval_context", None) or [],
        "reference": getattr(given, "expected_output", None),
    } | ({"id": name} if name else {})


@lru_cache(maxsize=16)
def _read(
    path: str,
    stamp: int,  # noqa: ARG001  # a file that has changed is read again
    mapping: tuple[tuple[str, str], ...],
    citation_mark: str | None,
    questions: bool,  # noqa: FBT001  # part of the key
) -> tuple[Case | Rejected, ...]:
    """Every row of a file; several decorators name the same one."""
    mark = None if questions else citation_mark
    return tuple(open_cases(path, mapping=dict(mapping), citation_mark=mark, questions=questions).rows())


def _listed(key: tuple[str, ...], name: str, found: Iterable[Case | Rejected], app: str | None = None) -> CaseList:
    rows = list(found)
    wrong = [row for row in rows if isinstance(row, Rejected)]
    if wrong:
        first = replace(wrong[0], file=name)
        raise InputError(f"{plural(len(wrong), 'row')} can't be used, the first: {first}")
    cases = tuple(row for row in rows if isinstance(row, Case))
    seen: dict[str, int] = {}
    for i, case in enumerate(cases, 1):
        if seen.setdefault(case.id, i) != i:
            raise InputError(f"{name}: case {i} has the id of case {seen[case.id]} too, {case.id!r}: make ids unique")
    return CaseList(key, name, cases, tuple(_label(case, i) for i, case in enumerate(cases, 1)), app)


def _label(case: Case, row: int) -> str:
    if case.id == made_up_id(case.query, case.sources, case.response, case.history):
        return f"row-{row}"
    label = one_line(case.id, LONGEST_ID)
    return label if label == case.id else f"{label} row-{row}".strip()


def _has(case: Case, tag: str, wanted: Any) -> bool:
    if tag not in case.tags:
        return False
    values = wanted if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
    return any(case.tags[tag] == value or str(case.tags[tag]) == str(value) for value in values)


def _none_has(tag: str, wanted: Any, cases: Sequence[Case]) -> str:
    """What to say where no case has this value of a tag."""
    names = dict.fromkeys(name for case in cases for name in case.tags)
    if tag not in names:
        near = near_names(tag, names, 3)
        hint = f"did you mean {listed(near, 'or')}?" if near else f"there are {', '.join(names) or 'none'}"
        return f"no case has the tag {tag!r}: {hint}"
    values = dict.fromkeys(_written(case.tags[tag]) for case in cases if tag in case.tags)
    more = f" and {len(values) - MOST_VALUES} more" if len(values) > MOST_VALUES else ""
    return f"no case has {tag} {_written(wanted)}: there are {', '.join([*values][:MOST_VALUES])}{more}"


def _written(value: Any) -> str:
    return one_line(json.dumps(value, ensure_ascii=False, default=str), LONGEST_ID)
