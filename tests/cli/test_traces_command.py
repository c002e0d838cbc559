"""Traces on the command line: several files as one, the notes of `ragtriage traces`, and what is refused."""

import json
from pathlib import Path
from typing import Any

from cli_rows import row, written
from in_process import said_by
from ragtriage import open_store

LEAN = ("--metrics", "groundedness")
START = 1_764_000_000_000_000_000


def span(trace: int, number: int, kind: str, **attributes: str) -> dict[str, Any]:
    """A line of a collector's file with one span, below the first of its trace."""
    held = {"openinference.span.kind": kind} | {key.replace("__", "."): value for key, value in attributes.items()}
    own = {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "parentSpanId": "" if number == 1 else f"{1:016x}",
        "name": kind,
        "startTimeUnixNano": str(START + trace * 10**9),
        "endTimeUnixNano": str(START + trace * 10**9 + 10**8),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in held.items()],
    }
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [own]}]}]}


def rotated(folder: Path) -> None:
    """Three traces, of which one begins in `b.jsonl` and ends in `a.jsonl`."""
    asked = [
        span(i, 1, "CHAIN", input__value=f"What does ticket {i} cost?", output__value=f"Ticket {i} costs 3 euros.")
        for i in range(1, 4)
    ]
    found = [
        span(i, 2, "RETRIEVER", retrieval__documents__0__document__content=f"Ticket {i} costs 3 euros.")
        for i in range(1, 4)
    ]
    written(folder / "a.jsonl", [found[1], asked[2], found[2]])
    written(folder / "b.jsonl", [asked[0], found[0], asked[1]])


def test_several_files_of_traces_are_one_in_any_order(command, tmp_path: Path) -> None:
    rotated(tmp_path)
    first = command("evaluate", "a.jsonl", "b.jsonl", *LEAN)
    assert first.code == 0, first.err
    assert "a.jsonl and 1 more (otlp)" in first.err
    assert "OTLP JSON · 3 traces, 6 spans" in first.err
    again = command("evaluate", "b.jsonl", "a.jsonl", "a.jsonl", *LEAN)
    assert "0 rows changed since run 1" in again.err
    with open_store(tmp_path / ".ragtriage") as store:
        assert store.run(1).info.identity == store.run(2).info.identity
    planned = command("plan", "b.jsonl", "a.jsonl", *LEAN, "--json").json
    assert (planned["file"], planned["cases"]) == ("a.jsonl and 1 more", 3)


def test_the_cases_of_several_files_are_written_in_the_same_order(command, tmp_path: Path) -> None:
    rotated(tmp_path)
    for files in (("a.jsonl", "b.jsonl"), ("b.jsonl", "a.jsonl")):
        said = command("traces", *files, "-o", f"of-{files[0]}")
        assert said.code == 0
        assert "a.jsonl and 1 more · OTLP JSON · 3 traces, 6 spans" in said.out
    cases = (tmp_path / "of-a.jsonl").read_text("utf-8")
    assert [json.loads(line)["query"] for line in cases.splitlines()] == [
        f"What does ticket {i} cost?" for i in (1, 2, 3)
    ]
    assert (tmp_path / "of-b.jsonl").read_text("utf-8") == cases
    assert "is the file that is read" in command("traces", "a.jsonl", "b.jsonl", "-o", "b.jsonl").err


def test_a_line_that_cannot_be_read_is_named_by_its_own_file(command, tmp_path: Path) -> None:
    rotated(tmp_path)
    with (tmp_path / "b.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"resourceSpans": [{"resou\n{"other": 1, "spans": 2}\n[1]\n')
    said = command("traces", "a.jsonl", "b.jsonl")
    assert "unusable: 2 rows of the file, the first: b.jsonl, line 4: broken JSON at line 4" in said.out
    assert "a.jsonl and 1 more, row 2: b.jsonl, line 6: is a list of 1, not a JSON object" in said.err
    (tmp_path / "set").mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).rename(tmp_path / "set" / name)
    said = command("traces", "set")
    assert "set, row 1: set/b.jsonl, line 4: broken JSON at line 4" in said.err
    assert "set, row 2: set/b.jsonl, line 6: is a list of 1" in said.err


def test_several_files_that_are_no_traces_are_refused(command, tmp_path: Path) -> None:
    rotated(tmp_path)
    written(tmp_path / "cases.jsonl", [row(1)])
    written(tmp_path / "more.jsonl", [row(2)])
    for name in ("evaluate", "plan", "traces"):
        said = command(name, "cases.jsonl", "more.jsonl")
        assert said.code == 2
        assert (
            "cases.jsonl and more.jsonl can't be read as one: several files must hold traces of one format" in said.err
        )
        assert "a.jsonl and cases.jsonl can't be read as one" in command(name, "a.jsonl", "cases.jsonl").err
    assert "c.jsonl: there is no such file" in command("traces", "a.jsonl", "c.jsonl").err
    (tmp_path / "z.jsonl").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(60))
    assert "z.jsonl: is packed by zstd: unpack it with  zstd -d z.jsonl" in command(name, "a.jsonl", "z.jsonl").err
    packed = said_by(["traces", "-"], (tmp_path / "z.jsonl").read_bytes())
    assert "standard input: is packed by zstd: unpack it with  zstd -d FILE" in packed.err
    (tmp_path / "none.jsonl").touch()
    assert "none.jsonl: is empty" in command("evaluate", "a.jsonl", "none.jsonl").err
    said = command("evaluate", "a.jsonl", "b.jsonl", "--app", "app.py:answer")
    assert said.code == 2
    assert "--app takes one file of questions" in said.err
    said = command("evaluate", "a.jsonl", "b.jsonl", "--on", "local:1", "--out", "run")
    assert said.code == 2
    assert "several files can't be given with --on: give a folder" in said.err


