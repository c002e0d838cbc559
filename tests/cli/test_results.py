"""`show`, `report`, `export` and `runs` on a stored run."""

import csv
import json
import webbrowser
from pathlib import Path

import pytest

from cli_rows import row, written
from forked import COMMAND, Child
from ragtriage import (
    Component,
    FakeJudge,
    Verdict,
    open_cases,
    open_store,
    thresholds_with,
)
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer
from ragtriage.execution.evaluate_file import evaluate_file
from ragtriage.metrics import THELMA
from ragtriage.runs.evaluation_config import EvaluationConfig

NAMES = [m.name for m in THELMA]


def answer(question: Question) -> Answer:
    """Claims about ticket 1 are made up, everything else is well."""
    if question.kind in DECOMPOSITIONS:
        return (Component(question.subject, (0, len(question.subject))),)
    if question.kind in {"similarity", "declines"} or (
        question.kind == "supported" and "Ticket 1 " in question.subject
    ):
        return Verdict("no", 0.1, 0.9, "it says otherwise")
    return Verdict("yes", 0.9, 0.9)


def stored_run(folder: Path, rows: list[dict[str, object]], name: str = "rows.jsonl") -> str:
    """The store that holds a run of these rows."""
    config = EvaluationConfig(THELMA, thresholds_with({}))
    with open_store(folder / "store") as store:
        evaluate_file(open_cases(written(folder / "rows.jsonl", rows)), FakeJudge(answer), store, config, name=name)
    return str(folder / "store")


@pytest.fixture
def stored(tmp_path: Path) -> str:
    """A store with one run of four rows, the last of them without a response."""
    odd = {"amount": 1.5, "nested": {"a": [1]}, "a,b": 'x "quoted", ü'}
    return stored_run(tmp_path, [row(0), row(1, **odd), row(2), row(3, answer=None)])


