"""Agreement sets that are trained on: fold by fold, and only rows whose label is sure."""

import importlib
import json
import random
from pathlib import Path
from typing import Any


def module(name: str) -> Any:
    return importlib.import_module(name)


def test_a_group_lies_in_one_fold_whatever_the_set() -> None:
    split_of = module("splits").split_of
    folds = {split_of("supported/ragtruth-qa-sentence", f"group {i}", "") for i in range(50)}
    assert folds == {"fold 0", "fold 1", "fold 2"}
    for i in range(50):
        same = {split_of(f"supported/ragtruth-qa-{of}", f"group {i}", "") for of in ("sentence", "response")}
        assert len(same) == 1


def test_what_must_not_be_trained_on_is_only_measured() -> None:
    split_of = module("splits").split_of
    for name in ("answered/squad2-dev", "essential/lfqa-summary", "supported/faithbench", "similar/mrpc"):
        assert split_of(name, "group", "") == "measured"
    assert split_of("supported/attributionbench", "group", "LFQA") == "measured"
    assert split_of("supported/attributionbench", "group", "ExpertQA").startswith("fold")


def test_a_row_asks_what_the_judge_is_asked(tmp_path: Path) -> None:
    claim = "The bridge opened in 1932. It is 503 metres long."
    shared = {"sources": ["The bridge opened in 1932."], "group": "g"}
    rows = [
        {"id": "two", "claim": claim, "label": 0, **shared},
        {"id": "one", "claim": claim[:26], "label": 1, **shared},
    ]
    (tmp_path / "supported").mkdir()
    path = tmp_path / "supported" / "bridges.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = list(module("rows").agreement_rows(path))
    assert [(row.item, row.label, row.set) for row in found] == [
        ("two", 0, "supported/bridges"),
        ("two", 0, "supported/bridges"),
        ("one", 1, "supported/bridges"),
    ]
    assert all(row.question.kind == "supported" for row in found)


def test_only_rows_with_a_sure_label_are_read_and_none_of_a_set_that_is_measured(tmp_path: Path) -> None:
    sources = ["The bridge opened in 1932. It is 503 metres long."]
    two = "The bridge opened in 1933. It is 503 metres long."
    rows = {
        "supported/wice": [
            {"id": "two bad", "claim": two, "label": 0},
            {"id": "two good", "claim": two.replace("1933", "1932"), "label": 1},
            {"id": "one", "claim": "It opened in 1933.", "label": 0},
        ],
        "supported/ragtruth-qa-response": [{"id": "akin", "claim": "It opened in 1932.", "label": 1}],
        "supported/faithbench": [{"id": "measured", "claim": "It opened in 1932.", "label": 1}],
    }
    for name, some in rows.items():
        path = tmp_path / f"{name}.jsonl"
        path.parent.mkdir(exist_ok=True)
        lines = [json.dumps({"sources": sources, "group": "g", **row}) + "\n" for row in some]
        path.write_text("".join(lines), encoding="utf-8")

    found = list(module("readings").lent(tmp_path, random.Random(0)))

    assert [(pair.first, pair.targets[0][3]) for pair in found] == [
        ("The bridge opened in 1932.", 1.0),
        ("It is 503 metres long.", 1.0),
        ("It opened in 1933.", 0.0),
    ]
    assert {pair.split[:4] for pair in found} == {"fold"}
