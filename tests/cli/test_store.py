"""`ragtriage store`, and commands on a server that several projects share."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from cli_models import judging
from cli_processes import Gate, begun, until

from in_process import plain_environment, said_by
from places import Place, older
from postgresql_server import new_schema, run_sql
from ragtriage.runs.case_row import CaseHeading
from ragtriage.runs.evaluation_config import config_of
from ragtriage.runs.tally import SlicedTally
from ragtriage.store import open_store
from ragtriage.store.schema import SCHEMA_VERSION
from servers import Server

ROWS = [
    {"id": f"r{i}", "query": f"What does ticket {i} cost?", "contexts": [f"Ticket {i} costs 3 euros."],
     "response": f"Ticket {i} costs 3 euros. It is valid for a day."}
    for i in range(3)
]  # fmt: skip
METRICS = ("--metrics", "self_distinctness,groundedness")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """A folder called shop, with a file of answers."""
    own = tmp_path / "shop"
    own.mkdir()
    monkeypatch.chdir(own)
    (own / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS), encoding="utf-8")
    with plain_environment():
        yield own


@pytest.fixture
def server(folder) -> str:
    """The address of a store on a server, initialised."""
    address, _ = new_schema(made=False)
    assert said_by(["store", "init", address]).code == 0
    return address


def evaluated(*more: str) -> None:
    said = said_by(["evaluate", "rows.jsonl", *METRICS, *more])
    assert said.code == 0, said.err


def test_init_makes_schema_and_tables_and_prints_roles_without_running_them(folder):
    address, schema = new_schema(made=False)
    said = said_by(["store", "init", address, "--roles"])
    assert (said.code, said.err) == (0, f"the store {_shown(address)} is ready (version {SCHEMA_VERSION})\n")
    assert f'GRANT SELECT ON "{schema}"."texts" TO ragtriage_reader, ragtriage_writer;' in said.out
    granted = "SELECT 1 FROM information_schema.role_table_grants WHERE table_schema = %s AND grantee <> 'postgres'"
    assert run_sql(granted, (schema,)) == []
    again = said_by(["store", "init", address])
    assert "has its tables already" in again.err
    assert again.out == ""


def _shown(address: str) -> str:
    return address.replace("postgres:@", "postgres@").replace("host=/tmp/", "host=%2Ftmp%2F")


def test_without_init_a_schema_that_is_not_there_is_told(folder):
    address, schema = new_schema(made=False)
    said = said_by(["evaluate", "rows.jsonl", *METRICS, "--store", address])
    assert said.code == 2
    assert f"there is no schema '{schema}' in" in said.err
    assert "make it with ragtriage store init" in said.err


def test_roles_are_those_of_the_schema_that_the_user_has(folder):
    _, schema = new_schema()
    run_sql("CREATE USER owner_at_home SUPERUSER")
    run_sql(f"ALTER USER owner_at_home SET search_path = {schema}")
    address = str(new_schema()[0]).replace("postgres:@", "owner_at_home@").partition("&schema=")[0]
    said = said_by(["store", "init", address, "--roles"])
    assert said.code == 0
    assert f'GRANT USAGE ON SCHEMA "{schema}" TO' in said.out
    assert '"public"' not in said.out
    run_sql(said.out, (), schema)


def test_an_old_store_is_migrated_and_says_so(folder):
    address, schema = new_schema()
    older(Place(address, schema))
    said = said_by(["store", "migrate", address])
    assert said.code == 0
    assert said.err.splitlines() == [
        f"bringing the store {_shown(address)} from version 2 to {SCHEMA_VERSION}",
        f"the store {_shown(address)} is up to date (version {SCHEMA_VERSION})",
    ]
    assert said_by(["store", "migrate", "nowhere"]).code == 2


def test_last_and_runs_mean_the_folder_on_a_server_or_what_is_named(server, folder, monkeypatch):
    monkeypatch.setenv("RAGTRIAGE_STORE", server)
    evaluated()
    evaluated("--project", "search")
    flags = {"own": (), "other": ("--project", "search"), "all": ("--project", "*")}
    listed = {name: [run["number"] for run in said_by(["runs", "--json", *flag]).json] for name, flag in flags.items()}
    assert listed == {"own": [1], "other": [2], "all": [2, 1]}
    assert said_by(["show", "--json"]).json["run"] == 1
    assert said_by(["show", "--json", "--project", "*"]).json["run"] == 2
    assert said_by(["show", "2", "--json"]).json["run"] == 2
    (folder / "ragtriage.toml").write_text('project = "search"\n', encoding="utf-8")
    assert said_by(["show", "--json"]).json["run"] == 2
    said = said_by(["show", "--project", "serach"])
    assert (said.code, "there are runs of search and shop" in said.err) == (2, True)
    said = said_by(["runs", "--project", "serach"])
    assert (said.code, said.out, "there are runs of search and shop" in said.err) == (0, "", True)
    for number in ("3000000000", "99999999999999999999"):  # more than the server's numbers hold
        said = said_by(["show", number])
        assert (said.code, f"there is no run {number}; the newest are 2" in said.err) == (2, True)
    line = said_by(["runs"]).out.splitlines()[0]
    assert "search" in line
    assert "by postgres" in line


def test_a_file_keeps_all_its_runs_when_its_folder_gets_another_name(folder, monkeypatch):
    evaluated()
    folder.rename(folder.with_name("moved"))
    monkeypatch.chdir(folder.with_name("moved"))
    assert said_by(["show", "--json"]).json["run"] == 1


def test_runs_are_copied_to_a_server_and_back(server, folder):
    evaluated()
    evaluated()
    evaluated()
    said = said_by(["store", "copy", ".ragtriage", server, "--runs", "2-3"])
    assert (said.code, said.err) == (0, "run 2 is run 1 there, 3 cases\nrun 3 is run 2 there, 3 cases\n")
    said = said_by(["store", "copy", ".ragtriage", server])
    assert said.err.splitlines()[1:] == ["run 2 is there already as run 1", "run 3 is there already as run 2"]
    said = said_by(["store", "copy", server, "back"])
    assert said.code == 0
    shown = [said_by(["export", "2", "--store", place]).out for place in (".ragtriage", "back")]
    assert len(shown[0].splitlines()) == 3
    with open_store("back") as back, open_store(".ragtriage") as there:
        assert list(back.run(1).records()) == list(there.run(2).records())


def test_stored_weights_that_are_refused_today_break_nothing(folder):
    evaluated()
    evaluated()
    place = Place(".ragtriage")
    place.sql("UPDATE cases SET weight = 1e308 WHERE position < 2")
    place.sql("UPDATE cases SET weight = 1e-320 WHERE position = 2")
    means = said_by(["runs", "--json"]).json[0]["means"]
    shown = said_by(["show", "1", "--json"]).json["metrics"]
    assert {name: metric["mean"] for name, metric in shown.items()} == pytest.approx(means)
    assert said_by(["compare", "1", "2"]).code == 0
    assert said_by(["report", "1", "-o", "r.html"]).code == 0


TEXTS = "run 1: 1 case with texts that are missing or aren't those that were evaluated"
DAMAGE = [
    ("DELETE FROM case_texts WHERE position = 1 AND role = 'source'", TEXTS),
    ("DELETE FROM case_texts WHERE position = 1", TEXTS),
    ("UPDATE texts SET text = 'It is free.' WHERE text LIKE 'What does ticket 1 %'", TEXTS),
    (
        "UPDATE cases SET steps = content WHERE position > 0",
        "run 1: 2 cases with verdicts that can't be read: evaluate the file again",
    ),
    ("UPDATE runs SET rows = 5", "run 1 is finished, but lacks 2 cases: evaluate the file again"),
    (
        "DELETE FROM texts WHERE text LIKE 'What does ticket 1 %'",
        "run 1: 1 case with a text that is missing and was not forgotten; shown as deleted",
    ),
]


def test_check_finds_every_row_of_a_case_that_is_missing(server, folder):
    evaluated()
    assert said_by(["store", "check", ".ragtriage"]).out == "1 run looked through: nothing is missing\n"
    for number, (damage, told) in enumerate(DAMAGE):
        damaged = str(shutil.copytree(".ragtriage", f"damaged-{number}"))
        if number == len(DAMAGE) - 1:  # tables refer to others there only
            assert said_by(["store", "copy", ".ragtriage", server]).code == 0
            damaged = server
        Place(damaged, server.rpartition("=")[2] if damaged is server else None).sql(damage)
        said = said_by(["store", "check", damaged])
        assert (said.code, told in said.out.splitlines()) == (3, True), said.out


def test_a_run_is_deleted_with_its_trials(folder):
    evaluated()
    evaluated("--repeat", "2")
    said = said_by(["store", "delete", "2", "--dry-run"])
    assert said.code == 0
    assert said.out.count("rows.jsonl") == 2
    said = said_by(["store", "delete", "2", "--yes"])
    assert (said.code, said.out.splitlines()[-1]) == (0, "deleted 2 runs")
    assert [run["number"] for run in said_by(["runs", "--json"]).json] == [1]
    assert said_by(["store", "check", ".ragtriage"]).code == 0


def test_who_may_only_look_or_write_is_told_so_and_may_do_the_rest(server, folder):
    evaluated("--store", server)
    run_sql(said_by(["store", "init", server, "--roles"]).out)
    run_sql("CREATE USER reads IN ROLE ragtriage_reader; CREATE USER looks IN ROLE ragtriage_writer")
    said = said_by(["report", "1", "-o", "r.html", "--store", server.replace("postgres:@", "reads@")])
    assert (said.code, said.out) == (0, "r.html\n")
    said = said_by(["store", "delete", "1", "--dry-run", "--store", server.replace("postgres:@", "looks@")])
    assert said.code == 3
    assert "run 1 (" in said.out
    assert "may delete runs: ask the owner (looks isn't)" in said.err


def test_a_password_in_the_address_earns_a_note_and_is_in_nothing_that_is_printed(server, folder):
    address = server.replace("postgres:@", "postgres:topsecret@")
    said = said_by(["evaluate", "rows.jsonl", *METRICS, "--store", address])
    assert said.code == 0
    assert "the store's address holds a password, which others may see: use ~/.pgpass or PGPASSWORD" in said.err
    assert "--store" in said.out
    assert "topsecret" not in said.out + said.err
    assert "topsecret" not in "".join(path.read_text("utf-8", "replace") for path in folder.rglob("*.html"))


def test_a_second_evaluator_of_the_same_file_is_refused(server, folder, openai):
    with Server(Gate(answers=0)) as model:
        command = ("evaluate", "rows.jsonl", *METRICS, *judging(model), "--store", server)
        with begun(folder, *command) as child:
            until(lambda: bool(model.heard), child)
            said = said_by(command)
    assert said.code == 3
    assert f"run 1 is being written by process {child.pid} on " in said.err


def test_every_case_has_its_reading_under_the_criteria_of_the_run(server, folder):
    rows = [*ROWS, {"id": "bad", "query": "What does it cost?", "contexts": ["Dogs bark."], "response": "It costs 9."}]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for place in (".ragtriage", server):
        assert said_by(["evaluate", "rows.jsonl", "--metrics", "thelma", "--store", place]).code == 0
        with open_store(place) as store:
            config = config_of(store.run().info)
            expected = [config.heading(record, config.assess(record)) for record in store.run().records()]
        found = Place(place, server.rpartition("=")[2] if place is server else None).rows("readings")
        found.sort(key=lambda row: row["position"])
        told = [CaseHeading(r["kind"], r["component"], tuple(json.loads(r["rules"])), bool(r["sure"])) for r in found]
        assert told == expected
        assert [row["head"] for row in found] == [row["query"] for row in rows]
        assert {row["kind"] for row in found} >= {"failure"}


def test_a_continued_run_is_read_again_under_the_thresholds_of_now(folder, monkeypatch):
    rows = [dict(ROWS[0], id=str(i)) for i in range(150)]
    (folder / "many.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command = ("evaluate", "many.jsonl", "--metrics", "thelma", "--threshold")
    add, counted = SlicedTally.add, []

    def interrupted(tally, record, *assessed):
        counted.append(record)
        if len(counted) == 64:
            os.kill(os.getpid(), signal.SIGINT)
        return add(tally, record, *assessed)

    with monkeypatch.context() as patched:
        patched.setattr(SlicedTally, "add", interrupted)
        assert "interrupted" in said_by([*command, "groundedness=0"]).err
    before = Place(".ragtriage").rows("readings")
    assert 50 <= len(before) < len(rows)
    assert said_by([*command, "groundedness=1"]).code == 0
    with open_store(".ragtriage") as store:
        config = config_of(store.run(1).info)
        readings = [config.heading(record, config.assess(record)) for record in store.run(1).records()]
    expected = [(one.kind, json.dumps(one.rules)) for one in readings]
    after = sorted(Place(".ragtriage").rows("readings"), key=lambda row: row["position"])
    assert [(row["kind"], row["rules"]) for row in after] == expected
    assert not {(row["kind"], row["rules"]) for row in before} & set(expected)
