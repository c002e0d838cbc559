"""The language model judge against real servers, by the command that users type.

Not part of the usual tests, as the servers' packages are big: `make test-real` installs them and names this file.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from local_servers import Server, installed, serving, write_tiny_model

from examples import rows_of
from ragtriage import Failure, Record, Verdict, open_store
from ragtriage.core.verdicts import Verdicts
from ragtriage.runs.run import RunInfo

ROWS = rows_of(Path(__file__).parent / "rows.jsonl")
VERDICT = {
    "type": "object",
    "properties": {"why": {"type": "string"}, "verdict": {"type": "string", "enum": ["yes", "no", "unknown"]}},
    "required": ["why", "verdict"],
    "additionalProperties": False,
}
SCHEMA = {
    "type": "object",
    "properties": {"claims": {"type": "array", "items": {"type": "string"}}, "q1": {"$ref": "#/$defs/V"}},
    "required": ["claims", "q1"],
    "additionalProperties": False,
    "$defs": {"V": VERDICT},
}
ASKED: dict[str, Any] = {
    "model": "tiny",
    "messages": [{"role": "system", "content": "Judge."}, {"role": "user", "content": "Does the pass cost 40 euros?"}],
    "temperature": 0,
    "max_tokens": 2000,
}
LEAN = ("--metrics", "groundedness", "--concurrency", "1")
BOTH = ("llama.cpp", "llama-cpp-python")
PACKAGES = {"llama.cpp": "xllamacpp", "llama-cpp-python": "llama_cpp"}


@dataclass(frozen=True)
class Said:
    """What a command left behind."""

    code: int
    out: str
    err: str
    folder: Path

    def records(self) -> list[Record]:
        """The cases of the last run in its store."""
        with open_store(self.folder / ".ragtriage") as store:
            return list(store.run("last").records())

    def run(self) -> RunInfo:
        """The last run in its store."""
        with open_store(self.folder / ".ragtriage") as store:
            return store.runs()[0]


Command = Callable[..., Said]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not installed("gguf"):
        pytest.skip("gguf isn't installed")
    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    write_tiny_model(path)
    return path


@pytest.fixture(scope="session", params=BOTH)
def server(request: pytest.FixtureRequest, model: Path) -> Iterator[Server]:
    if not installed(PACKAGES[request.param]):
        pytest.skip(f"{PACKAGES[request.param]} isn't installed")
    with serving(request.param, model, model.parent / f"{request.param}.log") as up:
        yield up


llama_cpp = pytest.mark.parametrize("server", ["llama.cpp"], indirect=True)
llama_cpp_python = pytest.mark.parametrize("server", ["llama-cpp-python"], indirect=True)


@pytest.fixture
def command(server: Server, tmp_path: Path) -> Command:
    """`command("evaluate", "rows.jsonl")` in a folder with the rows, with the tiny model as judge."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("RAGTRIAGE_", "OPENAI_"))}
    judge = ["--judge", "openai:tiny", "--base-url", server.address, "--timeout", "60"]

    def run(*words: str, rows: Sequence[Mapping[str, Any]] = ROWS, folder: str = "") -> Said:
        here = tmp_path / folder
        here.mkdir(exist_ok=True)
        (here / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        done = subprocess.run(  # our own command
            [sys.executable, "-c", "from ragtriage.cli import main; main()", *words, *judge],
            cwd=here,
            env=environment,
            capture_output=True,
            timeout=300,
            check=False,
        )
        return Said(done.returncode, done.stdout.decode(), done.stderr.decode(), here)

    return run


def verdicts(record: Record) -> list[Verdict | Failure]:
    """All that were asked for, in the order of the steps."""
    grids = [known for known in record.steps.values() if isinstance(known, Verdicts)]
    return [cell for grid in grids for row in grid.cells for cell in row if cell is not None]


def explained(record: Record) -> list[Verdict]:
    """The verdicts of the language model: it explains them, and gives them no probability."""
    return [one for one in verdicts(record) if isinstance(one, Verdict) and one.confidence is None]


def failures(records: Iterable[Record]) -> list[str]:
    return [one.cause for record in records for one in verdicts(record) if isinstance(one, Failure)]


@llama_cpp
def test_a_schema_holds_the_model(server: Server) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "answers", "strict": True, "schema": SCHEMA}}
    status, said = server.chat(**ASKED, response_format=form)

    reply = json.loads(said["choices"][0]["message"]["content"])
    assert status == 200
    assert list(reply) == ["claims", "q1"]
    assert list(reply["q1"]) == ["why", "verdict"]
    assert reply["q1"]["verdict"] in {"yes", "no", "unknown"}


@llama_cpp_python
def test_this_server_refuses_the_usual_schema_mode_as_an_error_of_its_own(server: Server) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "answers", "schema": SCHEMA}}
    status, said = server.chat(**ASKED, response_format=form)

    assert status == 500
    assert "response_format" in said["error"]["message"]


