"""The rows that the embedded judge is trained on: well formed, sure, and never on both sides of a split."""

import gzip
import json
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import readings
import rows
import splits

from examples import rows_of

TRAINING = Path(__file__).parents[2] / "training"
NATURAL = sorted(
    path for path in (TRAINING / "authored").glob("*.jsonl") if '"response"' in path.read_text("utf-8").split("\n")[0]
)
GROUPS = sorted(set((TRAINING / "authored").glob("*.jsonl")) - set(NATURAL))


def checked(*paths: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, TRAINING / "check.py", *paths], check=False, capture_output=True, text=True
    )  # fmt: skip


def test_the_natural_cases_are_well_formed() -> None:
    assert len(NATURAL) == 8
    found = checked(*NATURAL)
    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("style", "X", "style 'X' is none of A to F"),
        ("essential", [[9, 1]], "essential [9, 1] stands in no passage"),
        ("response", [["It is so.", 1, "added", 1]], "kind 'added' doesn't go with label 1"),
        ("sub", [["Which?", {"1": 2}, 1]], "'Which?': every passage needs a grade"),
        ("passages", [[]], "a passage or a sentence is empty"),
    ],
)
def test_a_broken_case_is_said_with_its_file_and_line(tmp_path: Path, field: str, value: Any, said: str) -> None:
    lines = NATURAL[0].read_text(encoding="utf-8").split("\n")[:2]
    broken = json.loads(lines[1]) | {field: value}
    path = tmp_path / "cases.jsonl"
    path.write_text(f"{lines[0]}\n{json.dumps(broken)}\n", encoding="utf-8")
    found = checked(path)
    assert found.returncode == 1
    assert f"{path}:2: {broken['id']}: {said}" in found.stdout


def test_every_file_gives_rows_of_both_labels() -> None:
    for paths, read in ((NATURAL, rows.natural_rows), (GROUPS, rows.authored_rows)):
        for path in paths:
            labels: dict[str, set[int]] = defaultdict(set)
            for row in read(path):
                labels[row.question.kind].add(row.label)
            assert all(labels[kind] == {0, 1} for kind in ("supported", "answered", "essential")), path


def test_a_passage_that_holds_a_part_is_no_row_for_answered() -> None:
    for path in NATURAL:
        cases = {case["id"]: case for case in rows_of(path)}
        for row in rows.natural_rows(path):
            if row.kind == "passage":
                texts = [" ".join(passage) for passage in cases[row.group]["passages"]]
                at = str(texts.index(row.question.evidence[0]) + 1)
                grades = next(g for sub, g, _ in cases[row.group]["sub"] if sub == row.question.subject)
                assert grades[at] == 2 * row.label


def test_no_row_holds_a_text_of_a_case_on_another_side() -> None:
    for path in NATURAL:
        side: dict[str, str] = {}
        for case in rows_of(path):
            split = splits.split_of(path.stem, case["id"], case["domain"])
            for text, *_ in case["response"]:
                side.setdefault(text, split)
        assert {"", "fusion"} <= set(side.values())
        for row in rows.natural_rows(path):
            if row.question.kind == "supported":
                assert side[row.question.subject] == splits.split_of(row.set, row.group, row.domain)


def test_the_questions_of_cases_that_are_kept_are_left_out_of_public_sets(tmp_path: Path) -> None:
    asked = [f"Who built pier {n}?" for n in range(4)]
    (tmp_path / "answered").mkdir()
    lines = [
        {"task": "answered", "set": "made", "evidence": "Ada built it.", "text": text, "label": 1} for text in asked
    ]
    with gzip.open(tmp_path / "answered" / "made.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)
    found = {
        row.question.subject.rstrip("?") for row in rows.public_rows(tmp_path, "answered/made", 9, {"who built pier 2"})
    }
    assert found == {"Who built pier 0", "Who built pier 1", "Who built pier 3"}


def test_a_reordered_answer_keeps_its_labels_and_all_its_sentences() -> None:
    moved = 0
    for path in NATURAL:
        plain: dict[tuple[str, str], int] = {}
        for row in rows.natural_rows(path):
            question = row.question
            if row.kind == "response" and question.kind == "essential":
                plain[row.group, question.subject] = row.label
            elif row.kind == rows.REORDERED:
                assert plain[row.group, question.subject] == row.label
                told = [text for group, text in plain if group == row.group]
                assert all(text in question.context for text in told)
                moved += question.context.find(told[0]) > 3
    assert moved


def test_a_group_lies_in_one_fold_whatever_the_set() -> None:
    folds = {splits.split_of("supported/ragtruth-qa-sentence", f"group {i}", "") for i in range(50)}
    assert folds == {"fold 0", "fold 1", "fold 2"}
    for i in range(50):
        same = {splits.split_of(f"supported/ragtruth-qa-{of}", f"group {i}", "") for of in ("sentence", "response")}
        assert len(same) == 1


def test_what_must_not_be_trained_on_is_only_measured() -> None:
    for name in ("answered/squad2-dev", "essential/lfqa-summary", "supported/faithbench", "similar/mrpc"):
        assert splits.split_of(name, "group", "") == "measured"
    assert splits.split_of("supported/attributionbench", "group", "LFQA") == "measured"
    assert splits.split_of("supported/attributionbench", "group", "ExpertQA").startswith("fold")


def test_a_row_asks_what_the_judge_is_asked(tmp_path: Path) -> None:
    claim = "The bridge opened in 1932. It is 503 metres long."
    shared = {"sources": ["The bridge opened in 1932."], "group": "g"}
    lines = [
        {"id": "two", "claim": claim, "label": 0, **shared},
        {"id": "one", "claim": claim[:26], "label": 1, **shared},
    ]
    (tmp_path / "supported").mkdir()
    path = tmp_path / "supported" / "bridges.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in lines), encoding="utf-8")
    found = list(rows.agreement_rows(path))
    assert [(row.item, row.label, row.set) for row in found] == [
        ("two", 0, "supported/bridges"),
        ("two", 0, "supported/bridges"),
        ("one", 1, "supported/bridges"),
    ]
    assert all(row.question.kind == "supported" for row in found)


def test_only_rows_with_a_sure_label_are_read_and_none_of_a_set_that_is_measured(tmp_path: Path) -> None:
    sources = ["The bridge opened in 1932. It is 503 metres long."]
    two = "The bridge opened in 1933. It is 503 metres long."
    sets = {
        "supported/wice": [
            {"id": "two bad", "claim": two, "label": 0},
            {"id": "two good", "claim": two.replace("1933", "1932"), "label": 1},
            {"id": "one", "claim": "It opened in 1933.", "label": 0},
        ],
        "supported/ragtruth-qa-response": [{"id": "akin", "claim": "It opened in 1932.", "label": 1}],
        "supported/faithbench": [{"id": "measured", "claim": "It opened in 1932.", "label": 1}],
    }
    for name, some in sets.items():
        path = tmp_path / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        lines = [json.dumps({"sources": sources, "group": "g", **row}) + "\n" for row in some]
        path.write_text("".join(lines), encoding="utf-8")

    found = list(readings.lent(tmp_path, random.Random(0)))

    assert [(pair.first, pair.targets[0][3]) for pair in found] == [
        ("The bridge opened in 1932.", 1.0),
        ("It is 503 metres long.", 1.0),
        ("It opened in 1933.", 0.0),
    ]
    assert {pair.split[:4] for pair in found} == {"fold"}
