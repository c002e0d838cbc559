"""`ragtriage testset`: answered questions in, what they reveal out."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

METRICS = ["accuracy", "accuracy_without_lm_errors", "robustness", "robustness_without_lm_errors"]
PIER = Path(__file__).parents[2] / "docs" / "testsets.md"


def put(rows: Iterable[Any], name: str = "rows.jsonl") -> str:
    text = "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    Path(name).write_text(text, encoding="utf-8")
    return name


def row(name: str, group: str, cluster: str, *, right: bool, document: str = "d") -> dict[str, Any]:
    return {"id": name, "group": group, "cluster": cluster, "correct": right, "retrieved": [document]}


MIXED = [
    row("1", "g1", "short", right=True),
    row("2", "g1", "long", right=False),
    row("3", "g2", "short", right=True),
    row("4", "g2", "long", right=False, document="x"),
    row("5", "g3", "short", right=False),
    row("6", "g3", "long", right=False),
]


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_json_has_the_shape_that_is_promised(command) -> None:
    said = command("testset", "score", put(MIXED), "--json")

    assert (said.code, said.err) == (0, "")
    assert list(said.json) == ["clusters", "comparison"]
    assert list(said.json["clusters"]) == ["long", "short"]
    long = said.json["clusters"]["long"]
    assert [long[metric] for metric in METRICS] == [0.0, 1 / 3, 0.0, 0.5]
    assert long["groups"] == {"gap": 1, "robust": 0, "non_robust": 2, "undecided": 0}
    assert (long["scope"], long["average"], long["lm_errors"]) == ("pooled", "rows", "correct")
    assert list(said.json["comparison"]) == METRICS
    accuracy = said.json["comparison"]["accuracy"]
    assert (accuracy["difference"], accuracy["p"]) == (-2 / 3, 0.5)
    assert accuracy["low"] <= accuracy["difference"] <= accuracy["high"]


def test_what_is_undefined_is_null_with_the_reason(command) -> None:
    said = command("testset", "score", put(MIXED[-1:]), "--json")

    long = said.json["clusters"]["long"]
    assert (long["robustness"], long["undefined"]["robustness"]) == (None, "all its groups are gap groups")
    assert said.json["comparison"] == {}


def test_the_table_says_its_terms_and_fits_into_80_columns(command, wide) -> None:
    uneven = [*MIXED, row("7", "g1", "short", right=True), row("8", "g4", "short", right=True)]

    said = command("testset", "score", put(uneven))

    text = " ".join(said.out.split())
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 80
    for part in (
        "8 answers of rows.jsonl",
        "decided: 8 by the file",
        "groups: pooled over the clusters; numbers: averaged over rows",
        "wrong answers blamed on the language model are counted as correct",
        "blamed by one document (2)",
        "long short difference p",
        "as given 0.00 0.80 -0.80",
        "as given, without LM errors 0.33 0.80 -0.47",
        "balanced 0.00 0.67 -0.67",
        "over groups 0.00 0.75",
        "difference: long minus short",
        "the clusters swapped in 3 groups that have answers in both",
    ):
        assert part in text
    lines = [line.split() for line in said.out.splitlines()]
    assert ["long", "1", "0", "2", "0", "1", "1", "0"] in lines
    assert ["short", "1", "1", "2", "0", "0", "0", "0"] in lines


def test_the_terms_can_be_chosen(command) -> None:
    flags = ("--scope", "cluster", "--average", "groups", "--lm-errors", "drop", "--clusters", "short,long")
    said = command("testset", "score", put(MIXED), "--json", *flags)

    short = said.json["clusters"]["short"]
    assert (short["scope"], short["average"], short["lm_errors"]) == ("per cluster", "groups", "drop")
    assert short["groups"] == {"gap": 1, "robust": 2, "non_robust": 0, "undecided": 0}
    assert said.json["comparison"]["accuracy"]["first"] == "short"


def test_more_than_two_clusters_stand_one_a_line(command, wide) -> None:
    rows = [*MIXED, row("7", "g1", "typos", right=True)]

    said = command("testset", "score", put(rows))

    assert "No two clusters were compared" in said.out
    assert ["typos", "1", "1.00", "1.00", "1.00", "1.00"] in [line.split() for line in said.out.splitlines()]
    named = command("testset", "score", put(rows), "--clusters", "typos,long")
    assert "difference: typos minus long" in named.out


def test_the_example_of_the_docs_needs_no_label(command) -> None:
    rows = PIER.read_text(encoding="utf-8").split("```jsonl\n")[1].split("```")[0]

    said = command("testset", "score", put([rows]), "--json", "--typed-only")

    assert said.json["clusters"]["short"]["accuracy"] == 2 / 3
    assert said.json["clusters"]["long"]["blame"] == {"LM": 1, "retrieval": 1, "unknown": 0}


def test_the_output_in_the_docs_is_the_output(command, wide) -> None:
    page = PIER.read_text(encoding="utf-8")
    rows = page.split("```jsonl\n")[1].split("```")[0]
    shown = page.split("<!-- output: testset score -->\n```\n")[1].split("```")[0]

    said = command("testset", "score", put([rows]))

    assert [line.rstrip() for line in said.out.strip().splitlines()] == shown.strip().splitlines()


def test_what_the_typed_match_cannot_tell_goes_to_the_embedded_judge(command) -> None:
    rows = [
        {"id": 1, "group": "g", "query": "Who runs it?", "answer": "Ada Finch", "response": "Mrs Finch runs it."},
        {"id": 2, "group": "h", "query": "Who runs it?", "answer": "Ada Finch", "response": "Whales are mammals."},
    ]

    judged = command("testset", "score", put(rows), "--json").json["clusters"]["all"]
    alone = command("testset", "score", put(rows), "--json", "--typed-only").json["clusters"]["all"]

    assert judged["groups"]["gap"] >= 1
    assert judged["undecided_rows"] < 2
    assert alone["undecided_rows"] == 2


def test_labels_check_the_typed_match(command, wide) -> None:
    labelled = {"id": 1, "group": "g", "query": "How many?", "answer": 3, "response": "three", "correct": True}

    said = command("testset", "score", put([labelled]))

    assert "The typed match against 1 label" in said.out
    assert ["right", "1", "0", "0"] in [line.split() for line in said.out.splitlines()]


def test_bad_rows_are_named_and_many_make_it_incomplete(command) -> None:
    said = command("testset", "score", put([*MIXED, "{", {"id": 9}]), "--json")

    assert said.code == 3
    assert said.json["clusters"]["long"]["rows"] == 3
    assert "2 of 8 rows can't be used" in said.err
    assert "rows.jsonl, row 8, field 'group': is missing" in said.err


def test_a_balanced_sample_alone(command) -> None:
    uneven = [*MIXED, row("8", "g4", "short", right=True)]

    said = command("testset", "score", put(uneven), "--json", "--balanced")

    assert [cluster["rows"] for cluster in said.json["clusters"].values()] == [3, 3]


def test_reliability_reads_a_column_or_a_file_of_scores(command, wide) -> None:
    rows = put([one | {"self": 1.0 if one["correct"] else 0.5} for one in MIXED])
    scores = put([{"id": one["id"], "scores": {"groundedness": 0.9}} for one in MIXED[:4]], "scores.jsonl")

    own = command("testset", "reliability", rows, "--score", "self=0.5", "--json").json
    assert (own["self"]["precision"]["value"], own["self"]["recall"]["value"]) == (2 / 6, 1.0)

    said = command("testset", "reliability", rows, "--score", "groundedness=0.8", "--scores", scores)
    assert said.code == 0
    assert "50 % [15, 85; 4]" in said.out
    assert "2 rows left out" in said.out
    assert max(map(len, said.out.splitlines())) <= 80
