"""The documented metric of one's own, through every command, also when its file is gone; what is computed unasked."""

import csv
import json
import re
from pathlib import Path

import pytest
from cli_models import Model, chats, judging, kinds_in

from cli_rows import row, written
from ragtriage import open_store
from ragtriage.core.verdicts import Score
from servers import Server

PAGE = Path(__file__).parents[2] / "docs" / "own-metrics.md"
BOTH = "groundedness,my_metrics.py:usefulness"
COUNTED = ("--matching", "binary")
"""So that scores are shares that a person counts."""
CRITERION = '''
from ragtriage import Decompose, Match, metric, share

POLITE = Match(Decompose("response", "whole"), "holds", "criterion", criterion="The response is polite.")


@metric(title="Polite", fault="impolite", polite=POLITE)
def politeness(polite):
    """Whether it is polite."""
    return share(polite.components, polite.best())
'''

LOWER = '''
from ragtriage import Decompose, Match, metric, share_of_faults

NEEDED = Match(Decompose("response", "claims"), "essential", "query")


@metric(title="Padding", better="lower", fault="nobody asked for it", needed=NEEDED)
def padding(needed):
    """The share of claims that nobody asked for."""
    return share_of_faults(needed.components, needed.best())
'''


def example() -> str:
    """The file of the page, to the letter."""
    return PAGE.read_text(encoding="utf-8").split("<!-- file: my_metrics.py -->\n```python\n")[1].split("```")[0]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    (tmp_path / "my_metrics.py").write_text(example(), encoding="utf-8")
    unsupported = row(1, answer="Ticket 1 costs 4 euros. Elephants like ticket 1.")
    return written(tmp_path / "rows.jsonl", [row(0), unsupported, row(2, answer=None)])


def test_the_example_has_fifteen_lines_at_most_and_public_names_only() -> None:
    assert len(example().splitlines()) <= 15
    assert re.findall(r"^(?:from|import) (\S+)", example(), re.MULTILINE) == ["ragtriage"]


def test_a_stored_run_shows_it_also_when_the_file_is_gone(command, rows: Path) -> None:
    said = command("evaluate", rows.name, *COUNTED, "--metrics", BOTH)
    before = command("show", 1).out
    Path("my_metrics.py").unlink()

    assert said.code == 0
    assert "\nUseful " in said.out
    assert command("show", 1).out == before
    assert "\nUseful " in before
    case = " ".join(command("show", 1, "r1").out.split())
    assert "What further scores found Useful: not supported, or not needed “Elephants like ticket 1.”" in case
    assert command("report", 1, "-o", "report.html").code == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert "<h3>Useful</h3>" in page
    assert "The share of claims that the sources support and the question asks for." in page
    assert '<strong>Useful</strong> <span class="note">not supported, or not needed</span>' in page
    command("export", 1, "-o", "rows.csv")
    with Path("rows.csv").open(encoding="utf-8", newline="") as lines:
        assert [line["usefulness"] for line in csv.DictReader(lines)] == ["1.0", "0.5", ""]
    assert "Useful 0.9" in command("show", 1, "--threshold", "usefulness=0.9").out
    with open_store() as store:
        record = store.run("last").record("r1")
    outcome = record.outcomes["usefulness"]
    assert isinstance(outcome, Score)
    assert [(part.component.text, part.good) for part in outcome.parts] == [
        ("Ticket 1 costs 4 euros.", True), ("Elephants like ticket 1.", False)
    ]  # fmt: skip
    assert not [step for step in record.steps if step.startswith("parts of")]


def test_one_of_which_lower_is_better_is_so_everywhere(command, rows: Path, tmp_path: Path) -> None:
    (tmp_path / "lower.py").write_text(LOWER, encoding="utf-8")
    (tmp_path / "ragtriage.toml").write_text(
        'metrics = ["groundedness", "lower.py:padding"]\n[thresholds]\npadding = 0.2\n[fail_above]\npadding = 0.1\n'
        '[[rules]]\nname = "padded"\nkind = "quality"\ncomponent = "prompt"\nreading = "it says too much"\n'
        'when = { padding = "high" }\n',
        encoding="utf-8",
    )
    said = command("evaluate", rows.name, *COUNTED, "--repeat", 2)
    loose = command("evaluate", rows.name, *COUNTED, "--fail-above", "padding=0.9")
    (tmp_path / "lower.py").unlink()

    assert (said.code, loose.code) == (1, 0)
    assert "gate failed: mean padding is 0.250, at most 0.1 was asked for" in said.err
    assert len(re.findall(r"^Padding ↓", said.out, re.MULTILINE)) == 2  # also where the trials are compared
    case = command("show", 1, "r1").out
    assert re.search(r"Padding ↓ +0\.50 .*high, above 0\.2", case)
    assert "it says too much\n" in case
    assert "“Elephants like ticket 1.” nobody asked for it" in " ".join(case.split())
    assert command("report", 1, "-o", "report.html").code == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert '<th scope="row" dir="auto">Padding ↓</th>' in page
    assert command("show", 1, "--json").json["repeats"]["metrics"]["padding"]["better"] == "lower"


def test_the_same_file_goes_on_and_a_changed_one_begins_anew(command, rows: Path) -> None:
    flags = ("evaluate", rows.name, *COUNTED, "--metrics", BOTH, "--limit", 2, "--json")
    command(*flags)
    command(*flags)
    file = Path("my_metrics.py")
    file.write_text(example().replace("cells)", "cells[:1])").replace("support.components,", "support.components[:1],"))
    said = command(*flags)

    with open_store() as store:
        changed, same, first = (info.identity for info in store.runs())
    assert first == same != changed
    assert said.json["metrics"]["usefulness"]["mean"] == 1.0


