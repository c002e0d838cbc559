r"""Flags, names and addresses that can't be meant: told in one sentence with exit code 2, before anything is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_rows import row, written

LEAN = ("--json", "--metrics", "self_distinctness")


def refused(said, told: str) -> None:
    """Exit code 2, and one message on standard error that says so."""
    assert said.code == 2, said.err
    assert told in said.err
    assert "Traceback" not in said.err
    assert said.out == ""


@pytest.fixture
def stored(command, tmp_path: Path) -> Path:
    """A store with one run, and the file of its rows."""
    path = written(tmp_path / "rows.jsonl", [row(i) for i in range(4)])
    assert command("evaluate", path.name, *LEAN).code == 0
    return path


RUNS = ["0", "99999999999999999999", "1000000000000000000000000000000", "9" * 5000]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run[:24])
def test_a_run_that_is_not_there_is_told_with_those_that_are(command, stored: Path, run: str) -> None:
    written(stored.with_name("labels.jsonl"), [LABEL])
    written(stored.with_name("answered.jsonl"), [{"group": "g", "correct": True}])
    for given in (
        ("show", run),
        ("report", run),
        ("export", run),
        ("trust", "label", run, "-o", "new.jsonl"),
        ("trust", "label", "-o", "new.jsonl", "--metric", "all", "--pick", "disagreements", "--against", run),
        ("trust", "calibrate", "labels.jsonl", "--run", run),
        ("testset", "score", "answered.jsonl", "--run", run),
    ):
        said = command(*given)
        refused(said, f"there is no run {run[:40]}; the newest are 1")
        assert len(said.err) < 200


LABEL = {
    "run": "1",
    "case": "r0",
    "metric": "self_distinctness",
    "component": 0,
    "text": "Ticket 0 costs 3 euros.",
    "label": True,
    "verdict": "yes",
}


@pytest.mark.parametrize("run", ["-1", "x", "1.0", ""])
def test_what_is_no_number_of_a_run_is_told(command, stored: Path, run: str) -> None:
    said = command("show", "--", run)

    refused(said, "is empty" if run == "" else f"{run!r} is no run: give its number, or last; the newest are 1")


def test_a_misspelt_case_is_told_with_the_nearest(command, tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(i, id=f"ticket-{i}") for i in range(3)])
    assert command("evaluate", "rows.jsonl", *LEAN).code == 0

    refused(command("show", "last", "tikcet-2"), "run 1 holds no case 'tikcet-2': did you mean ticket-2")
    refused(command("show", "last", "another"), "run 1 holds no case 'another': `ragtriage show 1` lists its cases")


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--limit", "3", "--sample", "2"], "--limit takes the first rows and --sample random ones: give one of them"),
        (["--citation-mark", r"\[\d+\]"], r"has no group: put parentheses around what names the source, for example"),
        (["--store", "mysql://me:secret@host/db"], "mysql is no kind of store: give a folder, a file that ends in"),
        (["--store", "mongodb://host/db"], "or postgresql://USER@HOST/NAME"),
        (["--store", "sqlite:///"], "names no place"),
        (["--store", ""], "--store is empty: give it a value, or leave it out"),
        (["--map", "query=question", "--map", "query=answer"], "--map names query twice, as question and as answer"),
        (
            ["--threshold", "groundedness=0.5", "--threshold", "groundedness=0.6"],
            "--threshold names groundedness twice",
        ),
        (["--fail-below", "groundedness=0.5", "--fail-below", "faithfulness=0.6"], "names groundedness twice"),
        (["--map", "query=question", "--map", "qury=x"], "Did you mean 'query'?"),
        (["--by", "topik"], "--by topik: no row has this tag: did you mean topic?"),
        (["--by", "colour"], "--by colour: no row has this tag: there is topic"),
        (["--by", "topik", "--dry-run"], "--by topik: no row has this tag: did you mean topic?"),
        (["--seed", "-1"], "--seed"),
        (["--judge", "openai:m", "--base-url", "http://[::1"], "--base-url 'http://[::1' is no address"),
        (["--judge", "openai:m", "--base-url", "http://h:x/v1"], "--base-url 'http://h:x/v1' is no address"),
        (["--judge", "openai:m", "--header", "A=1", "--header", "a=2"], "--header names a twice"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_a_flag_that_cannot_be_meant_is_told_before_anything_is_judged(
    command, tmp_path: Path, openai: None, flags: list[str], told: str
) -> None:
    written(tmp_path / "rows.jsonl", [row(i) for i in range(4)])

    refused(command("evaluate", "rows.jsonl", *LEAN, *flags), told)
    assert not (tmp_path / ".ragtriage" / "run-1.html").exists()


def test_no_password_is_repeated(command, tmp_path: Path) -> None:
    said = command("runs", "--store", "mysql://me:secret@host/db")

    refused(said, "mysql://me:***@host/db")
    assert "secret" not in said.err


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["evalaute", "rows.jsonl"], "there is no command 'evalaute': did you mean evaluate?"),
        (["trust", "calibarte"], "there is no command 'calibarte': did you mean calibrate?"),
        (["testset", "xyz"], "there is no command 'xyz': there are schema, templates, write"),
        (["show", "--most", "-1"], "--most"),
        (["show", "--most", "0"], "--most"),
        (["runs", "--most", "0"], "--most"),
        (["trust", "test", "rows.jsonl", "--seed", "-1"], "--seed"),
        (["testset", "example", "new", "--size", "-1"], "--size"),
        (["export", "--format", ""], "--format is empty"),
        (["evaluate", ""], "FILE is empty"),
        (["show", "last", "--by", "topik"], "--by topik: no row has this tag: did you mean topic?"),
        (["report", "--by", "topik"], "--by topik: no row has this tag: did you mean topic?"),
        (["evaluate", "nothere.jsonl"], "nothere.jsonl: there is no such file.\n"),
        (["evaluate", "row.jsonl"], "Did you mean rows.jsonl?"),
        (["evaluate", "rows.jsonl", "--metrics", "groundednes"], "did you mean groundedness or citation_groundedness?"),
        (["collect", "rows.jsonl", "-o", "c.jsonl", "--app", "http://[::1"], "is no address: Invalid port"),
        (["runs", "--store", "postgresql://[::1"], "the store's address can't be read"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_a_name_that_is_none_is_told_with_the_nearest(command, stored: Path, given: list[str], told: str) -> None:
    refused(command(*given), told)


def test_settings_that_cannot_be_meant_are_told(command, tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(0)])
    for settings, told in (
        ('store = ""', "store is empty"),
        ('citation_mark = "x"', "has no group"),
        ("[thresholds]\ngroundedness = 0.5\nfaithfulness = 0.6", "names groundedness twice"),
    ):
        (tmp_path / "ragtriage.toml").write_text(settings, encoding="utf-8")
        refused(command("evaluate", "rows.jsonl", *LEAN), told)


def test_the_application_is_not_asked_where_no_row_has_the_tag(command, tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(0)])
    (tmp_path / "own.py").write_text(
        'from pathlib import Path\n\ndef answer(query):\n    Path("asked").touch()', encoding="utf-8"
    )

    said = command("evaluate", "rows.jsonl", *LEAN, "--app", "own.py:answer", "--by", "topik")

    refused(said, "--by topik: no row has this tag: did you mean topic?")
    assert not (tmp_path / "asked").exists()


def test_a_tag_that_only_failed_answers_have_is_no_mistake(command, tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(0)])
    (tmp_path / "own.py").write_text("def answer(query):\n    return 'It costs 3.'", encoding="utf-8")

    assert command("evaluate", "rows.jsonl", *LEAN, "--app", "own.py:answer", "--by", "failure").code == 0


def test_the_columns_by_which_agreement_is_measured_are_checked_before_anyone_is_asked(command, tmp_path: Path) -> None:
    one = {"id": 1, "claim": "It costs 3.", "sources": ["It costs 3."], "label": 1, "domain": "fares"}
    written(tmp_path / "labelled.jsonl", [one, one | {"id": 2, "label": 0}])

    said = command("trust", "agreement", "labelled.jsonl", "--by", "domian", "-o", "said.jsonl")

    refused(said, "--by domian: no row has this column: did you mean domain?")
    assert not (tmp_path / "said.jsonl").exists()


@pytest.mark.parametrize(
    "given",
    [
        ["evaluate", "rows.jsonl", "--report"],
        ["trust", "test", "rows.jsonl", "-o"],
        ["trust", "agreement", "rows.jsonl", "-o"],
        ["testset", "score", "rows.jsonl", "--report"],
    ],
    ids=" ".join,
)
def test_the_file_that_is_read_is_never_overwritten_and_a_folder_is_no_file(
    command, tmp_path: Path, given: list[str]
) -> None:
    path = written(tmp_path / "rows.jsonl", [row(0)])
    before = path.read_bytes()

    refused(command(*given, "rows.jsonl"), "rows.jsonl: is the file that is read: name another one")
    refused(command(*given, "."), " .: is a folder: name a file in it")
    assert path.read_bytes() == before
    assert not (tmp_path / ".ragtriage").exists()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["report", "-o", "."], ". can't be written: it is a folder"),
        (["report", "--labels", "broken.jsonl"], "broken.jsonl holds no label: the first line is wrong"),
        (["report", "--labels", "other.jsonl"], "none of its 1 labels can be used for run 1: 1 about another run"),
        (["export", "--with", ","], "--with ,: use texts or evidence, or both with a comma"),
        (["runs", "--store", "a\0b"], "--store holds a NUL character"),
        (["evaluate", "a\0b"], "FILE holds a NUL character"),
        (["evaluate", "rows.jsonl", "--map", "query=a\0b"], "--map holds a NUL character"),
        (["evaluate", "rows.jsonl", "--config", "deep.toml"], "deep.toml can't be read: it is nested too deeply"),
        (["testset", "schema", "postgresql://[::1"], "the database's URL can't be read: write it as"),
        (["trust", "test", "pairs.jsonl", "--sample", "1"], "--sample is for cases, and this file holds pairs"),
        (["evaluate", "rows.jsonl", "--judge", "openai:m", "--timeout", "inf"], "--timeout is inf: give a number"),
    ],
    ids=lambda given: repr(" ".join(given)) if isinstance(given, list) else "",
)
def test_a_file_or_a_value_that_cannot_be_used_is_told(command, stored: Path, given: list[str], told: str) -> None:
    written(stored.with_name("broken.jsonl"), ["{"])
    written(stored.with_name("other.jsonl"), [LABEL | {"run": "7", "metric": "self_distinctness"}])
    stored.with_name("deep.toml").write_text("a = " + "[" * 100_000, encoding="utf-8")
    assert command("trust", "test", "rows.jsonl", "--dry-run", "-o", "pairs.jsonl").code == 0

    refused(command(*given), told)


def test_settings_with_a_byte_order_mark_are_read(command, tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(0)])
    (tmp_path / "ragtriage.toml").write_text("\ufeffmetrics = ['self_distinctness']", encoding="utf-8")

    assert list(command("evaluate", "rows.jsonl", "--json").json["metrics"]) == ["self_distinctness"]
