"""Metrics that need more than query, sources and response, through the console script, with the embedded judge."""

import json
from pathlib import Path

import pytest

from cli_rows import row, written

RICH = {
    "contexts": [{"id": "a", "text": "Ticket 1 costs 4 euros."}, {"id": "b", "text": "The office sells tickets."}],
    "reference": "It costs 4 euros.",
    "samples": ["4 euros.", "Ticket 1 costs 4 euros."],
    "relevant_ids": ["b", "c"],
}


@pytest.fixture
def rich(tmp_path: Path) -> Path:
    return written(tmp_path / "rich.jsonl", [row(1, **RICH), row(2, **RICH), row(3)])


def test_what_the_rows_carry_is_computed_and_said(command, rich: Path) -> None:
    said = command("evaluate", rich.name, "--json", "--fail-below", "retrieval_mrr=0.5")

    assert said.code == 0
    assert said.json["metrics"]["answer_f1"]["undefined"] == {"the case has no reference": 1}
    assert (
        "note: computed too, where a row has what they need: answer_precision, answer_recall, answer_f1, "
        "context_recall, self_consistency, sample_agreement, retrieval_precision, retrieval_recall, retrieval_mrr, "
        "retrieval_ndcg (not with --metrics thelma); further metrics can be computed of a reference (2): "
        "--metrics thelma,reference,samples,retrieval,generator\n"
    ) in said.err
    assert said.err.count("note: ") == 1
    assert command("plan", rich.name, "--json").err.count("note: ") == 1
    for named in ("thelma", "retrieval"):
        assert "note: " not in command("evaluate", rich.name, "--json", "--metrics", named).err


def test_nothing_that_costs_money_is_computed_unasked(command, rich: Path) -> None:
    said = command("plan", rich.name, "--judge", "openai:gpt-5-mini", "--base-url", "http://127.0.0.1:9", "--json")

    assert "note: computed too, where a row has what they need: retrieval_precision, retrieval_recall" in said.err
    assert (
        "; further metrics can be computed of a reference (2), samples of the response (2): "
        "--metrics thelma,retrieval,generator,reference,samples\n"
    ) in said.err
    assert said.json["most"] == command(
        "plan", rich.name, "--judge", "openai:gpt-5-mini", "--base-url", "http://127.0.0.1:9", "--json",
        "--metrics", "thelma",
    ).json["most"]  # fmt: skip


def test_all_metrics_in_one_run(command, rich: Path) -> None:
    said = command("evaluate", rich.name, "--json", "--metrics", "all")

    assert said.code == 0
    found = said.json["metrics"]
    assert found["retrieval_recall"]["mean"] == 0.5
    assert found["retrieval_mrr"]["mean"] == 0.5
    assert found["answer_f1"]["undefined"] == {"the case has no reference": 1}
    assert found["query_similarity"]["undefined"] == {"the embedded judge can't write questions": 3}
    assert found["hallucination"]["better"] == "lower"
    assert found["hallucination"]["mean"] + found["groundedness"]["mean"] == pytest.approx(1)
    assert not [name for name, numbers in found.items() if numbers["failed"]]
    shown = command("show", "last").out
    assert "Misled by irrelevant sources ↓" in shown
    assert command("show", "last", "r1").code == 0


def test_metrics_with_a_value_are_stored_and_shown_under_their_name(command, rich: Path, tmp_path: Path) -> None:
    chosen = "retrieval_recall(k=1),retrieval_recall,self_distinctness(threshold=none)"
    assert command("evaluate", rich.name, "--json", "--metrics", chosen).code == 0

    assert command("export", "last", "-o", "out.jsonl").code == 0
    scores = json.loads((tmp_path / "out.jsonl").read_text("utf-8").splitlines()[0])["scores"]
    assert scores == {
        "retrieval_recall": 0.5, "retrieval_recall(k=1)": 0.0, "self_distinctness(threshold=none)": 1.0
    }  # fmt: skip
    assert "Relevant ones retrieved (1)" in command("show", "last").out


def test_a_mean_above_its_gate_exits_with_1_where_lower_is_better(command, rich: Path) -> None:
    wrong = written(rich.with_name("wrong.jsonl"), [row(1, answer="The moon is made of cheese.")])
    args = ("--json", "--metrics", "hallucination", "--matching", "binary")

    failed = command("evaluate", wrong.name, *args, "--fail-above", "hallucination=0.2")
    passed = command("evaluate", wrong.name, *args, "--fail-above", "hallucination=1")
    refused = command("evaluate", wrong.name, *args, "--fail-below", "hallucination=0.2")

    assert (failed.code, passed.code, refused.code) == (1, 0, 2)
    assert "gate failed: mean hallucination is 1.000, at most 0.2 was asked for" in failed.err
    assert "write --fail-above hallucination=0.2" in refused.err


def test_a_gate_may_use_another_name_and_a_value(command, rich: Path) -> None:
    said = command(
        "evaluate", rich.name, "--json", "--metrics", "faithfulness,retrieval_recall(k=1)",
        "--fail-below", "faithfulness=0.1", "--fail-below", "retrieval_recall(k=1)=0.5",
    )  # fmt: skip

    assert said.code == 1
    assert "gate failed: mean retrieval_recall(k=1) is 0.000" in said.err
    assert list(said.json["metrics"]) == ["groundedness", "retrieval_recall(k=1)"]


def test_what_is_computed_under_another_name_is_said_once(command, rich: Path) -> None:
    note = "faithfulness is computed as groundedness: the same formula, supported claims divided by all claims"

    said = command("evaluate", rich.name, "--json", "--metrics", "faithfulness")
    assert said.err.count(note) == 1
    assert (said.json["notes"], list(said.json["metrics"])) == ([note], ["groundedness"])
    planned = command("plan", rich.name, "--metrics", "faithfulness,fact_precision")
    assert planned.err.count(note) == 1
    assert note in command("plan", rich.name, "--json", "--metrics", "faithfulness").json["notes"]
    own = command("evaluate", rich.name, "--json", "--metrics", "groundedness,-faithfulness,fact_precision")
    assert "faithfulness" not in own.err
    assert "notes" not in own.json


def test_without_a_response_the_notes_agree(command, tmp_path: Path) -> None:
    path = written(tmp_path / "sources.jsonl", [{"question": "When?", "contexts": ["At 9."], "reference": "At 9."}])

    notes = [line for line in command("evaluate", path.name, "--json").err.splitlines() if "note: " in line]
    assert len(notes) == 2
    assert notes[0].startswith("  note: no column holds the response: the scores that need one are undefined.")
    assert notes[1].startswith("note: computed too, where a row has what they need: answer_precision, ")
