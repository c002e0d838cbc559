"""`ragtriage collect` and `evaluate --app`: as commands, killed, continued, and with the example application."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from forked import Child
from servers import Heard, Said, Server

ROOT = Path(__file__).parents[2]
APP = """
import json, pathlib, time
def note(query):
    with open("asked.txt", "a") as file:
        file.write(query + "\\n")
def answer(query):
    note(query)
    print("a word of the application's own")
    return {"response": "It is " + query, "sources": [{"id": "s", "text": "It is " + query}]}
def slow(query):
    time.sleep(0.02)
    return answer(query)
def some(query):
    if query == "Q1": raise ValueError("no")
    return answer(query)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two hundred questions and an application."""
    lines = [json.dumps({"id": str(i), "frage": f"Q{i}", "topic": i % 2, "answer": "gold"}) for i in range(200)]
    (tmp_path / "q.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    return tmp_path


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


ASK = ("collect", "q.jsonl", "--map", "query=frage", "-o", "out.jsonl", "--app")


def test_a_case_without_response_ends_with_3_and_can_be_asked_again(command, folder: Path) -> None:
    said = command(*ASK, "app.py:some", "--limit", 3, "--json")
    assert said.code == 3
    assert said.json["failed"] == {"exception ValueError": 1}
    assert (said.json["asked"], said.json["answered"], said.json["empty"], said.json["timed_out"]) == (3, 2, 0, 0)

    again = command(*ASK, "app.py:answer", "--limit", 3, "--json")
    assert (again.code, again.json["before"], again.json["answered"]) == (3, 3, 2)

    mended = command(*ASK, "app.py:answer", "--limit", 3, "--json", "--retry-failed")
    assert (mended.code, mended.json["before"], mended.json["answered"]) == (0, 2, 3)


def test_after_a_kill_the_same_command_goes_on_and_asks_nothing_twice(command, folder: Path) -> None:
    path = folder / "out.jsonl"
    with Child(*ASK, "app.py:slow", folder=folder) as child:
        until = time.monotonic() + 60
        while not (path.exists() and path.read_bytes().count(b"\n") >= 20) and time.monotonic() < until:
            time.sleep(0.01)
        child.kill()
        child.communicate()
    before = {row["id"] for row in rows(path)} if path.read_bytes().endswith(b"\n") else set()
    assert 20 <= path.read_bytes().count(b"\n") < 200
    asked_before = len((folder / "asked.txt").read_text().splitlines())

    said = command(*ASK, "app.py:slow", "--json")

    assert said.code == 0, said.err
    found = [row["id"] for row in rows(path)]
    assert sorted(found, key=int) == [str(i) for i in range(200)]
    later = (folder / "asked.txt").read_text().splitlines()[asked_before:]
    assert not before & {query[1:] for query in later}
    assert len(later) == 200 - said.json["before"]


def test_evaluate_asks_and_judges_in_one_go(command, folder: Path) -> None:
    given = ("evaluate", "q.jsonl", "--map", "query=frage", "--app", "app.py:answer", "--limit", 4)
    judged = ("--judge", "embedded", "--json", "--store", "st")
    said = command(*given, *judged)

    assert said.code == 0, said.err
    assert said.json["cases"] == 4  # and the application's own words didn't get into the JSON
    assert "a word of the application's own" in said.err
    asked = (folder / "asked.txt").read_text().splitlines()
    assert sorted(asked) == ["Q0", "Q1", "Q2", "Q3"]
    assert (folder / "st" / ".gitignore").exists()

    command(*given, *judged)  # was judged to its end, so a changed application is asked anew
    assert len((folder / "asked.txt").read_text().splitlines()) == 8

    for _ in range(2):  # a named file is always gone on with
        assert command(*given, *judged, "--collected", "mine.jsonl").json["cases"] == 4
    assert len((folder / "asked.txt").read_text().splitlines()) == 12


def test_a_tag_that_only_failed_answers_have_is_no_mistake(command, folder: Path) -> None:
    given = ("evaluate", "q.jsonl", "--map", "query=frage", "--app", "app.py:answer", "--limit", 1)

    assert command(*given, "--metrics", "self_distinctness", "--json", "--by", "failure").code == 0


def test_evaluate_goes_on_with_unjudged_answers(command, folder: Path) -> None:
    given = ("evaluate", "q.jsonl", "--map", "query=frage", "--limit", 30, "--store", "st", "--judge", "embedded")
    with Child(*given, "--app", "app.py:slow", folder=folder) as child:
        until = time.monotonic() + 60
        while not (folder / "asked.txt").exists() and time.monotonic() < until:
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
    said = command(*given, "--app", "app.py:slow", "--json")

    assert (said.code, said.json["cases"]) == (0, 30), said.err
    assert len(list((folder / "st").glob("collected-*.jsonl"))) == 1


def test_a_wrong_address_stops_with_3_and_leaves_the_file_open(command, folder: Path) -> None:
    with Server(Said({"detail": "Not Found"}, 404)) as server:
        said = command(*ASK, server.root)
        assert len(server.heard) < 30

    assert said.code == 3
    assert "answers HTTP 404" in said.err
    assert rows(folder / "out.jsonl") == []


def test_a_key_stands_in_no_file_and_no_word(command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-4711-secret")

    def says(heard: Heard) -> Said:
        wrong = heard.body["query"] == "Q1"
        return Said({"error": heard.headers["x-key"]}, 400) if wrong else Said({"answer": "fine", "sources": []})

    with Server(says) as server:
        header = ("--app-header", "X-Key=${MY_KEY}", "--limit", 3, "--map", "query=frage", "--app", server.root)
        said = [command("collect", "q.jsonl", "-o", "out.jsonl", *header)]
        said.append(command("evaluate", "q.jsonl", "--judge", "embedded", "--store", "st", *header))
        assert server.heard[0].headers["x-key"] == "sk-4711-secret"

    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 4
    assert [path for path in files if b"sk-4711" in path.read_bytes()] == []
    assert "sk-4711" not in "".join(one.out + one.err for one in said)
    assert "[hidden]" in (folder / "out.jsonl").read_text()


def test_a_column_that_asking_brings_anew_is_left_out_and_told(command, folder: Path) -> None:
    (folder / "old.csv").write_text("question,response,topic\na?,old,t\n", encoding="utf-8")
    said = command("collect", "old.csv", "--app", "app.py:answer", "-o", "out.jsonl")

    assert "the column 'response' is left out" in said.err
    assert [(row["response"], row["topic"]) for row in rows(folder / "out.jsonl")] == [("It is a?", "t")]


def documented(start: str) -> list[str]:
    """The words of the first command of the docs that begins so."""
    page = (ROOT / "docs" / "input.md").read_text(encoding="utf-8")
    return shlex.split(next(line for line in page.splitlines() if line.startswith(f"$ {start}"))[2:])


def test_the_example_is_asked_as_the_docs_say(command, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    said = command(*documented("ragtriage collect examples/questions.jsonl --app examples/app.py")[1:])
    page = (ROOT / "docs" / "input.md").read_text(encoding="utf-8")
    shown = page.split("<!-- output: collect -->\n```\n")[1].split("```")[0].splitlines()

    assert said.code == 0, said.err
    assert said.out.splitlines()[:-1] == shown[:-1]
    found = {row["id"]: row for row in rows(tmp_path / "cases.jsonl")}
    assert "€7.00" in found["q1"]["response"]
    assert found["q1"]["retrieved"][0] == "luggage-bikes-3"
    assert found["q8"]["sources"] == []


def test_the_examples_server_is_asked_as_the_docs_say(command, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    with Server(Said("")) as free:
        port = free.root.rpartition(":")[2]
    start = [word.replace("8765", port) for word in documented("python examples/app.py")]
    asked = [word.replace("8765", port) for word in documented("ragtriage collect examples/questions.jsonl --app http")]
    with subprocess.Popen(
        [sys.executable, *start[1:]], cwd=tmp_path, stderr=subprocess.DEVNULL, env=os.environ
    ) as server:
        try:
            said = command(*asked[1:], "--app-max-attempts", 8)
        finally:
            server.kill()

    assert said.code == 0, said.err
    found = {row["id"]: row for row in rows(tmp_path / "cases.jsonl")}
    assert "Coach 3" in found["q4"]["response"]
    assert found["q4"]["sources"][0]["id"] == "rail-4"
