"""What is an extra may be missing: its commands name it, and all others work without it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli_rows import row, written
from in_process import Said

sys.path.append(str(Path(__file__).parents[1] / "judges" / "hub_models"))

import tiny_onnx

MISSING = ("httpx", "openai", "pydantic_ai", "sqlglot", "tokenizers")
APP = "def answer(query): return 'It is ' + query"
COMMANDS = {
    "a language model": ("evaluate rows.jsonl --judge openai:gpt-5-mini", "openai models need the extra 'openai'"),
    "a hub model": ("evaluate rows.jsonl --judge embedded+reader:nli", "pip install '.[readers]'"),
    "an application by its URL": (
        "collect rows.jsonl -o c.jsonl --app http://127.0.0.1:1/",
        "pip install '.[collect]'",
    ),
    "a tool for scores": ("send last --phoenix http://127.0.0.1:9", "need the extra 'collect'"),
    "a test set": ("testset build nowhere.sqlite", "pip install '.[testset]'"),
    "a schema": ("testset schema nowhere.sqlite", "pip install '.[testset]'"),
    "filling templates": ("testset fill nowhere.sqlite", "pip install '.[testset]'"),
    "the embedded judge": ("evaluate traced.jsonl --metrics self_distinctness --scores s.jsonl --json", None),
    "an application in a file": ("collect rows.jsonl -o cases.jsonl --app app.py:answer --limit 1", None),
    "scores of a test set": ("testset score --help", None),
    "a plan for a language model": ("plan rows.jsonl --judge openai:gpt-5-mini", None),
}
"""What is wanted → a command, and what it says where it can't be had."""
CODE = f"""
import json, sys
from pathlib import Path
sys.path.append({str(Path(__file__).parents[1])!r})
for name in {MISSING}:
    sys.modules[name] = None
from in_process import said_by
said = [said_by(command.split()) for command in json.loads(sys.argv[1])]
print(json.dumps([[one.code, one.err] for one in said]))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Said]:
    """What the commands say in a process that has none of the packages, one after the other."""
    folder = tmp_path_factory.mktemp("bare")
    written(folder / "rows.jsonl", [row(0)])
    written(folder / "traced.jsonl", [row(0, trace_id=f"{1:032x}")])
    (folder / "app.py").write_text(APP, encoding="utf-8")
    tiny_onnx.entailment(folder / "nli")
    commands = [command for command, _ in COMMANDS.values()][::-1]  # there is a run when its scores are to be sent
    environment = {name: value for name, value in os.environ.items() if name != "RAGTRIAGE_STORE"}
    done = subprocess.run(  # our own command
        [sys.executable, "-c", CODE, json.dumps(commands)],
        cwd=folder, env=environment, text=True, capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    return {
        what: Said(code, "", err) for what, (code, err) in zip([*COMMANDS][::-1], json.loads(done.stdout), strict=True)
    }


@pytest.mark.parametrize("what", COMMANDS)
def test_what_needs_a_package_names_its_extra_and_all_else_works(told: dict[str, Said], what: str) -> None:
    message = COMMANDS[what][1]

    assert told[what].code == (2 if message else 0), told[what].err
    assert (message or "") in told[what].err
    assert "Traceback" not in told[what].err
