"""`ragtriage collect --samples`: further responses, killed and continued, at a temperature or plainly asked again."""

import json
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from forked import Child
from servers import Heard, Said, Server

APP = """
import itertools, threading, time
count, lock = itertools.count(), threading.Lock()
def note(*told):
    with lock, open("asked.txt", "a") as file:
        print(*told, file=file)
def answer(query, temperature=0.0):
    note(query, temperature)
    return {"response": f"It is {query}" + (f" or {next(count)}" if temperature else ""), "sources": ["s"]}
def plain(query):
    note(query)
    return f"It is {query}, {next(count)}"
def slow(query, temperature=0.0):
    time.sleep(0.02)
    return answer(query, temperature)
def some(query, temperature=0.0):
    if temperature and next(count) % 3 == 0: raise ValueError("no")
    return answer(query, temperature)
"""
ASK = ("collect", "q.jsonl", "-o", "out.jsonl", "--app")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Forty questions and an application."""
    lines = [json.dumps({"id": f"a#{i}", "query": f"Q{i}", "topic": i % 2}) for i in range(40)]
    (tmp_path / "q.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "app.py").write_text(APP, encoding="utf-8")
    return tmp_path


def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_bytes().splitlines()]


def asked(folder: Path) -> Counter[str]:
    return Counter((folder / "asked.txt").read_text().splitlines())


def test_a_function_with_a_temperature_gets_that_of_samples_and_its_own_for_the_response(command, folder: Path) -> None:
    said = command(*ASK, "app.py:answer", "--limit", 2, "--samples", 4)

    assert said.code == 0, said.err
    assert asked(folder) == {"Q0 0.0": 1, "Q0 1.0": 4, "Q1 0.0": 1, "Q1 1.0": 4}
    first = min(rows(folder), key=lambda row: row["id"])
    assert (first["response"], len(first["samples"]), len(set(first["samples"]))) == ("It is Q0", 4, 4)
    assert (first["samples_asked"], first["samples_temperature"], first["topic"]) == (4, 1.0, 0)
    assert "samples 8 for 2 responses" in said.out.splitlines()
    assert "drawing 8 samples at temperature 1, 4 for every response" in said.err
    assert sorted(path.name for path in folder.glob("*.jsonl")) == ["out.jsonl", "q.jsonl"]


def test_an_application_without_a_temperature_is_plainly_asked_again(command, folder: Path) -> None:
    said = command(*ASK, "app.py:plain", "--limit", 3, "--samples", 2, "--json")

    assert said.json["samples"] == {"cases": 3, "asked": 6, "drawn": 6, "alike": 0, "failed": {}}
    assert asked(folder) == {"Q0": 3, "Q1": 3, "Q2": 3}
    assert "samples_temperature" not in rows(folder)[0]
    assert "drawing 6 samples by asking again" in said.err


def test_more_samples_are_drawn_for_answers_that_have_some_or_none(command, folder: Path) -> None:
    command(*ASK, "app.py:answer", "--limit", 2)
    command(*ASK, "app.py:answer", "--limit", 2, "--samples", 1)
    before = {row["id"]: row["samples"] for row in rows(folder)}
    command(*ASK, "app.py:answer", "--limit", 2, "--samples", 3)

    assert asked(folder) == {"Q0 0.0": 1, "Q0 1.0": 3, "Q1 0.0": 1, "Q1 1.0": 3}
    assert all(len(row["samples"]) == 3 and row["samples"][:1] == before[row["id"]] for row in rows(folder))


def test_samples_that_fail_are_counted_and_drawn_again_when_asked_for(command, folder: Path) -> None:
    said = command(*ASK, "app.py:some", "--limit", 3, "--samples", 4, "--json")
    assert said.code == 3
    failed = said.json["samples"]["failed"]["exception ValueError"]
    assert (said.json["samples"]["drawn"], said.json["samples"]["asked"]) == (12 - failed, 12)
    assert 0 < failed < 12

    left = command(*ASK, "app.py:answer", "--limit", 3, "--samples", 4, "--json")
    assert (left.code, left.json["samples"]["drawn"]) == (3, 12 - failed)

    again = command(*ASK, "app.py:answer", "--limit", 3, "--samples", 4, "--json", "--retry-failed")
    assert (again.json["samples"]["drawn"], again.json["samples"]["asked"]) == (12, 12 + failed)
    assert all(len(row["samples"]) == 4 for row in rows(folder))


def test_after_ctrl_c_only_samples_in_flight_are_drawn_again(command, folder: Path) -> None:
    beside = folder / "out.samples.jsonl"
    given = (*ASK, "app.py:slow", "--samples", 4, "--app-concurrency", 2)
    with Child(*given, folder=folder) as child:
        until = time.monotonic() + 60
        while not (beside.exists() and beside.read_bytes().count(b"\n") >= 20) and time.monotonic() < until:
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        _, told = child.communicate()
    assert child.returncode == 3
    assert "give the same command again" in told
    drawn_before = sum(count for told, count in asked(folder).items() if told.endswith("1.0"))
    assert 20 <= drawn_before < 160

    said = command(*given, "--json")

    assert said.code == 0, said.err
    assert said.json["samples"] == {"cases": 40, "asked": 160, "drawn": 160, "alike": 0, "failed": {}}
    assert all(len(row["samples"]) == 4 for row in rows(folder))
    seen = asked(folder)
    assert all(seen[f"Q{i} 0.0"] == 1 for i in range(40))
    assert 160 <= sum(count for line, count in seen.items() if line.endswith("1.0")) <= 162
    assert not beside.exists()


def test_a_kill_while_samples_are_put_into_rows_puts_none_in_twice(command, folder: Path) -> None:
    command(*ASK, "app.py:answer", "--limit", 1, "--samples", 1)
    (row,) = rows(folder)
    left = [{"id": f"a#0#{n}", "query": "Q0", "response": f"sample {n}", "temperature": 1.0} for n in (1, 2)]
    (folder / "out.samples.jsonl").write_text("\n".join(map(json.dumps, left)) + '\n{"id": "a#0#3", "qu')
    command(*ASK, "app.py:answer", "--limit", 1, "--samples", 2)

    assert rows(folder)[0]["samples"] == [*row["samples"], "sample 2"]
    assert asked(folder)["Q0 1.0"] == 1


def test_a_url_gets_the_temperature_in_its_template_or_as_a_chat_does(command, folder: Path) -> None:
    def says(heard: Heard) -> Said:
        return Said({"answer": f"{heard.body['t']}", "choices": [{"message": {"content": "fine"}}]})

    template = '{"q": "{{query}}", "t": "{{temperature}}"}'
    with Server(says) as server:
        said = command(*ASK, server.root, "--template", template, "--limit", 1, "--samples", 2, "--temperature", 0.7)
        assert said.code == 0, said.err
        assert [heard.body["t"] for heard in server.heard] == [0, 0.7, 0.7]
    assert (rows(folder)[0]["response"], rows(folder)[0]["samples"]) == ("0", ["0.7", "0.7"])

    (folder / "out.jsonl").unlink()
    with Server(Said({"choices": [{"message": {"content": "fine"}}]})) as server:
        command(*ASK, server.url, "--openai-model", "m", "--limit", 1, "--samples", 1)
        assert [heard.body.get("temperature") for heard in server.heard] == [None, 1.0]


def test_samples_of_two_temperatures_are_not_mixed(command, folder: Path) -> None:
    command(*ASK, "app.py:answer", "--limit", 1, "--samples", 1)
    said = command(*ASK, "app.py:answer", "--limit", 1, "--samples", 2, "--temperature", 0.5)

    assert said.code == 2
    assert "holds samples drawn at temperature 1, and now they would be drawn at temperature 0.5" in said.err


def test_samples_of_the_questions_file_give_way_to_those_that_are_drawn(command, folder: Path) -> None:
    (folder / "q.jsonl").write_text(json.dumps({"id": "1", "query": "Q1", "samples": ["old"]}), encoding="utf-8")
    command(*ASK, "app.py:answer", "--samples", 1)

    assert len(rows(folder)[0]["samples"]) == 1
    assert rows(folder)[0]["samples"] != ["old"]
