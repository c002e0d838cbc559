"""`ragtriage trust table1`: pairs in, THELMA's table out."""

import json
from pathlib import Path
from typing import Any

from ragtriage.trust.pair_scoring import RAGAS_FOR, read_table1

PIER = "The pier opened in 1901. It is 240 metres long."


def pair(name: str, metric: str, better: dict[str, Any], worse: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "metric": metric, "query": "When did the pier open?", "better": better, "worse": worse}


def version(response: str, *sources: str) -> dict[str, Any]:
    return {"sources": list(sources or (PIER,)), "response": response}


OPENED = "The pier opened in 1901."
ROWS = [
    pair("a", "SP1", version(OPENED), version(OPENED, PIER, "Bakers get up early to knead their dough.")),
    pair("b", "SD", version(OPENED), version(f"{OPENED} {OPENED}")),
]


def put(rows: list[Any], name: str = "pairs.jsonl") -> str:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text("".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in rows), encoding="utf-8")
    return name


def test_the_table_stands_beside_the_papers_and_says_what_length_would_have_got(command) -> None:
    said = command("trust", "table1", "--data", put(ROWS))

    assert said.code == 0
    lines = said.out.splitlines()
    (row,) = [line for line in lines if line.startswith("SD ")]
    assert row.split()[:5] == ["SD", "1", "1.00", "[0.21,", "1.00]"]
    assert "1.00 1.00 1.00 0.26 0.42 0.52" in row
    assert "can't write questions" in " ".join(lines)
    assert "Length alone separates most of these pairs" in " ".join(lines)
    assert max(map(len, lines)) <= 80


def test_json_has_every_number_with_its_counts(command) -> None:
    found = command("trust", "table1", "--data", put(ROWS), "--json").json

    assert list(found["rows"]) == ["SP1", "SD"]
    first = found["rows"]["SP1"]
    assert (first["metric"], first["ours"]["agreement"], first["ours"]["pairs"]) == ("source_precision", 1.0, 1)
    assert first["ragas"]["metric"] == "ragas_context_relevance"
    assert first["paper"]["thelma"]["Sonnet 3.5"] == 1.0
    answer = found["rows"]["SD"]["ragas"]
    assert (answer["agreement"], answer["undefined"]) == (None, 1)
    assert "questions" in answer["reason"]


def test_a_broken_row_is_named_and_the_others_count(command) -> None:
    said = command("trust", "table1", "--data", put([*ROWS, {**ROWS[0], "metric": "SP9"}, "{"]))

    assert "row 3, field 'metric': 'SP9' is no metric: use one of SP1," in said.err
    assert "2 of 4 rows can't be used" in said.err
    assert said.code == 3
    assert "\nSP1 " in said.out


def test_what_it_would_take_is_told_without_asking(command, openai) -> None:
    said = command("trust", "table1", "--data", put(ROWS), "--judge", "openai:gpt-5-mini", "--dry-run", "--json")

    efforts = said.json["efforts"]
    assert said.code == 0
    assert [one["metrics"][0] for one in efforts] == ["source_precision", "self_distinctness"]
    assert efforts[0]["cases"] == 2
    assert efforts[0]["most"]["requests"] > 0


def test_a_folder_is_read_as_a_whole(command) -> None:
    put(ROWS[:1], "folder/a.jsonl")
    put(ROWS[1:], "folder/b.jsonl")

    assert list(command("trust", "table1", "--data", "folder", "--json").json["rows"]) == ["SP1", "SD"]


def test_our_own_pairs_cover_the_table_with_twenty_queries_or_more() -> None:
    pairs, rejected = read_table1()

    assert rejected == []
    assert len({pair.group for pair in pairs}) >= 20
    for name in RAGAS_FOR:
        assert sum(pair.metric == name for pair in pairs) >= 20, name
