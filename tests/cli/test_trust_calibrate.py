"""`trust calibrate` and the corrected means in `show` and `report`."""

import json
import math
import random
import re
import shutil
from collections.abc import Callable
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from cli_rows import row, written
from prepared_folders import PREPARED
from ragtriage import Score, Verdict, open_store
from ragtriage.config import read_settings
from ragtriage.core.errors import StoreError
from ragtriage.runs.manifest import RunIdentity
from servers import Heard, Said, Server

Change = Callable[[dict[str, Any]], dict[str, Any] | None]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of sixty cases and labels of all its claims, by somebody stricter than the judge."""
    folder = tmp_path_factory.mktemp("judged")
    with chdir(folder):
        PREPARED["labelled run"]()
    return folder


@pytest.fixture
def labelled(judged: Path, tmp_path: Path) -> Callable[..., Path]:
    """It for one test; `change` gets each label."""
    shutil.copytree(judged, tmp_path, dirs_exist_ok=True)
    labels = [json.loads(line) for line in (tmp_path / "labels.jsonl").read_text("utf-8").splitlines()]

    def write(change: Change = lambda label: label) -> Path:
        return written(tmp_path / "labels.jsonl", [found for one in labels if (found := change(dict(one)))])

    return write


def test_a_cut_is_fitted_written_and_used(command, labelled, tmp_path: Path) -> None:
    (tmp_path / "ragtriage.toml").write_text("# ours\n[thresholds]\ngroundedness = 0.3  # low\n", encoding="utf-8")

    said = command("trust", "calibrate", labelled(), "--write", "ragtriage.toml", "--json")
    threshold = said.json["decision_thresholds"][0]

    assert said.code == 0
    assert (threshold["kind"], threshold["metrics"], threshold["better"]) == ("supported", ["groundedness"], True)
    assert threshold["threshold"]["yes"] == pytest.approx(0.7, abs=0.03)
    text = (tmp_path / "ragtriage.toml").read_text(encoding="utf-8")
    assert text.startswith("# ours\n")
    assert (
        read_settings(tmp_path / "ragtriage.toml").decision_thresholds["supported"].yes == threshold["threshold"]["yes"]
    )
    # fitted for the fake judge, so the embedded one is refused before it is asked
    refused = command("evaluate", "rows.jsonl")
    assert refused.code == 2
    assert "[decision_thresholds.supported] was fitted for embedded as" in refused.err


def test_a_base_rate_is_written_and_the_next_evaluation_counts_with_it(command, labelled, tmp_path: Path) -> None:
    said = command("trust", "calibrate", labelled(lambda row: {**row, "label": True}), "--write", "ragtriage.toml")

    assert "How often the answer is yes" in said.out
    assert "supported (groundedness): 1.00 of what was asked (" in " ".join(said.out.split())
    assert read_settings(tmp_path / "ragtriage.toml").base_rates == {"supported": 0.989}
    again = command("evaluate", "rows.jsonl", "--limit", "2", "--json")
    assert again.json["counting"] == "supported at 0.989"


def test_few_labels_give_no_numbers_but_the_reason(command, labelled) -> None:
    few = labelled(lambda row: row if row["case"] in {"c1", "c2"} else None)

    said = command("trust", "calibrate", few)

    assert said.code == 0
    assert "too few labels: 6, and it takes 20" in said.out
    assert "and it takes 10 of each" in said.out
    assert "corrected" not in command("show").out


def test_labels_of_one_metric_leave_what_others_corrected(command, labelled) -> None:
    assert command("trust", "calibrate", labelled()).code == 0
    kept = command("show", "--json").json["metrics"]["groundedness"]["corrected"]

    few = labelled(lambda row: row if row["case"] in {"c1", "c2"} else None)
    said = command("trust", "calibrate", few, "--json")

    assert said.json["earlier"] == ["groundedness"]
    assert "note: kept with the run by other labels, and left as it was: groundedness" in said.err
    assert command("show", "--json").json["metrics"]["groundedness"]["corrected"] == kept
    most = labelled(lambda row: row if row["component"] < 2 else None)
    assert command("trust", "calibrate", most, "--json").json["earlier"] == []
    assert command("show", "--json").json["metrics"]["groundedness"]["corrected"]["labels"] == 120


def test_picked_labels_are_counted_and_not_used(command, labelled) -> None:
    path = labelled(lambda row: row | ({"chance": None, "pick": "disagreements"} if row["component"] == 0 else {}))

    said = command("trust", "calibrate", path)

    assert "not used: 60 labels picked on purpose" in " ".join(said.out.split())
    assert "from 120 labels" in command("show").out


def test_labels_that_were_all_picked_end_it_with_the_reason(command, labelled) -> None:
    said = command("trust", "calibrate", labelled(lambda row: row | {"chance": None}))

    assert said.code == 2
    assert "180 picked on purpose" in said.err


def test_many_unusable_lines_make_it_incomplete(command, labelled, tmp_path: Path) -> None:
    path = labelled()
    with path.open("a", encoding="utf-8") as out:
        out.write('{"run": 1}\n' * 40)

    said = command("trust", "calibrate", path)

    assert said.code == 3
    assert "40 of 220 rows can't be used" in said.err


def test_a_cut_in_the_settings_changes_what_evaluate_says(command, labelled, tmp_path: Path) -> None:
    written(tmp_path / "tickets.jsonl", [row(i) for i in range(3)])
    evaluate = ("evaluate", "tickets.jsonl", "--metrics", "groundedness", "--matching", "binary", "--json")
    before = command(*evaluate).json
    (tmp_path / "ragtriage.toml").write_text(
        '[decision_thresholds.supported]\njudge = "embedded"\nyes = 1.0\nno = 1.0\n', encoding="utf-8"
    )

    after = command(*evaluate).json

    assert before["metrics"]["groundedness"]["mean"] == 1.0
    assert after["metrics"]["groundedness"]["mean"] == 0.0
    assert after["run"] != before["run"]


def test_a_run_that_is_not_finished_keeps_nothing(tmp_path: Path) -> None:
    identity = RunIdentity("rows", ("groundedness",))
    with open_store(tmp_path / "store") as store:
        store.begin(identity, input="rows.jsonl", rows=1, judge="embedded")

        with pytest.raises(StoreError, match="run 1 isn't finished"):
            store.add_to_configuration(1, "corrections", {})


CLAIM = re.compile(r"Ticket (\d+) costs")
ROWS = 200
DRAW = random.Random(7)
ODDS = [DRAW.gauss(1.0, 2.0) for _ in range(ROWS)]
TRUE = [DRAW.random() < 1 / (1 + math.exp(-odds)) for odds in ODDS]
"""Of each row's claim, by its number: the log odds that the sources support it, and whether they do."""


