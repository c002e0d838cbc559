"""`ragtriage testset schema … build`: from a database to questions, step by step and in one go."""

import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml
from cli_models import chats, judging, prompt_in

from library_database import sqlite_library
from ragtriage.testset.generation.query_templates import enumerate_templates
from ragtriage.testset.generation.schema import Column, Schema, Table, schema_text
from ragtriage.testset.generation.template_files import read_phrasings, read_templates, templates_text
from servers import Heard, Said, Server, chat

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


def test_again_with_the_same_is_nothing_to_do(command, url):
    arguments = ("testset", "build", url, "-o", "set", "--size", "40", "--criteria", "short")
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
    arguments = ("testset", "build", url, "-o", "set", "--size", "40", "--criteria", "short")
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
    arguments = ("testset", "build", url, "-o", "set", "--size", "40", "--criteria", "short", "--json")
    command(*arguments)
    connection = sqlite3.connect("library.sqlite")
    connection.execute("UPDATE book SET pages = 241 WHERE title = 'The Pier'")
    connection.commit()
    connection.close()
    said = command(*arguments)

    assert said.json["fillings"]["made"]
    assert any(row["answer"] == 241 for row in rows("set/fillings.jsonl"))


def test_one_bad_template_or_filling_does_not_cost_the_others(command, url):
    command("testset", "build", url, "-o", "set", "--size", "40", "--criteria", "short")
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


def same_words(values: Any) -> None:
    """Put the words of every short phrasing into those of the criterion `question`."""
    short = {one["template"]: one["text"] for one in values["phrasings"] if one["criterion"] == "short"}
    for one in values["phrasings"]:
        if one["criterion"] in {"short", "question"} and one["template"] in short:
            one["text"] = short[one["template"]]


def test_questions_in_the_words_of_another_are_counted(command, url):
    assert command("testset", "build", url, "-o", "set", "--size", "100", "--criteria", "short,question").code == 0
    edit("set/phrasings.yaml", same_words)
    said = command("testset", "sample", "set", "--size", "100", "--json").json["questions"]
    texts = [(row["group"], row["query"]) for row in rows("set/questions.jsonl")]

    assert said["repeated_questions"] == len(texts) - len(set(texts)) > 0
    again = command("testset", "sample", "set", "--size", "100", "--again")
    assert "in the words of another one of their group" in " ".join(again.out.split())


SHIP = Table(
    "ship",
    "ship",
    (
        Column("ship_id", "integer", "ship id", surrogate=True),
        Column("name", "text", "name"),
        Column("length", "number", "length"),
        Column("architect", "text", "architect"),
        Column("price", "number", "price"),
    ),
    ("ship_id",),
    names=("name",),
)
SCHEMA = Schema("sqlite", (SHIP,))
TEMPLATES = enumerate_templates(SCHEMA).templates


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "schema.yaml").write_text(schema_text(SCHEMA), "utf-8")
    (tmp_path / "templates.yaml").write_text(templates_text(TEMPLATES), "utf-8")
    return tmp_path


def phrasing_model(heard: Heard) -> Said:
    """Writes one phrasing for every criterion, which says which template it is for."""
    prompt = prompt_in(heard.body)
    column = re.search(r'SELECT \\*"?(\w+)', prompt.user.replace('\\"', ""))
    assert column
    said = {one: [f"What about the {column[1]} of [ship.name]?"] for one in prompt.schema["required"]}
    return chat(json.dumps(said), usage=(prompt.tokens, 40))


def texts(folder: Path) -> list[tuple[str, str, str]]:
    found, refused = read_phrasings(folder / "phrasings.yaml", TEMPLATES)
    assert not refused
    return [(one.criterion, one.text, one.made_by) for one in found]


def test_only_what_is_missing_is_made_and_what_a_person_wrote_is_kept(command, folder: Path) -> None:
    command("testset", "phrase", ".", "--criteria", "short")
    file = folder / "phrasings.yaml"
    mine = file.read_text("utf-8").replace("How long is the ship", "What length has the ship")
    file.write_text(mine.replace("made_by: rules", "made_by: written", 1), "utf-8")
    more = command("testset", "phrase", ".", "--criteria", "short,long", "--json").json
    assert (more["new"], more["kept"]) == (len(TEMPLATES), len(TEMPLATES))
    assert "What length has the ship [ship.name]?" in [text for _, text, _ in texts(folder)]

    anew = command("testset", "phrase", ".", "--criteria", "short,long", "--again", "--json").json
    assert anew["kept"] == 1
    assert anew["by_criterion"] == {"short": len(TEMPLATES), "long": len(TEMPLATES)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--own", "as a child"], "no phrasing could be made. The first reason: rules can't write it: give --judge"),
        (["--judge", "embedded"], "one language model writes"),
        (["--budget", "1"], "--budget is for language models only"),
        (["--judge", "openai:m", "--embeddings", "openai:e"], "embeddings are for verdicts"),
    ],
)
def test_what_cant_be_is_said(command, folder: Path, openai, arguments: list[str], message: str) -> None:
    said = command("testset", "phrase", ".", *arguments)
    assert said.code == 2
    assert message in " ".join(said.err.split())
    assert not (folder / "phrasings.yaml").exists()