def test_without_a_schema_the_model_first_says_something_else(server: Server) -> None:
    _, first = server.chat(**ASKED)
    said = first["choices"][0]["message"]
    _, second = server.chat(**{**ASKED, "messages": [*ASKED["messages"], said, {"role": "user", "content": "Again."}]})

    assert said["content"] == "Let me see."
    assert json.loads(second["choices"][0]["message"]["content"])["q12"]["verdict"] in {"yes", "no", "unknown"}


@llama_cpp
@pytest.mark.parametrize("reply", ["schema", "auto"])
def test_an_evaluation_by_schema_comes_to_its_end(command: Command, reply: str) -> None:
    said = command("evaluate", "rows.jsonl", "--reply", reply, "--concurrency", "2")

    assert said.code == 0, said.err
    records = said.records()
    assert [record.case.id for record in records] == [row["id"] for row in ROWS]
    assert failures(records) == []
    assert all(explained(record) for record in records)
    assert all(one.explanation for record in records for one in explained(record))
    assert {one.value for record in records for one in explained(record)} > {"yes"}
    assert said.run().requests >= len(ROWS)
    assert said.run().tokens_in > 1000
    assert said.run().tokens_out > 100


def test_an_evaluation_by_text_corrects_every_first_reply(command: Command) -> None:
    said = command("evaluate", "rows.jsonl", "--reply", "text", "--concurrency", "2", "--batch-size", "12")

    assert said.code == 0, said.err
    records = said.records()
    assert failures(records) == []
    assert {one.explanation for record in records for one in explained(record)} == {"hm"}
    assert said.run().requests % 2 == 0  # each one and its correction


@llama_cpp_python
def test_requests_are_counted_as_the_server_counts_them(server: Server, command: Command) -> None:
    before = server.answered()
    said = command("evaluate", "rows.jsonl", "--reply", "text", "--concurrency", "1", "--batch-size", "12")

    assert said.run().requests == server.answered() - before > 0


@llama_cpp_python
def test_auto_finds_out_that_a_server_has_no_schema_mode(command: Command) -> None:
    said = command("evaluate", "rows.jsonl", "--batch-size", "12")

    assert said.code == 0, said.err
    assert failures(said.records()) == []


@llama_cpp
def test_the_same_evaluation_twice_gives_the_same_verdicts(command: Command) -> None:
    one, two = (command("evaluate", "rows.jsonl", *LEAN, folder=name).records() for name in ("1", "2"))

    assert [verdicts(record) for record in one] == [verdicts(record) for record in two]
    assert [record.outcomes for record in one] == [record.outcomes for record in two]


@llama_cpp
def test_what_was_answered_is_not_asked_again(command: Command) -> None:
    said = command("evaluate", "rows.jsonl", *LEAN)
    first, found = said.run(), [verdicts(record) for record in said.records()]
    again = command("evaluate", "rows.jsonl", *LEAN)

    assert first.requests > 0
    assert (again.run().number, again.run().requests) == (first.number + 1, 0)
    assert [verdicts(record) for record in again.records()] == found


@llama_cpp
def test_a_run_that_was_stopped_goes_on_and_repeats_no_request(command: Command) -> None:
    whole = command("evaluate", "rows.jsonl", *LEAN, folder="whole")
    stopped = command("evaluate", "rows.jsonl", *LEAN, "--max-requests", "2", folder="parts")
    assert stopped.code == 3
    assert stopped.run().requests == 2

    done = command("evaluate", "rows.jsonl", *LEAN, folder="parts")
    assert done.code == 0, done.err
    assert done.run().number == 1
    assert done.run().requests == whole.run().requests > 2
    assert [verdicts(record) for record in done.records()] == [verdicts(record) for record in whole.records()]


def test_a_source_beyond_the_context_is_that_case_s_failure(command: Command) -> None:
    long = {**ROWS[0], "id": "long", "sources": ["The pass costs 40 euros. " * 2000]}
    said = command("evaluate", "rows.jsonl", "--reply", "text", "--batch-size", "12", rows=[long, *ROWS[1:]])

    assert said.code == 3
    first, *others = said.records()
    assert any("too long" in cause for cause in failures([first])), failures([first])
    assert failures(others) == []


@llama_cpp
def test_the_judge_can_be_asked_directly(command: Command) -> None:
    rows = [
        {"id": str(i), "claim": row["response"], "sources": row["sources"], "label": i % 2}
        for i, row in enumerate(ROWS)
    ]
    said = command("trust", "agreement", "rows.jsonl", "-o", "said.jsonl", rows=rows)

    assert said.code == 0, said.err
    written = (said.folder / "said.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in written.splitlines()]
    assert [line["id"] for line in lines] == ["0", "1", "2"]
    assert {line["verdict"] for line in lines} <= {"yes", "no", "unknown"}
