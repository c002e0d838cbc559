"""The examples with frameworks: as a command, and as they evaluate themselves."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDER = EXAMPLES / "frameworks"
NEEDS = {"mlflow": ("mlflow", "pandas"), "langsmith": ("langsmith",), "pandas": ("pandas",), "inspect": ("inspect_ai",)}


OBJECTS = [
    ("langchain_core", "langchain_app.py", "chain", "LangChain runnable"),
    ("langgraph", "langgraph_app.py", "graph", "LangGraph graph"),
    ("llama_index", "llama_index_app.py", "engine", "LlamaIndex query engine"),
    ("haystack", "haystack_app.py", "rag", "Haystack pipeline"),
]


@pytest.fixture(params=OBJECTS, ids=lambda one: one[0])
def example(request: Any) -> tuple[str, str, str]:
    """File, object and kind of one whose framework is installed."""
    package, file, name, kind = request.param
    if not find_spec(package):
        pytest.skip(f"{package} isn't installed: make test-frameworks")
    return file, name, kind


def run(*given: Any, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *map(str, given)], cwd=folder, capture_output=True, text=True, check=False)


def test_the_command_asks_it_and_says_what_it_is(tmp_path: Path, example: tuple[str, str, str]) -> None:
    file, name, kind = example
    app = f"{EXAMPLES / file}:{name}"
    command = ("-m", "ragtriage", "collect", EXAMPLES / "questions.jsonl", "--app", app, "-o", "cases.jsonl")
    said = run(*command, folder=tmp_path)

    assert said.returncode == 0, said.stderr
    assert f"asking {app} ({kind}), into cases.jsonl" in said.stderr
    rows = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 8
    assert all(row["response"] and len(row["sources"]) == len(row.get("retrieved", [])) for row in rows)
    assert sum(bool(row["sources"]) for row in rows) >= 7


def test_it_evaluates_itself(example: tuple[str, str, str]) -> None:
    said = run(EXAMPLES / example[0], folder=EXAMPLES)

    assert said.returncode == 0, said.stderr
    assert said.stdout.count("groundedness") == 2


def test_what_needs_more_than_the_question_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    pytest.importorskip("langchain_core", reason="LangChain isn't installed: make test-frameworks")
    lines = (
        "from langchain_core.prompts import ChatPromptTemplate",
        "from langchain_core.runnables import RunnableLambda",
        "def model(prompt): open('asked', 'w')",
        "chain = ChatPromptTemplate.from_template('{context} {question}') | RunnableLambda(model)",
    )
    (tmp_path / "mine.py").write_text("\n".join(lines), encoding="utf-8")
    command = ("-m", "ragtriage", "collect", EXAMPLES / "questions.jsonl", "--app", "mine:chain", "-o", "cases.jsonl")
    said = run(*command, folder=tmp_path)

    assert said.returncode == 2
    assert "--app mine:chain: needs context, question: only the question can be given" in said.stderr
    assert not (tmp_path / "asked").exists()
    assert not (tmp_path / "cases.jsonl").exists()


@pytest.mark.parametrize("name", NEEDS)
def test_an_example_runs_as_it_is_and_finds_the_wrong_promise(name: str, tmp_path: Path) -> None:
    for package in NEEDS[name]:
        if find_spec(package) is None:
            pytest.skip(f"{package} isn't installed")

    done = subprocess.run(
        [sys.executable, FOLDER / f"with_{name}.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert "groundedness" in done.stdout
    assert (tmp_path / ".ragtriage" / "runs.sqlite").is_file()


def test_every_example_is_run_and_short() -> None:
    assert {path.stem for path in FOLDER.glob("with_*.py")} == {f"with_{name}" for name in NEEDS}
    files = [*FOLDER.glob("*.py"), *(EXAMPLES / file for _, file, _, _ in OBJECTS)]
    assert {path.name: n for path in files if (n := len(path.read_text("utf-8").splitlines())) >= 60} == {}
