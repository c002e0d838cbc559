"""Agreement sets that are trained on: fold by fold, and only rows whose label is sure."""

from __future__ import annotations

import importlib
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

TRAINING = Path(__file__).parents[2] / "training"


@pytest.fixture(scope="module", autouse=True)
def importable() -> Any:
    sys.path.insert(0, str(TRAINING))
    yield
    sys.path.remove(str(TRAINING))


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


def test_only_sure_labels_are_trained_on_and_all_is_read_again(tmp_path: Path) -> None:
    lines = [
        # question, item, label: two claims of an unsupported text; two true answers; one claim; a reordered answer
        (1, "text", 0, "supported/wice"),
        (2, "text", 0, "supported/wice"),
        (3, "answers", 1, "same_answer/evouna-nq"),
        (3, "answers", 1, "same_answer/evouna-nq"),
        (4, "claim", 1, "supported/wice"),
        (5, "response", 1, "supported/ragtruth-qa-response"),
        (6, "", 1, "handbook"),
    ]
    columns = {
        "task": [name.split("/")[0] for *_, name in lines[:-1]] + ["essential_part"],
        "kind": ["supported"] * (len(lines) - 1) + ["reordered"],
        "a": ["a claim"] * len(lines),
        "b": ["some evidence of it"] * len(lines),
        "x": [()] * len(lines),
        "label": [label for _, _, label, _ in lines],
        "group": ["g"] * len(lines),
        "domain": [name for *_, name in lines],
        "set": [name for *_, name in lines],
        "item": [item for _, item, _, _ in lines],
        "question": [question for question, *_ in lines],
    }
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "agreement-some.pkl").write_bytes(pickle.dumps(columns))
    packed = module("packed")
    rows = packed.pack(tmp_path)
    assert list(rows.head != packed.UNASKED) == [False, False, False, False, True, False, False]
    rows.save(tmp_path / "packed.npz")
    again = packed.Packed.load(tmp_path / "packed.npz")
    for name in packed.Packed.__slots__:
        assert np.array_equal(getattr(rows, name), getattr(again, name)), name
    assert rows.starts[-1] == len(rows.pieces)
