"""The import graph: one direction, no cycle, and nothing heavy behind `import ragtriage`."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import ragtriage

SRC = Path(ragtriage.__file__).parent
MODULES = {
    ".".join(("ragtriage", *path.relative_to(SRC).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in SRC.rglob("*.py")
}
LAZY_BY_DESIGN = {"ragtriage"}
"""The package root names its public values under TYPE_CHECKING and loads them when they are used."""

ORDER = (
    "core", "text", "metrics", "planning", "judges", "evaluation", "diagnosis", "config", "store", "readers", "runs",
    "collect", "testset", "trust", "report", "demo", "cli", "__main__",
)  # fmt: skip
"""A package imports only from those before it, without exceptions, also where only a type checker looks."""


def imported(tree: ast.AST, module: str) -> Iterator[str]:
    """The modules of this package that a file imports: when it is loaded, in functions or for a type checker."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ragtriage"):
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in MODULES else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.startswith("ragtriage"))
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"{module}: write imports in full"


def graph() -> dict[str, set[str]]:
    return {
        name: {found for found in imported(ast.parse(path.read_text(encoding="utf-8")), name) if found != name}
        for name, path in MODULES.items()
        if name not in LAZY_BY_DESIGN
    }


def place(module: str) -> int:
    """The position of a module's place in ORDER: the longest matching name wins."""
    bare = module.removeprefix("ragtriage.")
    fitting = [name for name in ORDER if bare == name or bare.startswith(name + ".")]
    assert fitting, f"{module} has no place: add it to ORDER"
    return ORDER.index(max(fitting, key=len))


def test_imports_point_one_way() -> None:
    wrong = [(a, b) for a, found in graph().items() for b in found if b != "ragtriage" and place(b) > place(a)]

    assert wrong == []


def test_there_is_no_cycle() -> None:
    edges = graph()
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " → ".join((*path, module))
        if module not in done:
            for following in edges.get(module, ()):
                visit(following, (*path, module))
            done.add(module)

    for module in edges:
        visit(module, ())


def test_nobody_imports_the_package_root_but_for_its_version() -> None:
    users = {name for name, found in graph().items() if "ragtriage" in found}

    for name in users:
        text = MODULES[name].read_text(encoding="utf-8")
        assert "from ragtriage import __version__" in text, name


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = (
        "numpy", "onnxruntime", "tokenizers", "sqlalchemy", "jinja2", "rich", "typer", "py3langid", "pyarrow",
        "pydantic_ai", "pydantic", "openai", "opentelemetry",
    )  # fmt: skip
    code = f"import sys, ragtriage; print([name for name in {heavy} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert shown.stdout.strip() == "[]"


def test_every_public_name_can_be_imported() -> None:
    for name in ragtriage.__all__:
        assert getattr(ragtriage, name) is not None

    assert sorted(ragtriage.__all__) == sorted(ragtriage._HOME_OF)


def test_modules_stay_small() -> None:
    sizes = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in MODULES.items()}

    assert {name: size for name, size in sizes.items() if size > 400} == {}
