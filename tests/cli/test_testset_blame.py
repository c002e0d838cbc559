"""`ragtriage testset example`, and what `score` finds out beyond the scores."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

APP = """
import json
from pathlib import Path


def answer(query, sources=None):
    if sources is None:
        return {"response": "I don't know.", "sources": []}
    with Path("asked.jsonl").open("a") as file:
        file.write(json.dumps([query, sources]) + "\\n")
    return "Ada Finch" if "please" in query else "I don't know."


def deaf(query):
    return "Ada Finch"


def broken(query, sources):
    raise ValueError("no")
"""
REPORT = "# Old Pier\n\nThe manager is Ada Finch. It opened on 3 March 2019."


def row(name: str, group: str, cluster: str, query: str, response: str, **fields: Any) -> dict[str, Any]:
    base = {"id": name, "group": group, "cluster": cluster, "query": query, "answer": "Ada Finch", "response": response}
    source = {"id": f"d{name}", "text": REPORT if "Ada" in response else "# New Quay\n\nNothing."}
    return base | {"sources": [source], "retrieved": [source["id"]]} | fields


ROWS = [
    row("1", "manager", "short", "Who manages Old Pier?", "Ada Finch"),
    row("2", "manager", "long", "Who manages Old Pier, please?", "I don't know."),
    row("3", "manager", "long", "Who on earth manages Old Pier?", "I don't know."),
    row("4", "opened", "short", "When did Old Pier open?", "I don't know.", answer="2019-03-03"),
    row("5", "fee", "short", "What was the fee for Old Pier?", "I don't know.", answer=120_000),
]


@pytest.fixture(autouse=True)
def there(command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    Path("rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in ROWS), encoding="utf-8")
    Path("app.py").write_text(APP, encoding="utf-8")
    Path("docs").mkdir()
    Path("docs/pier.md").write_text(REPORT, encoding="utf-8")


def test_an_example_is_written_and_said_in_80_columns(command) -> None:
    said = command("testset", "example", "firm")

    assert (said.code, said.err) == (0, "")
    assert max(map(len, said.out.splitlines())) <= 80
    for part in ("30 projects", "documents/", "no document states", "--app firm/app.py:answer"):
        assert part in said.out
    assert command("testset", "example", "firm", "--json").json["projects"] == 30


def test_an_example_can_be_asked_and_scored_at_once(command) -> None:
    command("testset", "example", "firm")
    facts = [json.loads(line) for line in Path("firm/stated.jsonl").read_text("utf-8").splitlines()]
    asked = [fact for fact in facts if fact["attribute"] in {"manager", "client", "start date"}][:20]
    wordings = {
        "short": "{attribute} of {entity}",
        "long": "Before I write, tell me the {attribute} of {entity}, will you?",
    }
    questions = [
        {
            "id": f"{fact['id']} {cluster}",
            "group": fact["id"],
            "cluster": cluster,
            "query": wording.format(**fact),
            "answer": fact["value"],
        }
        for fact in asked
        for cluster, wording in wordings.items()
    ]
    Path("questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in questions), encoding="utf-8")

    collected = command("collect", "questions.jsonl", "--app", "firm/app.py:answer", "-o", "cases.jsonl", "--json")
    scored = command(
        "testset", "score", "cases.jsonl", "--app", "firm/app.py:answer", "--corpus", "firm/documents", "--typed-only",
        "--json",
    )  # fmt: skip

    assert collected.json["answered"] == 40
    assert scored.code == 0
    clusters = scored.json["clusters"]
    assert clusters["short"]["accuracy"] > clusters["long"]["accuracy"]
    assert all(gap["presence"] == "found" for gap in scored.json["gaps"].values())
    assert scored.json["second_run"]["asked"] > 0


def test_long_phrasings_are_harder_and_less_so_where_rare_words_weigh_more(command) -> None:
    """What the docs say of the example, without its figures: these change with every phrasing that does."""
    command("testset", "example", "firm")
    command("testset", "build", "sqlite:///firm/company.db", "-o", "set", "--criteria", "short,long", "--size", "120")

    lost = {}
    for name in ("answer", "answer_by_bm25"):
        command("collect", "set/questions.jsonl", "--app", f"firm/app.py:{name}", "-o", f"{name}.jsonl")
        clusters = command("testset", "score", f"{name}.jsonl", "--typed-only", "--json").json["clusters"]
        lost[name] = clusters["short"]["robustness"] - clusters["long"]["robustness"]

    assert lost["answer"] > 0.2
    assert lost["answer_by_bm25"] < lost["answer"]


def test_wrong_answers_are_asked_again_and_blamed_by_what_comes(command) -> None:
    said = command("testset", "score", "rows.jsonl", "--app", "app.py:answer", "--typed-only")

    asked = [json.loads(line) for line in Path("asked.jsonl").read_text().splitlines()]
    assert sorted(query for query, _ in asked) == [ROWS[1]["query"], ROWS[2]["query"]]
    assert {sources[0]["text"] for _, sources in asked} == {REPORT}
    text = " ".join(said.out.split())
    assert said.code == 0
    assert "2 wrong answers asked again: 1 now right (retrieval was at fault), 1 wrong again (the LM)" in text
    assert "blamed by second run (2)" in text
    assert max(map(len, said.out.splitlines())) <= 80

    again = command("testset", "score", "rows.jsonl", "--app", "app.py:answer", "--typed-only", "--json")
    assert len(Path("asked.jsonl").read_text().splitlines()) == 2  # what was answered isn't asked again
    assert again.json["second_run"] == {
        "asked": 2, "right": 1, "wrong": 1, "undecided": 0, "without_sources": 0, "without_truth": 0,
    }  # fmt: skip
    assert again.json["clusters"]["long"]["blame"] == {"LM": 1, "retrieval": 1, "unknown": 0}
    assert again.json["clusters"]["long"]["rules"] == {"second run": 2}


def test_the_database_s_row_is_given_where_that_is_asked_for(command) -> None:
    command("testset", "score", "rows.jsonl", "--app", "app.py:answer", "--given", "gold", "--typed-only")

    _, sources = json.loads(Path("asked.jsonl").read_text().splitlines()[0])
    assert "answer: Ada Finch" in sources[0]["text"]


def test_rows_from_a_pipe_need_a_name_for_the_second_answers(command) -> None:
    said = command("testset", "score", "-", "--app", "app.py:answer", "--typed-only")

    assert said.code == 2
    assert "--second-run is needed" in said.err


def test_an_application_that_fails_every_time_leaves_the_comparison(command) -> None:
    said = command("testset", "score", "rows.jsonl", "--app", "app.py:broken", "--typed-only", "--json")

    assert said.json["second_run"]["undecided"] == 2
    assert said.json["clusters"]["long"]["rules"] == {"one document": 2}


def test_gap_groups_are_looked_for_in_the_corpus(command) -> None:
    said = command("testset", "score", "rows.jsonl", "--corpus", "docs", "--typed-only")
    found = command("testset", "score", "rows.jsonl", "--corpus", "docs", "--typed-only", "--json").json["gaps"]

    text = " ".join(said.out.split())
    assert "Gap groups against the corpus (1 document) 1 in no single document" in text
    assert "1 in a document that was never retrieved" in text
    listed = text.split("questions whose answer a document states", 1)[1]
    assert re.match(r" (\S+) these documents: When did Old Pier open\? \1 pier", listed)
    assert (found["opened"]["presence"], found["opened"]["documents"]) == ("found", ["pier"])
    assert found["fee"]["presence"] == "absent"


def test_of_many_found_gaps_some_are_named_and_the_rest_counted(command) -> None:
    rows = [
        row(f"{n}", f"g{n}", "short", f"When did Old Pier open in {n}?", "I don't know.", answer="2019-03-03")
        for n in range(7)
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")

    text = " ".join(command("testset", "score", "rows.jsonl", "--corpus", "docs", "--typed-only").out.split())

    assert text.count("When did Old Pier open in") == 5
    assert "and 2 more such questions, which --json lists" in text


def test_a_run_of_the_same_cases_stands_beside(command) -> None:
    assert command("evaluate", "rows.jsonl").code == 0
    said = command("testset", "score", "rows.jsonl", "--run", "last", "--typed-only")
    told = command("testset", "score", "rows.jsonl", "--run", "1", "--typed-only", "--json").json["thelma"]

    assert "Answers by GRAMMAR's blame and by what run 1 says is to repair" in said.out
    assert max(map(len, said.out.splitlines())) <= 80
    assert sum(sum(row.values()) for row in told["table"].values()) == 5
    assert sum(told["table"]["retrieval"].values()) == 2
    assert told["not_in_the_run"] == 0


def test_a_run_of_other_cases_is_refused(command) -> None:
    others = [one | {"id": f"other {one['id']}"} for one in ROWS]
    Path("others.jsonl").write_text("".join(json.dumps(one) + "\n" for one in others), encoding="utf-8")
    command("evaluate", "others.jsonl")
    said = command("testset", "score", "rows.jsonl", "--run", "last", "--typed-only")

    assert said.code == 2
    assert "holds none of these answers" in said.err
