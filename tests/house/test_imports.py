"""The import graph: one direction, no cycle, nothing heavy behind `import ragtriage`; and one meaning a name."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import ragtriage

SRC = Path(ragtriage.__file__).parent
MODULES = {
    ".".join(("ragtriage", *path.relative_to(SRC).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in SRC.rglob("*.py")
}

ORDER = (
    "core", "text", "metrics", "planning", "judges", "evaluation", "diagnosis", "config", "readers", "runs", "store",
    "execution", "collect", "monitor", "testset", "trust", "report", "adapters", "langchain", "llama_index", "haystack",
    "mlflow", "langsmith", "pandas", "inspect_ai", "view", "demo", "cli", "testing", "pytest_plugin", "__main__",
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


@cache
def graph() -> dict[str, set[str]]:
    return {
        name: {found for found in imported(ast.parse(path.read_text(encoding="utf-8")), name) if found != name}
        for name, path in MODULES.items()
    }


def folder_edges(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """The imports between what stands in the same folder, modules and packages, at any depth."""
    found: dict[str, set[str]] = {}
    for importer, importeds in edges.items():
        for one in importeds:
            a, b = importer.split("."), one.split(".")
            depth = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
            if depth is not None:
                found.setdefault(".".join(a[: depth + 1]), set()).add(".".join(b[: depth + 1]))
    return found


def circle(edges: dict[str, set[str]]) -> list[str]:
    """One circle of a graph, from a node to the same; empty if there is none."""
    done: set[str] = set()

    def visit(node: str, path: tuple[str, ...]) -> list[str]:
        if node in path:
            return [*path[path.index(node) :], node]
        if node not in done:
            for following in sorted(edges.get(node, ())):
                if found := visit(following, (*path, node)):
                    return found
            done.add(node)
        return []

    return next((found for node in sorted(edges) if (found := visit(node, ()))), [])


def place(module: str) -> int:
    """The position of a module's place in ORDER: the longest matching name wins."""
    bare = module.removeprefix("ragtriage.")
    fitting = [name for name in ORDER if bare == name or bare.startswith(name + ".")]
    assert fitting, f"{module} has no place: add it to ORDER"
    return ORDER.index(max(fitting, key=len))


def test_imports_point_one_way() -> None:
    edges = {name: found for name, found in graph().items() if name != "ragtriage"}  # it names what others define
    wrong = [(a, b) for a, found in edges.items() for b in found if b != "ragtriage" and place(b) > place(a)]

    assert wrong == []


def test_no_modules_import_each_other() -> None:
    assert circle(graph()) == []


def test_no_packages_import_each_other() -> None:
    assert circle(folder_edges(graph())) == []


def test_a_circle_between_packages_is_found_where_there_is_none_between_modules() -> None:
    edges = {"p.a.x": {"p.b.y"}, "p.b.z": {"p.a.w", "p.b.y"}}

    assert circle(edges) == []
    assert circle(folder_edges(edges)) == ["p.a", "p.b", "p.a"]


def test_nobody_imports_the_package_root_but_for_its_version() -> None:
    users = {name for name, found in graph().items() if "ragtriage" in found}

    for name in users:
        text = MODULES[name].read_text(encoding="utf-8")
        assert "from ragtriage import __version__" in text, name


FRAMEWORKS = ("mlflow", "langsmith", "pandas", "inspect_ai", "llama_index", "haystack")
"""Each has a module of its own."""


@pytest.mark.parametrize("module", ["ragtriage", *(f"ragtriage.{name}" for name in FRAMEWORKS)])
def test_importing_the_package_loads_nothing_heavy(module: str) -> None:
    heavy = (
        "numpy", "onnxruntime", "tokenizers", "sqlalchemy", "jinja2", "rich", "typer", "py3langid", "pyarrow",
        "pydantic_ai", "pydantic", "openai", "opentelemetry", "ray", "asyncio", "importlib.metadata", *FRAMEWORKS,
    )  # fmt: skip
    code = f"import sys, {module}; print([name for name in {heavy} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert shown.stdout.strip() == "[]"


def test_every_public_name_can_be_imported() -> None:
    for name in ragtriage.__all__:
        assert getattr(ragtriage, name) is not None

    assert sorted(ragtriage.__all__) == sorted(ragtriage._HOME_OF)


def test_modules_stay_small() -> None:
    sizes = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in MODULES.items()}

    assert {name: size for name, size in sizes.items() if size > 500} == {}


TYPE = re.compile(r"^(?:class ([A-Z]\w+)|(?:    )?([A-Z]\w*[a-z]\w*)(?:: \w+)? = )", re.MULTILINE)
"""A public class or alias of a module, also one that only a type checker sees."""


def test_no_two_modules_define_public_types_of_one_name() -> None:
    homes: dict[str, set[str]] = defaultdict(set)
    for path in SRC.rglob("*.py"):
        for class_name, alias in TYPE.findall(path.read_text(encoding="utf-8")):
            homes[class_name or alias].add(str(path.relative_to(SRC)))

    assert len(homes) > 500
    assert {name: sorted(there) for name, there in homes.items() if len(there) > 1} == {}
