"""`ragtriage trust test`: a user's own cases in, how far the judge can be trusted out."""

import json
from pathlib import Path
from typing import Any

from cli_models import Model, chats, judging, same

from servers import Server

ROWS: list[dict[str, Any]] = [
    {
        "id": "pier",
        "query": "When did the Wexley pier open, and who designed its lamps?",
        "sources": [
            "The Wexley pier opened on 12 May 1901. Its lamps were designed by Ada Finch. Anglers pay nothing."
        ],
        "response": "The Wexley pier opened on 12 May 1901. Its lamps were designed by Ada Finch.",
    },
    {
        "id": "bread",
        "query": "How long does rye dough rise, and at which temperature is it baked?",
        "sources": ["Rye dough rises for 14 hours. It is baked at a temperature of 240 degrees. Salt slows the yeast."],
        "response": "Rye dough rises for 14 hours. It is baked at a temperature of 240 degrees.",
    },
    {"id": "empty", "query": "Who rows?", "sources": ["Mara rows."], "response": None},
]


def put(rows: list[Any], name: str = "rows.jsonl") -> str:
    Path(name).write_text("".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in rows), encoding="utf-8")
    return name


def test_every_metric_stands_beside_what_length_and_words_get(command) -> None:
    said = command("trust", "test", put(ROWS), "--show", "9")

    assert said.code == 0
    assert "Self-test of embedded: 14 pairs of rows.jsonl" in said.out
    assert "No repetition" in said.out
    assert "all metrics" in said.out
    assert "there is no response" in said.out
    assert max(map(len, said.out.splitlines())) <= 80


def test_json_holds_counts_reasons_and_failures_with_both_versions(command) -> None:
    found = command("trust", "test", put(ROWS), "--json").json

    assert (found["judge"], found["cases"], len(found["metrics"])) == ("embedded", 3, 7)
    assert found["skipped"]["groundedness"] == {"there is no response": 1}
    for one in found["metrics"].values():
        assert one["pairs"] == 2
        assert one["agreed"] + len(one["failures"]) == 2
        for failure in one["failures"]:
            assert failure["better"] != failure["worse"]
            assert failure["change"]["what"]
            assert failure["better_score"] <= failure["worse_score"]


def test_pairs_that_were_written_are_tested_again_with_the_same_result(command) -> None:
    first = command("trust", "test", put(ROWS), "-o", "out/pairs.jsonl", "--json").json
    again = command("trust", "test", "out/pairs.jsonl", "--json").json

    rows = [json.loads(line) for line in Path("out/pairs.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 14
    assert again["metrics"] == first["metrics"]
    assert again["skipped"] == {}


def test_a_dry_run_makes_the_pairs_and_asks_nothing(command, openai) -> None:
    said = command("trust", "test", put(ROWS), "--judge", "openai:gpt-5-mini", "--dry-run", "-o", "pairs.jsonl")

    assert said.code == 0
    assert "requests" in said.out
    assert "$" in said.out
    assert len(Path("pairs.jsonl").read_text("utf-8").splitlines()) == 14
    assert not Path(".ragtriage").exists()


def test_a_price_that_isnt_known_is_said_once(command, openai) -> None:
    said = command("trust", "test", put(ROWS), "--judge", "openai:no-such-model", "--dry-run")

    assert said.code == 0
    assert " ".join(said.out.split()).count("not known: give --price IN:OUT") == 1


def test_a_broken_row_costs_itself_alone(command) -> None:
    said = command("trust", "test", put([*ROWS, "{"]), "--json")

    assert said.code == 3  # more than a tenth of the rows
    assert "1 of 4 rows can't be used" in said.err
    assert said.json["cases"] == 3


def test_with_a_model_the_same_command_goes_on_and_pays_nothing_twice(command, openai) -> None:
    with Server(Model()) as server:
        flags = ("trust", "test", put(ROWS), "--json", *judging(server))
        stopped = command(*flags, "--max-requests", "9")
        before = len(chats(server.heard))
        whole = command(*flags)
        asked = [same(body) for body in chats(server.heard)]
        again = command(*flags)
        after = len(chats(server.heard))

    assert (stopped.code, stopped.out) == (3, "")
    assert 0 < before <= 9
    assert f"spent: {before} requests" in stopped.err
    assert "spent:" not in again.err
    assert whole.code == 0
    assert len(whole.json["metrics"]) == 7
    assert len(asked) == len(set(asked)) == after
    assert again.json == whole.json
