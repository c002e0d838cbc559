"""What is said of a run: kept with it, shown with it, and found out quickly or not at all."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from cli_rows import row, written
from compared_runs import ScriptedJudge
from ragtriage import RULES, FakeJudge, open_cases, open_store, thresholds_with
from ragtriage.core.errors import Stopped
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer
from ragtriage.diagnosis.rules import Costs
from ragtriage.execution.evaluate_file import evaluate_file
from ragtriage.metrics import metrics_named
from ragtriage.runs.evaluation_config import EvaluationConfig, config_of, to_stored
from ragtriage.runs.manifest import RunIdentity
from ragtriage.runs.run import ABOUT, NOTHING_SAID, About, RunInfo, commit_in
from ragtriage.runs.selection import ALL_ROWS

CONFIG = EvaluationConfig(metrics_named(["groundedness"]), thresholds_with({}))


def git(folder: Path, *command: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *command], cwd=folder, check=True, capture_output=True
    )


def test_the_commit_is_that_of_the_folder_and_says_whether_files_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert commit_in(tmp_path) == ""
    git(tmp_path, "init", "-q")
    assert commit_in(tmp_path) == ""  # no commit yet
    (tmp_path / "app.py").write_text("1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    git(tmp_path, "tag", "v1")
    (tmp_path / "untracked").write_text("1")
    clean = commit_in(tmp_path)
    assert len(clean) == 10
    assert set(clean) <= set("0123456789abcdef")
    (tmp_path / "app.py").write_text("22")
    assert commit_in(tmp_path) == f"{clean}+"
    monkeypatch.setenv("PATH", str(tmp_path))  # there is no git
    assert commit_in(tmp_path) == commit_in(tmp_path / "none") == ""


def test_what_a_later_version_says_is_passed_over() -> None:
    assert About.of({ABOUT: {"name": "a", "colour": "red"}}) == About("a")
    assert NOTHING_SAID.stored() == {}


def test_a_run_keeps_its_name_when_it_is_continued_and_a_new_one_goes_first(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", [row(0), row(1)])
    asked = 0

    def stops(question: Question) -> Answer:
        nonlocal asked
        asked += 1
        if asked > 1:
            raise Stopped("that is enough")
        return ScriptedJudge()._answer(question)  # the same judge

    with open_store(tmp_path / "store") as store:
        first = About("first", "a note", "1a2b3c4d5e")
        begun = evaluate_file(open_cases(path), FakeJudge(stops), store, CONFIG, about=first)
        assert begun.first.stopped
        ended = evaluate_file(open_cases(path), FakeJudge(stops), store, CONFIG, about=About("second", "", "99+"))
        assert ended.first.stored.number == begun.first.stored.number
        assert ended.first.stored.info.about == About("second", "a note", "1a2b3c4d5e")
        assert ended.first.stored.info.identity == begun.first.stored.info.identity


OWN = replace(RULES[0], name="own", origin="yours")


def stored(folder: Path, configuration: dict[str, object]) -> RunInfo:
    with open_store(folder) as store:
        identity = RunIdentity("rows", ("groundedness",))
        store.begin(identity, input="rows.jsonl", rows=0, judge="fake", configuration=configuration).finish()
        return store.run().info


def test_rules_and_costs_of_ones_own_come_back(tmp_path: Path) -> None:
    given = EvaluationConfig(metrics_named(["groundedness"]), thresholds_with({}), (*RULES, OWN), Costs(4.0, 1.0))
    found = config_of(stored(tmp_path / "now", to_stored(given, ALL_ROWS, {})))
    assert (found.rules[-1].name, found.rules[-1].when, found.costs) == ("own", OWN.when, Costs(4.0, 1.0))
