"""`ragtriage testset schema … build`: from a database to questions, step by step and in one go."""

import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from library_database import sqlite_library

FILES = ["schema.yaml", "templates.yaml", "fillings.jsonl", "phrasings.yaml", "questions.jsonl"]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return sqlite_library(tmp_path / "library.sqlite")


def rows(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def edit(path: str, change: Any) -> None:
    values = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    change(values)
    Path(path).write_text(yaml.safe_dump(values, sort_keys=False), encoding="utf-8")


def test_step_by_step_is_what_build_does(command, url):
    assert command("testset", "schema", url, "-o", "one/schema.yaml").code == 0
    assert command("testset", "templates", "one/schema.yaml").code == 0
    assert command("testset", "fill", url, "one", "--per-template", "20").code == 0
    built = command("testset", "build", url, "-o", "two", "--size", "100", "--json")

    assert built.code == 0
    assert list(built.json) == ["schema", "templates", "fillings", "phrasings", "questions"]
    for name in FILES[:3]:
        assert Path("one", name).read_text() == Path("two", name).read_text()
    Path("one/phrasings.yaml").write_text(Path("two/phrasings.yaml").read_text())
    said = command("testset", "sample", "one", "--size", "100", "--json")
    assert said.code == 0
    assert Path("one/questions.jsonl").read_text() == Path("two/questions.jsonl").read_text()


def test_questions_have_true_answers(command, url):
    said = command("testset", "build", url, "-o", "set", "--size", "100", "--criteria", "short,long", "--aggregates")

    assert said.code == 0
    assert "note: no column names a row of copy" in " ".join(said.out.split())
    found = rows("set/questions.jsonl")
    assert len(found) >= 60
    connection = sqlite3.connect("library.sqlite")
    for row in found:
        answers = connection.execute(row["sql"], row["parameters"]).fetchall()
        assert len(answers) == 1
        assert str(answers[0][0]).startswith(str(row["answer"])) or bool(answers[0][0]) is row["answer"]
    assert max(len(line) for line in said.out.splitlines()) <= 80


def test_its_files_can_be_collected_and_scored(command, url, tmp_path):
    assert command("testset", "build", url, "-o", "set", "--size", "40", "--criteria", "short,long").code == 0
    Path("application.py").write_text("def answer(query):\n    return 'It is 240.'\n", encoding="utf-8")
    sys.path.insert(0, str(tmp_path))
    try:
        asked = command("collect", "set/questions.jsonl", "--app", "application:answer", "-o", "cases.jsonl")
    finally:
        sys.path.remove(str(tmp_path))
    assert asked.code == 0, asked.err
    scored = command("testset", "score", "cases.jsonl", "--typed-only", "--json")

    assert scored.code == 0, scored.err
    assert set(scored.json["clusters"]) == {"short", "long"}
    first = {row["id"]: row for row in rows("set/questions.jsonl")}
    assert all(first[row["id"]].items() <= row.items() for row in rows("cases.jsonl"))


def test_again_with_the_same_is_nothing_to_do(command, url):
    arguments = ("testset", "build", url, "-o", "set", "--size", "40")
    command(*arguments)
    before = {name: Path("set", name).stat().st_mtime_ns for name in FILES}
    said = command(*arguments)

    assert said.code == 0
    assert said.out.count("up to date") == 5
    assert {name: Path("set", name).stat().st_mtime_ns for name in FILES} == before


def test_an_edited_file_is_used_and_what_follows_is_made_anew(command, url):
    arguments = ("testset", "build", url, "-o", "set", "--size", "40", "--criteria", "short,casual", "--json")
    command(*arguments)
    edit("set/schema.yaml", lambda values: values["tables"][1].update(words="volume"))
    said = command(*arguments)

    assert said.code == 0
    assert [step["made"] for step in said.json.values()] == [False, True, True, True, True]
    assert "edited by hand" in said.json["schema"]["notes"][-1]
    assert any("volume" in row["query"] for row in rows("set/questions.jsonl"))


def test_an_edited_file_is_not_overwritten_when_what_it_is_made_from_changes(command, url):
    arguments = ("testset", "build", url, "-o", "set", "--size", "40")
    command(*arguments)
    edit("set/templates.yaml", lambda values: values["templates"].pop())
    edit("set/schema.yaml", lambda values: values["tables"][1].update(words="volume"))
    kept = Path("set/templates.yaml").read_text()
    said = command(*arguments)

    assert said.code == 2
    assert "templates.yaml: was edited by hand" in said.err
    assert Path("set/templates.yaml").read_text() == kept
    assert command(*arguments, "--again").code == 0


def test_changed_data_is_noticed(command, url):
    arguments = ("testset", "build", url, "-o", "set", "--size", "40", "--json")
    command(*arguments)
    connection = sqlite3.connect("library.sqlite")
    connection.execute("UPDATE book SET pages = 241 WHERE title = 'The Pier'")
    connection.commit()
    connection.close()
    said = command(*arguments)

    assert said.json["fillings"]["made"]
    assert any(row["answer"] == 241 for row in rows("set/fillings.jsonl"))


def test_a_dry_run_counts_and_writes_nothing(command, url):
    said = command("testset", "build", url, "--dry-run", "--criteria", "short,long", "--json")
    shown = command("testset", "build", url, "--dry-run", "--criteria", "short,long")

    assert (said.code, shown.code) == (0, 0)
    assert said.json["questions"] == sum(one["phrasings"] * one["combinations"] for one in said.json["templates"])
    assert f"M = {len(said.json['templates'])} templates" in shown.out
    assert f"{said.json['questions']:,} questions could be asked" in " ".join(shown.out.split())
    assert not Path("testset").exists()
    assert max(len(line) for line in shown.out.splitlines()) <= 80


def test_tables_and_columns_can_be_left_out(command, url):
    said = command(
        "testset", "schema", url, "--tables", "author,book", "--exclude", "book.price", "-o", "s.yaml", "--json"
    )

    assert said.json["s"]["tables"] == 2
    columns = yaml.safe_load(Path("s.yaml").read_text())["tables"][1]["columns"]
    assert next(column for column in columns if column["name"] == "price")["surrogate"]
    wrong = command("testset", "schema", url, "--tables", "nothing", "-o", "t.yaml")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "--tables nothing" in wrong.err


WRONG_SCHEMA = {
    "dialect": (lambda v: v.update(dialect="oracle"), "dialect is 'oracle'"),
    "type": (
        lambda v: v["tables"][0]["columns"][0].update(type="int"),
        "tables[1] (author), columns[1] (author_id): type is 'int'",
    ),
    "typo": (lambda v: v["tables"][0].update(name_columns=["x"]), "(author): no field is called 'name_columns'"),
    "names": (lambda v: v["tables"][0].update(names=["nick"]), "names names 'nick', which is no column of author"),
    "words": (lambda v: v["tables"][0].update(words=3), "words must be a text, not 3"),
    "fk": (lambda v: v["tables"][1]["foreign_keys"][0].update(table="x"), "table is 'x', which isn't in this file"),
    "flag": (lambda v: v["tables"][0]["columns"][0].update(surrogate="yes"), "surrogate must be true or false"),
}


@pytest.mark.parametrize("name", WRONG_SCHEMA)
def test_an_error_in_the_schema_names_file_entry_and_field(command, url, name):
    change, says = WRONG_SCHEMA[name]
    command("testset", "schema", url, "-o", "schema.yaml")
    edit("schema.yaml", change)
    said = command("testset", "templates", "schema.yaml")

    assert (said.code, said.err.count("\n")) == (2, 1)
    assert said.err.startswith("ragtriage: schema.yaml: ")
    assert says in said.err


def test_one_bad_template_or_filling_does_not_cost_the_others(command, url):
    command("testset", "build", url, "-o", "set", "--size", "40")
    edit(
        "set/templates.yaml",
        lambda values: values["templates"].append({"sql": "DELETE FROM book WHERE title = [book.title]"}),
    )
    said = command("testset", "fill", url, "set", "--again")
    assert said.code == 0
    assert "1 entry can't be used:" in said.out
    assert "sql: it isn't one SELECT" in " ".join(said.out.split())

    lines = Path("set/fillings.jsonl").read_text(encoding="utf-8").splitlines()
    nothing = json.dumps(json.loads(lines[0]) | {"group": "x", "answer": None})
    Path("set/fillings.jsonl").write_text("\n".join([*lines, "{}", "nonsense", nothing]) + "\n", encoding="utf-8")
    said = command("testset", "sample", "set", "--size", "30", "--json")
    assert said.code == 0
    assert [f"line {len(lines) + n}" in why for n, why in enumerate(said.json["questions"]["refused"][1:], 1)] == [
        True,
        True,
        True,
    ]
    assert said.json["questions"]["refused"][-1].endswith("answer is missing: write [] where there is none")


def test_a_template_written_by_hand_is_filled(command, url):
    command("testset", "schema", url, "-o", "set/schema.yaml")
    sql = (
        "SELECT MAX(price) FROM book "
        "WHERE author_id IN (SELECT author_id FROM author WHERE last_name = [author.last_name])"
    )
    Path("set/templates.yaml").write_text(yaml.safe_dump({"templates": [{"sql": sql}]}), encoding="utf-8")
    said = command("testset", "fill", url, "set")

    assert said.code == 0
    assert {row["values"]["author.last_name"]: row["answer"] for row in rows("set/fillings.jsonl")}["Finch"] == 12.5


def test_a_missing_package_is_named(process, url):
    said = process("testset", "build", url, without="sqlglot")

    assert said.code == 2
    assert "pip install '.[testset]'" in said.err
    assert process("testset", "score", "--help", without="sqlglot").code == 0


@pytest.mark.parametrize(
    "step", [("schema", "nowhere.sqlite"), ("build", "nowhere.sqlite"), ("fill", "nowhere.sqlite")]
)
def test_a_missing_package_is_named_before_a_database_is_looked_for(process, step):
    said = process("testset", *step, without="sqlglot")

    assert said.code == 2
    assert "pip install '.[testset]'" in said.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--size", "3"], "--size 3: one group has 10 questions"),
        (["--max-share", "2"], "--max-share 2: use a share above 0"),
        (["--criteria", "short", "--criterion", "long=1"], "there are no phrasings of the criterion 'long'"),
    ],
)
@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_wrong_plan_is_told_before_anything_is_written(command, url, flags, message, more):
    said = command("testset", "build", url, "-o", "set", *flags, *more)

    assert (said.code, Path("set").exists()) == (2, False)
    assert message in said.err


def same_words(values: Any) -> None:
    """Put the words of every short phrasing into those of the criterion `question`."""
    short = {one["template"]: one["text"] for one in values["phrasings"] if one["criterion"] == "short"}
    for one in values["phrasings"]:
        if one["criterion"] in {"short", "question"} and one["template"] in short:
            one["text"] = short[one["template"]]


def test_questions_in_the_words_of_another_are_counted(command, url):
    assert command("testset", "build", url, "-o", "set", "--size", "100").code == 0
    edit("set/phrasings.yaml", same_words)
    said = command("testset", "sample", "set", "--size", "100", "--json").json["questions"]
    texts = [(row["group"], row["query"]) for row in rows("set/questions.jsonl")]

    assert said["repeated_questions"] == len(texts) - len(set(texts)) > 0
    again = command("testset", "sample", "set", "--size", "100", "--again")
    assert "in the words of another one of their group" in " ".join(again.out.split())
