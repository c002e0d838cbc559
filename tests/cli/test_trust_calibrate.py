"""`trust calibrate` and the corrected means in `show` and `report`."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli_rows import row, written
from ragtriage import Component, FakeJudge, Score, Verdict, open_cases, open_store, thresholds_with
from ragtriage.config import read_settings
from ragtriage.core.errors import StoreError
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer
from ragtriage.execution.evaluate_file import evaluate_file
from ragtriage.metrics import metrics_named
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.manifest import RunIdentity

CASES = 60


def answer(question: Question) -> Answer:
    """Three claims a response; the judge believes everything that scores a half, people only from 0.8 on."""
    if question.kind in DECOMPOSITIONS:
        if question.kind != "claims":
            return (Component(question.subject, (0, len(question.subject))),)
        return tuple(Component(text) for text in question.subject.split("; "))
    score = random.Random(question.subject).random()
    return Verdict("yes" if score >= 0.5 else "no", score, max(score, 1 - score))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store with one run, made once."""
    folder = tmp_path_factory.mktemp("judged")
    rows = folder / "rows.jsonl"
    texts = [
        {"id": f"c{i}", "question": "q?", "contexts": ["s"], "answer": "; ".join(f"Claim {k} of {i}" for k in range(3))}
        for i in range(CASES)
    ]
    rows.write_text("".join(json.dumps(row) + "\n" for row in texts), encoding="utf-8")
    config = EvaluationConfig(metrics_named(["groundedness", "answer_f1", "response_precision"]), thresholds_with({}))
    judge = FakeJudge(answer, name="embedded")
    with open_store(folder / ".ragtriage") as store:
        evaluate_file(open_cases(rows), judge, store, config, name="rows.jsonl")
    return folder


@pytest.fixture
def labelled(judged: Path, tmp_path: Path) -> Callable[..., Path]:
    """It for one test, and a file with labels of all its claims; `change` gets each as a row."""
    shutil.copytree(judged, tmp_path, dirs_exist_ok=True)

    def write(change: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda row: row) -> Path:
        found = []
        with open_store(tmp_path / ".ragtriage", create=False) as store:
            for record in store.run().records():
                outcome = record.outcomes["groundedness"]
                assert isinstance(outcome, Score)
                for place, part in enumerate(outcome.parts):
                    cell = part.cell
                    assert isinstance(cell, Verdict)
                    row = change(
                        {"run": "1", "case": record.case.id, "metric": "groundedness", "component": place,
                         "text": part.component.text, "label": (cell.score or 0) >= 0.8, "verdict": cell.value,
                         "score": cell.score, "chance": 1.0, "pick": "random", "by": ""}
                    )  # fmt: skip
                    found += [row] if row else []
        path = tmp_path / "labels.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in found), encoding="utf-8")
        return path

    return write


def test_means_are_corrected_and_shown_everywhere(command, labelled, tmp_path: Path) -> None:
    said = command("trust", "calibrate", labelled())

    assert said.code == 0
    assert "Grounded" in said.out
    assert "180" in said.out
    shown = command("show")
    assert "Grounded: 0." in shown.out
    assert "from 180 labels)" in shown.out
    found = command("show", "--json").json["metrics"]["groundedness"]
    assert found["corrected"]["raw"] == pytest.approx(found["mean"])
    assert found["corrected"]["low"] < found["corrected"]["mean"] < found["corrected"]["high"] < found["mean"]
    command("report", "-o", "report.html")
    assert f"corrected {found['corrected']['mean']:.2f}" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_labels_may_be_given_to_show_and_report_instead(command, labelled, tmp_path: Path) -> None:
    path = labelled()

    assert "corrected" not in command("show").out
    assert "from 180 labels" in command("show", "--labels", path).out
    assert "corrected" not in command("show").out
    assert command("report", "-o", "report.html", "--labels", path).code == 0
    assert "from 180 labels" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_cut_is_fitted_written_and_used(command, labelled, tmp_path: Path) -> None:
    (tmp_path / "ragtriage.toml").write_text("# ours\n[thresholds]\ngroundedness = 0.3  # low\n", encoding="utf-8")

    said = command("trust", "calibrate", labelled(), "--write", "ragtriage.toml", "--json")
    threshold = said.json["decision_thresholds"][0]

    assert said.code == 0
    assert (threshold["kind"], threshold["metrics"], threshold["better"]) == ("supported", ["groundedness"], True)
    assert threshold["threshold"]["yes"] == pytest.approx(0.8, abs=0.03)
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


def test_without_a_file_it_says_what_to_put_in(command, labelled, tmp_path: Path) -> None:
    said = command("trust", "calibrate", labelled())

    assert "[decision_thresholds.supported]" in said.out
    assert not (tmp_path / "ragtriage.toml").exists()


def test_thresholds_are_fitted_where_cases_are_labelled_throughout(command, labelled) -> None:
    found = command("trust", "calibrate", labelled(), "--json", "--threshold", "groundedness=0.3").json["thresholds"]

    assert (found[0]["metric"], found[0]["target"], found[0]["complete"]) == ("groundedness", 0.3, CASES)
    assert found[0]["threshold"]["held_out"] > 0.5


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


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"run": "9"}, "there is no run 9"),
        ({"chance": None}, "180 picked on purpose"),
        ({"text": "another"}, "180 of a component that the run doesn't have like this"),
    ],
)
def test_labels_that_are_all_unfit_end_it_with_the_reason(command, labelled, change, reason: str) -> None:
    said = command("trust", "calibrate", labelled(lambda row: row | change))

    assert said.code == 2
    assert reason in said.err


def test_many_unusable_lines_make_it_incomplete(command, labelled, tmp_path: Path) -> None:
    path = labelled()
    with path.open("a", encoding="utf-8") as out:
        out.write('{"run": 1}\n' * 40)

    said = command("trust", "calibrate", path)

    assert said.code == 3
    assert "40 of 220 rows can't be used" in said.err


def test_it_reads_well_in_eighty_columns(command, labelled, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert max(len(line) for line in command("trust", "calibrate", labelled()).out.splitlines()) <= 80


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