def test_an_entry_that_cant_be_used_isnt_lost(command, folder: Path) -> None:
    command("testset", "phrase", ".", "--criteria", "short")
    file = folder / "phrasings.yaml"
    broken = file.read_text("utf-8").replace("[ship.name]?", "it?", 1)
    file.write_text(broken, "utf-8")
    said = command("testset", "phrase", ".", "--criteria", "long")
    assert said.code == 2
    assert "phrasings.yaml has 1 entry that can't be used" in " ".join(said.err.split())
    assert file.read_text("utf-8") == broken


def test_a_model_phrases_beside_the_rules(command, folder: Path, openai) -> None:
    command("testset", "phrase", ".", "--criteria", "short")
    flags = ("--criteria", "short", "--own", "as a pirate would ask", "--json")
    with Server(phrasing_model) as server:
        said = command("testset", "phrase", ".", *flags, *judging(server, "--price", "1:2"))
        again = command("testset", "phrase", ".", *flags, "--again", *judging(server, "--price", "1:2"))

    assert said.code == 0
    assert (said.json["new"], said.json["kept"]) == (2 * len(TEMPLATES), len(TEMPLATES))
    assert said.json["requests"] == len(chats(server.heard)) == len(TEMPLATES)
    assert said.json["cost"] > 0
    assert (again.json["new"], again.json["requests"]) == (2 * len(TEMPLATES), 0)
    assert ("as a pirate would ask", "What about the length of [ship.name]?", "openai:m") in texts(folder)


@pytest.mark.parametrize("what", ["phrase", "write"])
def test_without_a_price_no_amount_is_told(command, folder: Path, openai, what: str) -> None:
    flags = ("--criteria", "short") if what == "phrase" else ()
    written = chat(json.dumps({"templates": []}), usage=(500, 40))
    with Server(phrasing_model if what == "phrase" else written) as server:
        free = command("testset", what, ".", *flags, *judging(server))
        priced = command(
            "testset", what, ".", *flags, "--store", "other", *judging(server, "--price", "1:2", model="openai:n")
        )

    assert re.search(r"^\d+ requests?$", free.out, re.MULTILINE)
    assert re.search(r"^\d+ requests?, \$0\.\d+$", priced.out, re.MULTILINE)


def test_a_budget_stops_it_and_the_same_command_goes_on(command, folder: Path, openai) -> None:
    flags = ("--criteria", "short", "--json")
    with Server(phrasing_model) as server:
        said = command("testset", "phrase", ".", *flags, *judging(server, "--max-requests", 1))
        on = command("testset", "phrase", ".", *flags, *judging(server))
    assert (said.code, said.json["new"]) == (3, 1)
    assert "--max-requests" in said.err
    assert (on.code, on.json["kept"], on.json["new"]) == (0, 1, len(TEMPLATES) - 1)
    assert len(chats(server.heard)) == len(TEMPLATES)


def test_a_model_writes_templates_beside_those_there_are(command, folder: Path, openai) -> None:
    shorter = templates_text([one for one in TEMPLATES if one.shape and one.shape.select != "length"])
    (folder / "templates.yaml").write_text(shorter, "utf-8")
    sql = ["SELECT length FROM ship WHERE name = '[ship.name]'", "SELECT price FROM ship WHERE name = '[ship.name]'",
           "SELECT deck FROM ship WHERE name = '[ship.name]'"]  # fmt: skip

    with Server(chat(json.dumps({"templates": sql}))) as server:
        said = command("testset", "write", ".", "--require", "no joins", "--json", *judging(server))
        again = command("testset", "write", ".", "--require", "no joins", *judging(server))

    assert (said.code, said.json["new"], said.json["kept"], said.json["duplicates"]) == (0, 1, len(TEMPLATES) - 1, 1)
    assert [one["sql"] for one in said.json["refused"]] == sql[2:]
    assert "0 new templates, 3 were there, 2 duplicates left out" in again.out
    assert len(chats(server.heard)) == 1
    assert "no joins" in prompt_in(chats(server.heard)[0]).user
    found, _ = read_templates(folder / "templates.yaml", SCHEMA)
    assert {one.id for one in found} == {one.id for one in TEMPLATES}
    assert {one.made_by for one in found} == {"enumerated", "openai:m"}


def test_a_stop_keeps_the_templates_there_are(command, folder: Path, openai) -> None:
    before = (folder / "templates.yaml").read_text("utf-8")
    with Server(phrasing_model) as server:
        said = command("testset", "write", ".", *judging(server, "--max-requests", 0))
    assert said.code == 3
    assert "--max-requests" in said.err
    assert (folder / "templates.yaml").read_text("utf-8") == before