def too_sure(heard: Heard) -> Said:
    """A decision model that states three times the log odds, and two more."""
    asked = heard.body
    number = int(CLAIM.findall(json.dumps(asked["state"]))[-1])
    p = 1 / (1 + math.exp(-(3 * ODDS[number] + 2)))
    answers = {
        name: {"type": "noul", "noul": p if "state everything" in one["instructions"] else 0.0}
        for name, one in asked["questions"].items()
    }
    return Said({"model": "kev", "answers": answers, "usage": {"input_tokens": 100, "output_tokens": 2}})


def label_all(folder: Path) -> list[dict[str, Any]]:
    """What `trust label` writes where a person labels every claim of run 1."""
    labels = []
    with open_store(folder / ".ragtriage", create=False) as store:
        for record in store.run().records():
            outcome = record.outcomes["groundedness"]
            assert isinstance(outcome, Score)
            for place, part in enumerate(outcome.parts):
                assert isinstance(part.cell, Verdict)
                labels.append(
                    {"run": "1", "case": record.case.id, "metric": "groundedness", "component": place,
                     "text": part.component.text, "label": TRUE[int(record.case.id[1:])], "verdict": part.cell.value,
                     "score": part.cell.score, "chance": 1.0, "by": "Ana"}
                )  # fmt: skip
    return labels


def test_labels_make_a_curve_and_the_next_run_counts_by_it(command: Callable[..., Any], tmp_path: Path) -> None:
    one_source = {"contexts": ["The office sells tickets."]}
    written(tmp_path / "rows.jsonl", [row(i, **one_source) for i in range(ROWS)])
    with Server(too_sure) as server:
        judge = f"systemone:kev@{server.root}"
        given = ("rows.jsonl", "--judge", judge, "--metrics", "groundedness")
        first = command("evaluate", *given, "--json")
        asked = len(server.heard)
        labels = label_all(tmp_path)
        written(tmp_path / "labels.jsonl", labels)
        calibrated = command("trust", "calibrate", "labels.jsonl", "--write", "ragtriage.toml")
        curve = read_settings(tmp_path / "ragtriage.toml").chance_curves["supported"]
        second = command("evaluate", *given, "--json")
        moved = command("evaluate", *given, "--base-rate", "supported=0.9", "--json")
        refused = command("evaluate", *given, "--base-rate", "answered=0.9")
        again = command("trust", "calibrate", "labels.jsonl", "--json")
        written(tmp_path / "few.jsonl", labels[:49])
        few = command("trust", "calibrate", "few.jsonl")

    assert (first.code, calibrated.code, second.code) == (0, 0, 0), first.err + calibrated.err + second.err
    assert len(server.heard) == asked
    true = sum(TRUE) / ROWS
    means = [one.json["metrics"]["groundedness"]["mean"] for one in (first, second, moved)]
    assert abs(means[0] - true) > 0.1
    assert means[1] == pytest.approx(true, abs=0.03)
    assert means[2] > means[1]
    assert "supported" in re.split(", | and ", first.json["counting"].removeprefix("uncalibrated: "))
    known, _, raw = second.json["counting"].partition(", uncalibrated: ")
    assert known == "supported known from labels"
    assert "supported" not in raw
    assert moved.json["counting"].startswith("supported at 0.9, supported known from labels, uncalibrated: ")
    assert 0 < curve.a < 0.6  # type: ignore[operator]  # a third, held back and clipped
    assert curve.rate == pytest.approx(true, abs=0.0006)
    text = " ".join(calibrated.out.split())
    assert "supported (groundedness): a probability of 0.1 counts as 0." in text
    assert "Where a probability becomes yes or no supported (groundedness): its curve says where yes begins" in text
    assert "of this judge has to be taken out" not in text
    assert refused.code == 2
    assert "--base-rate answered: there is no chance to move" in refused.err
    assert "chance_curves.supported" in again.json["settings"]  # run 1 counts as 1 and 0 still
    assert "too few labels: 49, and a curve takes 50" in " ".join(few.out.split())