def test_parquet_has_the_columns_of_csv(command, stored: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")

    assert command("export", "-o", "rows.parquet", "--with", "texts,evidence", "--store", stored).code == 0

    table = parquet.read_table("rows.parquet")
    assert set(NAMES) <= set(table.column_names)
    assert table.column("groundedness").to_pylist() == [1.0, 0.0, 1.0, None]
    assert dict(table.column("tags").to_pylist()[1])["amount"] == "1.5"
    assert table.column("sources").to_pylist()[0] == ["Ticket 0 costs 3 euros.", "The office sells tickets."]
    assert table.column("response").to_pylist()[3] is None
    assert table.column("evidence").to_pylist()[1].startswith("unsupported_claims: ")


HOSTILE = '=HYPERLINK("http://evil.example","open")'


@pytest.fixture
def hostile(tmp_path: Path) -> str:
    """A store with one run whose texts a spreadsheet would run, and which move a terminal's cursor."""
    cells = {"plain": "a-b", "minus": -3, "\tname": "@SUM(A1)", "control": "red\x1b[31m\x00", "space": "+1\r\n"}
    rows = [row(0, id="-2+3", question=HOSTILE, **cells), row(1, id="＝1+1")]
    return stored_run(tmp_path, rows)


def exported(command, store: str, *flags: str) -> list[dict[str, str]]:
    said = command("export", "-o", "rows.csv", "--store", store, *flags)
    assert said.code == 0
    with Path("rows.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def test_csv_holds_nothing_that_a_spreadsheet_runs_unless_it_is_raw(command, hostile: str) -> None:
    first, second = exported(command, hostile, "--with", "texts,evidence")

    assert (first["id"], second["id"]) == ("'-2+3", "'＝1+1")
    assert first["query"] == "'" + HOSTILE
    assert (first["tag.plain"], first["tag.minus"]) == ("a-b", "-3")
    assert first["tag. name"] == "'@SUM(A1)"
    assert first["tag.control"] == "red\ufffd[31m\ufffd"
    assert first["tag.space"] == "'+1 \n"
    first, second = exported(command, hostile, "--raw", "--with", "texts")
    assert (first["id"], second["id"], first["query"]) == ("-2+3", "＝1+1", HOSTILE)
    assert (first["tag.\tname"], first["tag.control"]) == ("@SUM(A1)", "red\x1b[31m\ufffd")


@pytest.mark.parametrize("to", [(), ("-o", "-")])
def test_rows_go_to_standard_output_by_default(command, stored: str, to: tuple[str, ...]) -> None:
    said = command("export", *to, "--store", stored)
    as_csv = command("export", *to, "--format", "csv", "--store", stored)

    assert said.err == as_csv.err == ""
    assert [json.loads(line)["id"] for line in said.out.splitlines()] == ["r0", "r1", "r2", "r3"]
    assert [r["id"] for r in csv.DictReader(as_csv.out.splitlines())] == ["r0", "r1", "r2", "r3"]


def test_a_format_that_is_named_counts_more_than_the_ending(command, stored: str) -> None:
    command("export", "-o", "rows.txt", "--format", "csv", "--store", stored)

    assert Path("rows.txt").read_text(encoding="utf-8").startswith("id,")


def test_a_file_that_can_not_be_written_whole_stays_as_it_was(command, stored: str) -> None:
    Path("rows.jsonl").write_text("before", encoding="utf-8")
    Path("rows.jsonl.new").mkdir()

    said = command("export", "-o", "rows.jsonl", "--store", stored)

    assert said.code == 2
    assert "rows.jsonl can't be written: " in said.err
    assert Path("rows.jsonl").read_text(encoding="utf-8") == "before"


def test_a_report_is_written_where_it_is_told_to_and_beside_the_store_else(command, stored: str) -> None:
    assert command("report", 1, "-o", "deep/report.html", "--store", stored).out == "deep/report.html\n"
    assert Path("deep/report.html").is_file()
    assert command("report", "--store", stored).out.strip() == f"{stored}/run-1.html"
    assert Path(stored, "run-1.html").is_file()


def test_a_run_is_named_and_noted_in_every_form(command, stored: str) -> None:
    assert command("runs", "rename", 1, "smaller\nchunks", "--store", stored).out == "name of run 1: smaller chunks\n"
    assert command("runs", "note", "last", "200 tokens", "--store", stored).code == 0
    said = {"name": "smaller\nchunks", "note": "200 tokens"}

    line, note, _ = command("runs", "--store", stored).out.splitlines()
    assert "UTC  smaller chunks  finished" in line
    assert note == "      note: 200 tokens"
    assert command("runs", "--json", "--store", stored).json[0]["about"] == said
    shown = command("show", "--store", stored).out
    assert shown.startswith("Run 1 · smaller chunks · rows.jsonl")
    assert "\nnote: 200 tokens\n" in shown
    assert command("show", "--json", "--store", stored).json["about"] == said
    command("report", "-o", "report.html", "--store", stored)
    page = Path("report.html").read_text(encoding="utf-8")
    assert "<h1>smaller chunks</h1>" in page
    assert "<p>200 tokens</p>" in page
    command("baseline", "-o", "base.json", "--store", stored)
    side = command("compare", "base.json", "1", "--json", "--store", stored).json["base"]
    assert side["about"] == said

    refused = command("runs", "--store", stored, "rename", 1, "other")
    assert (refused.code, "behind it" in refused.err) == (2, True)
    assert command("runs", "rename", 9, "x", "--store", stored).code == 2


def test_runs_that_are_left_out_are_counted(command, tmp_path: Path, stored: str) -> None:
    stored_run(tmp_path, [row(0, answer=None, weight=3), row(1, weight=1)])

    said = command("runs", "--most", 1, "--store", stored).out

    assert [line.split()[0] for line in said.splitlines()] == ["2", "Sources", "1"]
    assert said.endswith("1 older run left out: --most 2\n")


def test_a_report_is_opened_in_the_browser_if_asked(command, stored: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or len(opened) == 1)

    seen = command("report", "-o", "a b.html", "--open", "--store", stored)
    unseen = command("report", "-o", "a b.html", "--open", "--store", stored)
    command("report", "-o", "a b.html", "--store", stored)

    assert opened == [Path("a b.html").resolve().as_uri()] * 2
    assert (seen.code, seen.err, seen.out) == (0, "", "a b.html\n")
    assert (unseen.code, unseen.err) == (0, "no browser could be opened: open the file yourself\n")


def test_a_case_needs_no_plain_id_to_be_shown(command, tmp_path: Path) -> None:
    odd = "a b/ü [red]"
    store = stored_run(tmp_path, [row(0, id=odd, answer="Ticket 1 is [bold]x[/bold].")], "[x].jsonl")

    assert f"'{odd}'" in command("show", "--store", store).out
    assert "[bold]x[/bold]" in command("show", "last", odd, "--store", store).out


def test_a_reader_who_has_gone_is_no_failure(stored: str) -> None:
    with Child("runs", "--store", stored) as child:
        child.stdout.close()
        err = child.stderr.read()
        code = child.wait()

    assert (code, err) == (0, "")


def test_other_signs_stand_where_the_terminal_has_no_unicode(stored: str) -> None:
    code = f"import sys; sys.stdout.reconfigure(encoding='ascii'); {COMMAND}"
    with Child("show", "--store", stored, code=code) as child:
        shown, _ = child.communicate()

    assert shown.isascii()
    assert "#" in shown
    assert " - " in shown
    assert "judged by" in shown


def test_an_output_that_is_full_is_told_in_a_sentence(stored: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with Path("/dev/full").open("w") as full, Child("runs", "--store", stored, stdout=full.fileno()) as child:
        _, err = child.communicate()

    assert (child.returncode, err) == (3, "ragtriage: the output failed: No space left on device\n")


def test_a_case_as_json_is_what_export_writes(command, stored: str) -> None:
    command("export", "-o", "rows.jsonl", "--store", stored)
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text(encoding="utf-8").splitlines()]

    assert command("show", 1, "r1", "--json", "--store", stored).json == next(r for r in rows if r["id"] == "r1")
