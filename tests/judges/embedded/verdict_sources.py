"""What the embedded judge's verdicts follow from besides code: tables, constants, patterns and model files, as text.

Each source has a name and what it says: its value if that is short, else a digest of it. Comments, line breaks of a
table, and the names of files and constants say nothing.
"""

import ast
import hashlib
import importlib
import inspect
import json
import pkgutil
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any, get_origin

import ragtriage.core.display
import ragtriage.judges.embedded
import ragtriage.text
from ragtriage.judges.embedded.encoder import MODEL
from ragtriage.judges.embedded.versions import larger_reader
from ragtriage.text.lexicon import Lexicon

SOURCES = Path(__file__).with_name("verdict_sources.json")
WITHOUT_VERDICTS = (
    "ragtriage.text.citation_marks", "ragtriage.text.segments", "ragtriage.text.language", "ragtriage.text.prepared",
    "ragtriage.text.json_answers",
    "ragtriage.text.source_ids", "ragtriage.text.without_marks",
    "ragtriage.judges.embedded.question_batches", "ragtriage.judges.embedded.versions",
)  # fmt: skip
"""Modules that no verdict depends on: a response is prepared before the judge reads it, which reads no citations, is
told the language, and answers in any batch."""
TABLES_WITHOUT_VERDICTS = ("citations.toml", "json.toml", "languages.toml")
"""The tables that only those modules read."""
SHORT = 60
"""Characters of a value up to which it is recorded itself."""
_SPECIAL = re.compile(r"[\\(){}\[\]|?*+^$]")


def verdict_sources() -> dict[str, str]:
    """The name of every source, and what it says today."""
    found = dict(_tables())
    for module in judging_modules():
        own = module.__name__.removeprefix("ragtriage.")
        found |= {f"{own}.{name}": _shown(canonical(value)) for name, value in constants(module)}
    for path in sorted(MODEL.iterdir()):
        if path.suffix not in {"", ".md"}:
            found[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    weights = larger_reader().with_suffix(".weights")
    return found | {"larger reader.weights": hashlib.sha256(weights.read_bytes()).hexdigest()[:12]}


def changed_sources(recorded: Mapping[str, str], today: Mapping[str, str]) -> list[str]:
    """The names of the sources that say something else than recorded; one that only has another name is none."""
    differing = {name for name in recorded.keys() & today.keys() if recorded[name] != today[name]}
    gone = {name: recorded[name] for name in recorded.keys() - today.keys()}
    new = {name: today[name] for name in today.keys() - recorded.keys()}
    left, added = Counter(gone.values()) - Counter(new.values()), Counter(new.values()) - Counter(gone.values())
    differing |= {name for name, said in gone.items() if said in left}
    differing |= {name for name, said in new.items() if said in added}
    return sorted(differing)


def named(changed: Sequence[str]) -> str:
    """The first of these, and how many more."""
    more = f" and {len(changed) - 10} more" if len(changed) > 10 else ""
    return ", ".join(changed[:10]) + more


def recorded_sources() -> dict[str, str]:
    """As they were recorded last."""
    found: dict[str, str] = json.loads(SOURCES.read_text(encoding="utf-8"))
    return found


def judging_modules() -> list[ModuleType]:
    """The modules whose constants decide verdicts."""
    names = ["ragtriage.core.display"]
    for package in (ragtriage.text, ragtriage.judges.embedded):
        names += [found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [importlib.import_module(name) for name in names if not name.startswith(WITHOUT_VERDICTS)]


def constants(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The names that a module binds to values at its top level, without types, paths and tables read from files."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
            for name in names:
                value = getattr(module, name)
                if name != "__all__" and not isinstance(value, Lexicon | Path) and not _is_code(value):
                    yield name, value


def canonical(value: Any) -> str:  # noqa: PLR0911  # one a kind of value
    """A value as text, the same for equal values whatever order a set or mapping is in; code counts only by its place.

    Raises:
        TypeError: there is no form for such a value yet.
    """
    if value is None or isinstance(value, bool | int | float | Decimal | str | bytes | range):
        return repr(value)
    if isinstance(value, re.Pattern):
        return f"/{value.pattern}/{value.flags}"
    if isinstance(value, AbstractSet):
        return f"{{{', '.join(sorted(map(canonical, value)))}}}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(canonical, value))})"
    if isinstance(value, Mapping):
        return f"{{{', '.join(sorted(f'{canonical(key)}: {canonical(one)}' for key, one in value.items()))}}}"
    if is_dataclass(value) and not isinstance(value, type):
        return canonical([getattr(value, field.name) for field in fields(value)])
    if _is_code(value):
        return "…"
    raise TypeError(f"{type(value)} can't be recorded: add its form to canonical() in {Path(__file__).name}")


def _is_code(value: Any) -> bool:
    """Whether it is a function, a class or a type, not data."""
    return callable(value) or get_origin(value) is not None or type(value).__module__ == "typing"


def _tables() -> Iterator[tuple[str, str]]:
    for package in (ragtriage.text, ragtriage.judges.embedded):
        for path in sorted(Path(str(package.__file__)).parent.rglob("*.toml")):
            if path.name not in TABLES_WITHOUT_VERDICTS:
                for name, value in tomllib.loads(path.read_text(encoding="utf-8")).items():
                    yield f"{path.name} {name}", _shown(canonical(_unwrapped(value)))


def _unwrapped(value: Any) -> Any:
    """A table's value without line breaks: a list of words as its words, a pattern as `Lexicon` reads it."""
    if isinstance(value, str):
        joined = "".join(line.lstrip() for line in value.splitlines())
        return joined if _SPECIAL.search(value) else tuple(value.split())
    if isinstance(value, list):
        return [_unwrapped(one) for one in value]
    return {name: _unwrapped(one) for name, one in value.items()} if isinstance(value, dict) else value


def _shown(said: str) -> str:
    return said if len(said) <= SHORT else hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:12]