def test_the_settings_name_it_with_threshold_gate_and_rule(command, rows: Path, tmp_path: Path) -> None:
    settings = PAGE.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    (tmp_path / "ragtriage.toml").write_text(settings.replace("0.7", "0.99").replace("0.6", "0.8"), encoding="utf-8")
    said = command("evaluate", rows.name, *COUNTED)
    found = command("export", "last", "-o", "rows.jsonl.out.jsonl")

    assert said.code == 1
    assert "gate failed: mean usefulness is 0.750" in said.err
    assert found.code == 0
    lines = Path("rows.jsonl.out.jsonl").read_text(encoding="utf-8").splitlines()
    findings = {one["id"]: one["findings"] for one in map(json.loads, lines)}
    (mine,) = [finding for finding in findings["r1"] if finding["rule"] == "beside_the_point"]
    assert [(e["metric"], e["text"], e["fault"]) for e in mine["evidence"]] == [
        ("usefulness", "Elephants like ticket 1.", "not supported, or not needed")
    ]
    assert "beside_the_point" not in [finding["rule"] for finding in findings["r0"]]


def test_files_in_the_settings_lie_beside_them(command, rows: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "ragtriage.toml").write_text('metrics = ["my_metrics.py:usefulness"]', encoding="utf-8")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")

    assert list(command("evaluate", f"../{rows.name}", "--json").json["metrics"]) == ["usefulness"]


def test_showing_runs_does_not_run_the_file(command, rows: Path, tmp_path: Path) -> None:
    command("evaluate", rows.name, *COUNTED, "--metrics", BOTH)
    (tmp_path / "my_metrics.py").write_text("raise SystemExit('it was run')", encoding="utf-8")
    (tmp_path / "ragtriage.toml").write_text('metrics = ["my_metrics.py:usefulness"]', encoding="utf-8")

    assert [command(*words).code for words in (("show",), ("runs",), ("report",))] == [0, 0, 0]
    assert "my_metrics.py, line 1: SystemExit: it was run" in command("evaluate", rows.name).err


def test_a_metric_that_raises_fails_by_itself_and_says_where(command, rows: Path) -> None:
    file = Path("my_metrics.py")
    file.write_text(example().replace("    both =", "    1 / 0\n    both ="), encoding="utf-8")
    said = command("evaluate", rows.name, "--metrics", BOTH)

    assert said.code == 3
    text = " ".join(said.out.split())
    assert "Failed: Useful 2 cases: the metric usefulness failed (my_metrics.py, line 11): ZeroDivisionError" in text
    assert re.search(r"Grounded [01]\.\d\d", text)


def test_another_tools_name_is_answered_as_the_page_says(command, rows: Path) -> None:
    shown = PAGE.read_text(encoding="utf-8").split("<!-- output: another tool's name -->\n```\n")[1].split("\n```")[0]
    said = command("evaluate", rows.name, "--metrics", "ContextualPrecisionMetric")

    assert said.code == 2
    assert shown in said.err


def test_a_model_is_asked_by_a_criterion_in_a_request_that_is_sent_anyway(command, rows: Path) -> None:
    Path("polite.py").write_text(CRITERION, encoding="utf-8")
    with Server(Model()) as server:
        args = (rows.name, "--metrics", "thelma,polite.py:politeness", *judging(server))
        without = command("plan", rows.name, *judging(server), "--json").json
        planned = command("plan", *args, "--json").json
        said = command("evaluate", *args, "--json")

    assert said.code == 0
    assert planned["questions"]["holds"] == 2
    assert planned["most"]["requests"] == without["most"]["requests"]
    assert said.json["metrics"]["politeness"]["n"] == 2
    asked = [body for body in chats(server.heard) if kinds_in(body)["holds"]]
    assert len(asked) == 2
    assert all('holds: "The response is polite."' in body["messages"][1]["content"] for body in asked)


def test_the_embedded_judge_says_that_it_knows_no_criteria(command, rows: Path) -> None:
    Path("polite.py").write_text(CRITERION, encoding="utf-8")
    said = command("evaluate", rows.name, "--metrics", "self_distinctness,polite.py:politeness", "--json")

    assert said.code == 0
    assert said.json["metrics"]["politeness"]["undefined"] == {
        "the embedded judge can't judge by criteria of your own": 2, "no response was given": 1
    }  # fmt: skip


def test_nothing_that_costs_money_is_computed_unasked(command, tmp_path: Path) -> None:
    rich = {
        "contexts": [{"id": "a", "text": "Ticket 1 costs 4 euros."}, {"id": "b", "text": "The office sells tickets."}],
        "reference": "It costs 4 euros.",
        "samples": ["4 euros.", "Ticket 1 costs 4 euros."],
        "relevant_ids": ["b", "c"],
    }
    written(tmp_path / "rich.jsonl", [row(1, **rich), row(2, **rich), row(3)])
    plan = ("plan", "rich.jsonl", "--judge", "openai:gpt-5-mini", "--base-url", "http://127.0.0.1:9", "--json")
    said = command(*plan)

    assert "note: computed too, where a row has what they need: retrieval_precision, retrieval_recall" in said.err
    assert (
        "; further metrics can be computed of a reference (2), samples of the response (2): "
        "--metrics thelma,retrieval,generator,reference,samples\n"
    ) in said.err
    assert said.json["most"] == command(*plan, "--metrics", "thelma").json["most"]
