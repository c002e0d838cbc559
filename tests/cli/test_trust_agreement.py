"""`ragtriage trust agreement`: labelled rows in, how far the judge agrees and whether it beats counting words out."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

SOURCE = "The day pass costs 12 euros. Dogs travel free of charge on all ferries. Bikes need a ticket of 3 euros."
CLAIMS = [
    ("The day pass costs 12 euros.", 1),
    ("Dogs travel free on ferries.", 1),
    ("A bike needs a ticket.", 1),
    ("The day pass costs 40 euros.", 0),
    ("Horses sleep in the harbour hotel.", 0),
    ("The captain was born in Norway.", 0),
]


def put(rows: Iterable[Any], name: str = "rows.jsonl") -> str:
    text = "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    Path(name).write_text(text, encoding="utf-8")
    return name


def claims() -> list[dict[str, Any]]:
    return [
        {"id": f"c{i}", "group": f"g{i}", "claim": claim, "sources": [SOURCE], "label": label}
        for i, (claim, label) in enumerate(CLAIMS)
    ]


def scored(scores: Iterable[float | None], verdicts: str = "") -> list[dict[str, Any]]:
    words = {"y": "yes", "n": "no", "u": "unknown"}
    lines: list[dict[str, Any]] = [{"id": f"c{i}", "score": score} for i, score in enumerate(scores)]
    for line, letter in zip(lines, verdicts, strict=False):
        line["verdict"] = words[letter]
    return lines


def test_the_embedded_judge_is_asked_and_its_predictions_can_be_used_again(command) -> None:
    asked = command("trust", "agreement", put(claims()), "--json", "-o", "said.jsonl")
    again = command("trust", "agreement", "rows.jsonl", "--json", "--predictions", "said.jsonl")

    assert (asked.code, again.code) == (0, 0)
    found = asked.json["agreement"]["all rows"]
    assert found == again.json["agreement"]["all rows"]
    assert (found["scale"], found["rows"], found["groups"], found["mean_label"]) == ("yes or no", 6, 6, 0.5)
    assert found["judge"]["AUC"]["value"] > 0.5
    assert found["overlap"]["AUC"]["value"] > 0.5
    assert list(found["judge"]) == [
        "AUC",
        "balanced accuracy at the best cut",
        "balanced accuracy",
        "accuracy",
        "Cohen's kappa",
        "shown in red, right",
        "faults shown in red",
    ]
    lines = [json.loads(line) for line in Path("said.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["id"] for line in lines] == [f"c{i}" for i in range(6)]


def test_verdicts_are_measured_as_they_come(command) -> None:
    put(scored([0.9, 0.8, 0.3, 0.6, 0.2, 0.1], "yynyun"), "said.jsonl")

    found = command("trust", "agreement", put(claims()), "--json", "--predictions", "said.jsonl").json
    judge = found["agreement"]["all rows"]["judge"]

    assert judge["AUC"]["value"] == pytest.approx(8 / 9)
    assert judge["balanced accuracy"]["value"] == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert judge["accuracy"]["value"] == pytest.approx(3 / 6)
    assert (judge["shown in red, right"]["value"], judge["shown in red, right"]["n"]) == (0.5, 2)
    assert (judge["faults shown in red"]["value"], judge["faults shown in red"]["n"]) == (pytest.approx(1 / 3), 3)
    assert found["agreement"]["all rows"]["unknown"] == 1


def test_a_no_that_is_not_sure_is_not_shown_in_red(command) -> None:
    lines = scored([0.9, 0.8, 0.7, 0.3, 0.2, 0.1], "yyynnn")
    lines[3]["sure"] = False
    put(lines, "said.jsonl")

    found = command("trust", "agreement", put(claims()), "--json", "--predictions", "said.jsonl").json
    judge = found["agreement"]["all rows"]["judge"]
    assert (judge["shown in red, right"]["value"], judge["shown in red, right"]["n"]) == (1.0, 2)
    assert judge["faults shown in red"]["value"] == pytest.approx(2 / 3)


def test_a_row_without_a_score_counts_as_wrong_and_is_told(command) -> None:
    put(scored([0.9, 0.8, None, 0.3, 0.2])[:5], "said.jsonl")

    said = command("trust", "agreement", put(claims()), "--predictions", "said.jsonl")
    found = command("trust", "agreement", "rows.jsonl", "--json", "--predictions", "said.jsonl").json

    numbers = found["agreement"]["all rows"]
    assert (numbers["without_score"], numbers["failed"]) == (2, 0)
    assert numbers["judge"]["AUC"]["value"] == pytest.approx(4 / 9)
    assert "2 rows have no score and count as wrong." in said.out
    assert "no line with its id" in said.out


def test_it_says_where_the_judge_does_not_beat_counting_words(command, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    put(scored([0.1, 0.2, 0.3, 0.7, 0.8, 0.9]), "said.jsonl")

    said = command("trust", "agreement", put(claims()), "--predictions", "said.jsonl")

    assert said.code == 0
    assert "The judge doesn't beat word overlap" in said.out
    assert "Only 6 groups" in said.out
    assert max(map(len, said.out.splitlines())) <= 80


def test_graded_labels_and_preferences_are_told_from_the_rows(command) -> None:
    graded = [{**row, "label": 0.2 * i} for i, row in enumerate(claims())]
    put(scored([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]), "said.jsonl")
    found = command("trust", "agreement", put(graded), "--json", "--predictions", "said.jsonl").json
    assert found["agreement"]["all rows"]["scale"] == "graded"
    assert found["agreement"]["all rows"]["judge"]["Spearman"]["value"] == pytest.approx(1)

    pairs = [
        {"id": f"c{i}", "query": "What does it cost?", "sources": [SOURCE], "a": a, "b": b, "human": human}
        for i, (a, b, human) in enumerate(
            [("12 euros.", "A horse..", 1), ("A horse..", "12 euros.", -0.5), ("12 euros.", "12 euros!", 0)]
        )
    ]
    put(scored([0.5, 0.5, 0.0]), "said.jsonl")
    found = command("trust", "agreement", put(pairs), "--json", "--predictions", "said.jsonl").json
    overall = found["agreement"]["aspect: overall"]
    assert (overall["scale"], overall["judge"]["pair accuracy"]["value"]) == ("preference", 0.5)
    assert overall["judge"]["pair accuracy"]["n"] == 2
    assert overall["overlap"]["pair accuracy"]["value"] == 1
    assert overall["judge"]["of about the same length"]["n"] == 2


def test_a_column_splits_the_rows(command) -> None:
    rows = [{**row, "domain": "dogs" if i % 2 else "passes"} for i, row in enumerate(claims())]
    put(scored([0.9, 0.8, 0.7, 0.3, 0.2, 0.1]), "said.jsonl")

    found = command("trust", "agreement", put(rows), "--json", "--predictions", "said.jsonl", "--by", "domain").json
    assert {name: one["rows"] for name, one in found["agreement"].items()} == {
        "all rows": 6,
        "domain: dogs": 3,
        "domain: passes": 3,
    }


def test_cases_with_a_column_of_labels_hold_a_metric_against_them(command) -> None:
    cases = [
        {"id": f"c{i}", "query": "What holds?", "sources": [SOURCE], "response": claim, "label_groundedness": label}
        for i, (claim, label) in enumerate(CLAIMS)
    ]
    cases.append({"id": "bare", "query": "What holds?", "sources": [SOURCE], "response": "Nothing."})
    found = command("trust", "agreement", put(cases), "--json").json["agreement"]
    assert list(found) == ["groundedness"]
    assert (found["groundedness"]["rows"], found["groundedness"]["groups"]) == (6, 6)
    assert found["groundedness"]["judge"]["AUC"]["value"] > 0.5
    assert found["groundedness"]["judge"]["balanced accuracy"]["n"] == 6

    named = [{"human" if name == "label_groundedness" else name: value for name, value in one.items()} for one in cases]
    again = command("trust", "agreement", put(named), "--json", "--label", "human=groundedness").json["agreement"]
    assert again == found


def test_a_broken_row_costs_itself_only(command) -> None:
    rows = [*claims(), "{", {"id": "x", "claim": "It rains.", "sources": [SOURCE], "label": 7}]
    said = command("trust", "agreement", put([*rows, *({**row, "id": f"d{i}"} for i, row in enumerate(claims() * 3))]))

    assert said.code == 0
    assert "2 of 26 rows can't be used" in said.err
    assert "rows.jsonl, row 8, field 'label': is a number (7): write 0 or 1" in said.err
    assert "24 rows in 6 groups" in said.out