def test_texts_of_sources_come_from_a_file_or_a_function(command, tmp_path: Path) -> None:
    asked = span(1, 1, "CHAIN", input__value="What does it cost?", output__value="3 euros.")
    found = span(1, 2, "RETRIEVER", gen_ai__retrieval__documents='[{"id": "fares-1"}]')
    written(tmp_path / "t.jsonl", [asked, found])
    written(tmp_path / "texts.jsonl", [{"id": "fares-1", "text": "Text of fares-1."}])
    (tmp_path / "mine.py").write_text(
        "def text(id): return f'Text of {id}.'\n"
        "def none(id): return None\n"
        "def number(id): return 3\n"
        "def failing(id): return {}[id]\n",
        "utf-8",
    )
    for given in ("texts.jsonl", "mine.py:text"):
        assert command("traces", "t.jsonl", "--source-texts", given, "-o", "cases.jsonl").code == 0
        case = json.loads((tmp_path / "cases.jsonl").read_text("utf-8"))
        assert case["sources"] == [{"text": "Text of fares-1.", "id": "fares-1"}]
    for given, told in {
        "mine.py:none": "1 document was retrieved, its text wasn't recorded (--source-texts has none for their ids)",
        "mine.py:number": "--source-texts gave int, not a text or None",
        "mine.py:failing": "--source-texts failed: KeyError: 'fares-1'",
        "mine.py:txt": "--source-texts mine.py:txt: mine.py has no function 'txt': text?",
        "its.py:text": "--source-texts its.py:text: there is no file 'its.py'",
    }.items():
        said = command("traces", "t.jsonl", "--source-texts", given)
        assert said.code == 2
        assert told in said.err


def test_a_document_without_text_in_the_file_of_texts_is_refused(command, tmp_path: Path) -> None:
    found = span(1, 2, "RETRIEVER", gen_ai__retrieval__documents='[{"id": "b"}]')
    written(tmp_path / "t.jsonl", [span(1, 1, "CHAIN", input__value="How?", output__value="So."), found])
    for wrong, what in (({}, "is missing"), ({"text": None}, "is missing"), ({"text": 5}, "is no text")):
        written(tmp_path / "texts.jsonl", [{"id": "a", "text": ""}, {"id": "b", **wrong}])
        said = command("traces", "t.jsonl", "--source-texts", "texts.jsonl")
        assert said.code == 2
        assert f"texts.jsonl, row 2, field 'text': {what}: give every line the text of its document" in said.err


def test_a_file_of_a_folder_that_cannot_be_read_makes_the_run_incomplete(command, tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    asked = [span(i, 1, "CHAIN", input__value=f"What is {i}?", output__value=f"It is {i}.") for i in range(1, 13)]
    found = [span(i, 2, "RETRIEVER", retrieval__documents__0__document__content="A ticket.") for i in range(1, 13)]
    written(tmp_path / "set" / "a.jsonl", [*asked, *found])
    (tmp_path / "set" / "b.jsonl").touch()
    assert command("evaluate", "set", *LEAN).code == 0
    (tmp_path / "set" / "b.jsonl").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(60))
    said = command("evaluate", "set", *LEAN)
    assert said.code == 3
    assert "set/b.jsonl: is packed by zstd: unpack it with" in said.err


def test_metrics_and_logs_in_a_collectors_file_are_counted(command, tmp_path: Path) -> None:
    others = [{"resourceMetrics": []}] * 120 + [{"resource_logs": []}]
    rotated(tmp_path)
    written(tmp_path / "others.jsonl", others)
    said = command("traces", "a.jsonl", "b.jsonl", "others.jsonl")
    assert said.code == 0
    assert "unusable: 121: a row holds metrics or logs, which are no traces" in said.out
    said = command("traces", "others.jsonl")
    assert said.code == 2
    assert "can be used: 121: a row holds metrics or logs, which are no traces" in said.err


def test_reasons_are_told_by_how_many_they_cost(command, tmp_path: Path) -> None:
    rotated(tmp_path)
    unasked = [span(10 + i, 1, "CHAIN") for i in range(2)]
    written(tmp_path / "c.jsonl", [*unasked, *[span(0, 1, "CHAIN")] * 3])
    said = command("traces", "a.jsonl", "b.jsonl", "c.jsonl")
    assert [line[10:13] for line in said.out.splitlines() if line.startswith("unusable")] == ["3: ", "2: "]
    reasons = command("traces", "a.jsonl", "b.jsonl", "c.jsonl", "--json").json["reasons"]
    assert [*reasons.values()] == [3, 2]
    assert next(iter(reasons)) == "a span has no trace id or no span id"


def test_a_trace_to_explain_is_a_flag_of_traces(command) -> None:
    said = command("traces", "--help")
    assert "--explain" in said.out.partition("\nTraces:\n")[2].partition("\n\n")[0]
