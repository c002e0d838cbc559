"""`ragtriage testset phrase`: templates of a folder in, phrasings.yaml out."""

import json
import re
import threading
import time
from pathlib import Path

import pytest
from cli_models import chats, judging, prompt_in

from forked import Child
from ragtriage.testset.generation.query_templates import enumerate_templates
from ragtriage.testset.generation.schema import Column, Schema, Table, schema_text
from ragtriage.testset.generation.template_files import read_phrasings, read_templates, templates_text
from servers import Heard, Said, Server, chat

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


def model(heard: Heard) -> Said:
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


def test_templates_of_a_folder_are_phrased_by_rule_under_all_criteria(command, folder: Path) -> None:
    said = command("testset", "phrase", ".")
    assert said.code == 0
    assert f"phrasings.yaml: {10 * len(TEMPLATES)} new phrasings, 0 were there" in said.out
    assert ("short", "How long is the ship [ship.name]?", "rules") in texts(folder)

    again = command("testset", "phrase", "templates.yaml")
    assert "0 new phrasings" in again.out
    assert "nothing was missing" in again.out


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
        (["--criteria", "lnog"], "there is no criterion 'lnog': did you mean long?"),
        (["--own", " "], "--own is empty"),
        (["--own", "as a child"], "no phrasing could be made. The first reason: rules can't write it: give --judge"),
        (["--judge", "embedded"], "one language model writes"),
        (["--budget", "1"], "--budget is for language models only"),
    ],
)
def test_what_cant_be_is_said(command, folder: Path, arguments: list[str], message: str) -> None:
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
    with Server(model) as server:
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
    with Server(model if what == "phrase" else written) as server:
        free = command("testset", what, ".", *flags, *judging(server))
        priced = command(
            "testset", what, ".", *flags, "--store", "other", *judging(server, "--price", "1:2", model="openai:n")
        )

    assert re.search(r"^\d+ requests?$", free.out, re.MULTILINE)
    assert re.search(r"^\d+ requests?, \$0\.\d+$", priced.out, re.MULTILINE)


def test_a_folder_that_isnt_there_is_named(command, folder: Path) -> None:
    said = command("testset", "phrase", "nodir")
    assert said.code == 2
    assert "nodir: there is no such folder or file" in " ".join(said.err.split())


def test_a_flag_that_has_no_effect_is_refused(command, folder: Path, openai) -> None:
    flags = ("--judge", "openai:m", "--embeddings", "openai:text-embedding-3-small")
    said = command("testset", "phrase", ".", *flags)
    assert (said.code, "embeddings are for verdicts" in said.err and "(--embeddings)" in said.err) == (2, True)


def test_a_budget_stops_it_and_the_same_command_goes_on(command, folder: Path, openai) -> None:
    flags = ("--criteria", "short", "--json")
    with Server(model) as server:
        said = command("testset", "phrase", ".", *flags, *judging(server, "--max-requests", 1))
        on = command("testset", "phrase", ".", *flags, *judging(server))
    assert (said.code, said.json["new"]) == (3, 1)
    assert "--max-requests" in said.err
    assert (on.code, on.json["kept"], on.json["new"]) == (0, 1, len(TEMPLATES) - 1)
    assert len(chats(server.heard)) == len(TEMPLATES)


def test_a_killed_command_pays_nothing_twice(command, folder: Path, openai) -> None:
    asked: list[str] = []
    killed = threading.Event()

    def stuck_until_killed(heard: Heard) -> Said:
        asked.append(prompt_in(heard.body).user)
        return model(heard) if len(asked) == 1 or killed.is_set() else Said(model(heard).body, after=60)

    flags = ["testset", "phrase", ".", "--criteria", "short", "--concurrency", "1"]
    with Server(stuck_until_killed) as server:
        with Child(*flags, *judging(server), folder=folder) as child:
            until = time.monotonic() + 60
            while len(asked) < 2 and time.monotonic() < until:
                time.sleep(0.02)
            child.kill()
        killed.set()
        assert not (folder / "phrasings.yaml").exists()

        again = command(*flags, "--json", *judging(server))

    assert (again.code, again.json["new"]) == (0, len(TEMPLATES))
    assert again.json["requests"] == len(TEMPLATES) - 1
    assert asked.count(asked[0]) == 1


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


def test_writing_templates_needs_a_model(command, folder: Path) -> None:
    said = command("testset", "write", ".")
    assert (said.code, "--judge PROVIDER:MODEL" in said.err) == (2, True)


def test_a_stop_keeps_the_templates_there_are(command, folder: Path, openai) -> None:
    before = (folder / "templates.yaml").read_text("utf-8")
    with Server(model) as server:
        said = command("testset", "write", ".", *judging(server, "--max-requests", 0))
    assert said.code == 3
    assert "--max-requests" in said.err
    assert (folder / "templates.yaml").read_text("utf-8") == before
