"""From a decision model's run over labels to its curve in the settings, and to the next run that counts by it."""

import json
import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli_rows import row, written
from ragtriage import Score, Verdict, open_store
from ragtriage.config import read_settings
from servers import Heard, Said, Server

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
                     "score": part.cell.score, "chance": 1.0, "pick": "random", "by": "Ana"}
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
    assert "A table [decision_thresholds.supported] of this judge was taken out, if there was one" in text
    assert refused.code == 2
    assert "--base-rate answered: there is no chance to move" in refused.err
    assert "chance_curves.supported" in again.json["settings"]  # run 1 counts as 1 and 0 still
    assert "too few labels: 49, and a curve takes 50" in " ".join(few.out.split())


def test_a_curve_of_another_version_or_a_base_rate_without_one_ends_with_2(tmp_path: Path, command) -> None:
    written(tmp_path / "rows.jsonl", [row(0)])
    given = ("evaluate", "rows.jsonl", "--judge", "systemone:kev@http://127.0.0.1:1", "--metrics", "groundedness")
    name = "embedded+decide:systemone:kev@http://127.0.0.1:1"
    settings = tmp_path / "ragtriage.toml"

    settings.write_text(f'[chance_curves.supported]\njudge = "{name}"\nfingerprint = "decide:old"\na = 1\nb = 0\n')
    other = command(*given)
    settings.write_text("[base_rates]\nsupported = 0.9\n")
    rate = command(*given)
    settings.write_text('[label_chances.supported]\njudge = "openai:m"\nyes = 0.97\nno = 0.12\n')
    old = command(*given)

    assert (other.code, rate.code, old.code) == (2, 2, 2)
    assert f"[chance_curves.supported] was fitted for {name} as decide:old, and it is decide:" in other.err
    assert "the base rate of supported moves calibrated chances" in rate.err
    assert "points = [[0, 0.12], [1, 0.97]]" in old.err
