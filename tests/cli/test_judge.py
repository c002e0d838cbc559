"""`ragtriage judge`: rows in, one prediction a row out, in order, whatever is wrong with a row."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

TASKS: dict[str, list[dict[str, Any]]] = {
    "supported": [
        {"id": 1, "claim": "The ferry leaves at 9.", "sources": ["The ferry leaves at 9.", "It floats."]},
        {"id": "b", "claim": "The ferry leaves at 9.", "sources": ["Whales are mammals."], "query": "When?"},
    ],
    "essential": [{"id": 1, "query": "When does the ferry leave?", "text": "The ferry leaves at 9."}],
    "relevant": [{"id": 1, "query": "When does the ferry leave?", "text": "The ferry leaves at 9.", "part": "x"}],
    "answered": [{"id": 1, "question": "When does the ferry leave?", "sources": ["The ferry leaves at 9."]}],
    "similar": [
        {"id": 1, "a": "The ferry leaves at 9.", "b": "The ferry leaves at 9."},
        {"id": 2, "response": "The ferry leaves at 9. The ferry leaves at 9. Bring food."},
        {"id": 3, "response": "The ferry leaves at 9."},
    ],
    "same-answer": [
        {"id": 1, "query": "When does the ferry leave?", "truth": ["at 8", "at 9"], "response": "It leaves at 9."},
        {"id": 2, "query": "When does the ferry leave?", "truth": "at 9", "response": "It leaves at 9."},
    ],
}
LACKING = {"id": "lacking", "set": "x", "group": "y"}


def predictions(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def packed(name: str, rows: list[Any]) -> str:
    with gzip.open(name, "wt", encoding="utf-8") as out:
        out.writelines(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    return name


@pytest.mark.parametrize("task", TASKS)
def test_every_row_gets_one_prediction_in_order_and_a_row_that_lacks_a_field_an_error(command, task: str) -> None:
    given = [LACKING, *TASKS[task], LACKING | {"id": None}]

    said = command("judge", "ask", task, packed("rows.jsonl.gz", given), "-o", "out/p.jsonl")

    found = predictions("out/p.jsonl")
    assert said.code == 3
    assert f"2 of {len(given)} rows can't be used:\n  row 1: " in said.err
    assert [p["id"] for p in found] == [row["id"] for row in given]
    for p in found[1:-1]:
        assert list(p) == ["id", "verdict", "confidence", "score", "sure"]
        assert p["verdict"] in {"yes", "no", "unknown"}
        assert 0.0 <= p["score"] <= 1.0
    for p in (found[0], found[-1]):
        assert (p["verdict"], p["confidence"], p["score"]) == (None, None, None)
        assert "the row has no" in p["error"] or "must be" in p["error"]


def test_plain_cases_come_out_as_a_person_would_say(command) -> None:
    command("judge", "ask", "supported", packed("rows.jsonl.gz", TASKS["supported"]), "-o", "p.jsonl")
    supported, other = predictions("p.jsonl")
    assert supported["verdict"] == "yes"
    assert other["verdict"] != "yes"
    assert supported["score"] > 0.5 > other["score"]

    command("judge", "ask", "similar", packed("rows.jsonl.gz", TASKS["similar"]), "-o", "p.jsonl")
    assert [p["verdict"] for p in predictions("p.jsonl")] == ["yes", "yes", "no"]
    assert predictions("p.jsonl")[2]["score"] == 0.0


def test_the_least_supported_part_of_a_claim_decides(command) -> None:
    sources = ["The ferry leaves at nine from the old harbour.", "A dog travels for free."]
    parts = ["The ferry leaves at nine from the old harbour.", "Whales are fish that eat bread."]
    claims = [parts[0], parts[1], " ".join(parts), " ".join(reversed(parts))]
    rows = [{"id": i, "claim": claim, "sources": sources} for i, claim in enumerate(claims)]

    command("judge", "ask", "supported", packed("rows.jsonl.gz", rows), "-o", "p.jsonl")

    first, second, both, turned = (p["score"] for p in predictions("p.jsonl"))
    assert first > 0.5 > second
    assert both == pytest.approx(second, abs=0.1)
    assert turned == pytest.approx(second, abs=0.1)


def test_any_of_several_truths_will_do(command) -> None:
    command("judge", "ask", "same-answer", packed("rows.jsonl.gz", TASKS["same-answer"]), "-o", "p.jsonl")

    several, one = predictions("p.jsonl")
    assert (several["verdict"], one["verdict"]) == ("yes", "yes")


def test_where_a_row_comes_from_is_never_read(command) -> None:
    row = TASKS["essential"][0]
    marked = row | {"set": "train", "part": "x", "group": "g", "label": "no", "verdict": "no"}

    command("judge", "ask", "essential", packed("rows.jsonl.gz", [row, marked]), "-o", "p.jsonl")

    plain, other = predictions("p.jsonl")
    assert plain == other


def test_rows_that_cannot_be_read_get_an_error_and_the_others_go_on(command, tmp_path: Path) -> None:
    good = json.dumps(TASKS["essential"][0]).encode()
    deep = b'{"id": ' + b"[" * 100_000
    number = b'{"id": ' + b"9" * 5000 + b"}"
    half = b'{"id": "\\ud800", "query": 3}'
    (tmp_path / "rows.jsonl").write_bytes(
        b"\n".join([good, b"{broken", b"", b"[1]", b"\xff", deep, number, half, good])
    )

    said = command("judge", "ask", "essential", "rows.jsonl", "-o", "p.jsonl")

    found = predictions("p.jsonl")
    assert said.code == 3
    assert "6 of 8 rows can't be used:\n  row 2: broken JSON at line 2, column 2" in said.err
    assert "error" not in found[0]
    assert found[-1] == found[0]
    told = [
        "broken JSON at line 2, column 2",
        "not a JSON object",
        "is not UTF-8",
        "nested too deeply",
        "too many digits",
        "",
    ]
    assert len(found) == len(told) + 2
    for p, part in zip(found[1:-1], told, strict=True):
        assert p["score"] is None
        assert part in p["error"]
    assert found[-2]["id"] == "\ud800"


@pytest.mark.parametrize(("good", "code"), [(8, 3), (9, 0)])
def test_more_than_a_tenth_of_unusable_rows_is_incomplete_as_for_evaluate(command, good: int, code: int) -> None:
    rows = [*(TASKS["essential"][0] for _ in range(good)), "{broken"]

    said = command("judge", "ask", "essential", packed("rows.jsonl.gz", rows), "-o", "p.jsonl")

    assert said.code == code
    assert f"1 of {good + 1} rows can't be used:\n  row {good + 1}: broken JSON" in said.err


def test_predictions_go_to_standard_output_as_utf8_if_no_file_is_named(process) -> None:
    row = {"id": "ü", "text": "Über alles: it costs 5 €."}

    said = process("judge", "split", "sentences", "-", stdin=json.dumps(row))

    assert (said.code, said.err) == (0, "")
    assert json.loads(said.out)["id"] == "ü"


@pytest.mark.parametrize(
    ("unit", "row", "texts"),
    [
        ("claims", {"response": "The ferry leaves at 9. It costs 5 euros."}, 2),
        ("sentences", {"response": "The ferry leaves at 9. It costs 5 euros."}, 2),
        ("questions", {"query": "When does the ferry leave, and what does a ticket cost?"}, 2),
        ("sentences", {"text": "One. Two. Three.", "response": "Never read."}, 3),
        ("claims", {"text": ""}, 0),
    ],
)
def test_texts_are_split_with_their_places(command, unit: str, row: dict[str, str], texts: int) -> None:
    given = [{"id": "a", **row}, {"id": "lacking"}]

    said = command("judge", "split", unit, packed("rows.jsonl.gz", given), "-o", "s.jsonl")

    found, lacking = predictions("s.jsonl")
    whole = next(iter(row.values()))
    assert said.code == 3
    assert "1 of 2 rows can't be used:\n  row 2: the row has no text" in said.err
    assert found["id"] == "a"
    assert len(found["components"]) == texts
    for component in found["components"]:
        assert list(component) == ["text", "start", "end"]
        assert whole[component["start"] : component["end"]].strip()
    assert lacking["components"] is None
    assert "no text under 'text'" in lacking["error"]


def test_a_full_disk_is_told(command) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    Path("rows.jsonl").write_text('{"id": 1}\n', encoding="utf-8")

    said = command("judge", "ask", "supported", "rows.jsonl", "-o", "/dev/full")

    assert said.code == 2
    assert "/dev/full can't be written: No space left on device" in said.err
