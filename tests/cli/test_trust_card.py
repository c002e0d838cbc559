"""`trust card`: what is known of a judge, what isn't, and a report that carries it."""

import json
from pathlib import Path

from cli_rows import row, written

AGREEMENT = {
    "judge": "embedded",
    "rejected": 0,
    "agreement": {
        "mine": {
            "scale": "yes or no", "rows": 120, "groups": 40, "main": "auc",
            "judge": {"auc": {"value": 0.81, "low": 0.75, "high": 0.87, "n": 120}},
            "overlap": {"auc": {"value": 0.66, "low": 0.6, "high": 0.7, "n": 120}},
            "length": {"auc": {"value": 0.5, "low": None, "high": None, "n": 120}},
        }
    },
}  # fmt: skip
SELF_TEST = {
    "judge": "openai:m",
    "metrics": {
        "groundedness": {
            "agreement": 0.9, "low": 0.8, "high": 1.0, "pairs": 20, "length": 0.5, "overlap": 0.6,
            "failures": [{"query": "a private question"}],
        }
    },
}  # fmt: skip

OTHER = ("--judge", "openai:m", "--base-url", "http://127.0.0.1:9/v1")
"""A judge that is never asked."""


def test_what_is_not_known_is_said(command) -> None:
    said = command("trust", "card")

    assert said.code == 0
    assert said.out.startswith("# Judge card: embedded\n")
    assert said.out.count("Unknown: ") == 6
    assert "It can't answer holds" in said.out


def test_it_gathers_runs_and_given_figures(command, tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(i) for i in range(3)])
    (tmp_path / "agreement.json").write_text(json.dumps(AGREEMENT), encoding="utf-8")
    (tmp_path / "test.json").write_text(json.dumps(SELF_TEST), encoding="utf-8")
    command("evaluate", "rows.jsonl", "--metrics", "groundedness", "--repeat", "2")

    said = command("trust", "card", "-o", "card.md", "--agreement", "agreement.json", "--self-test", "test.json")
    text = (tmp_path / "card.md").read_text(encoding="utf-8")
    card = json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))

    assert said.code == 0
    assert "| mine | 120 | auc | 0.81 (0.75–0.87) | 0.66 (0.60–0.70) | 0.5 |" in text
    assert "| groundedness | 20 | 0.9 (0.80–1.00) | 0.5 | 0.6 |" in text
    assert "By its file, of openai:m. It holds no fingerprint" in text
    assert "6 cases in 2 runs" in text
    assert card["repeatability"]["trials"] == 2
    assert text.count("Unknown: ") == 2
    assert "private" not in text + json.dumps(card)


def test_figures_of_another_judge_are_refused(command, tmp_path: Path) -> None:
    lines = [
        {"id": str(i), "claim": f"It is {i}.", "sources": [f"It is {i + i % 2}."], "label": 1 - i % 2} for i in range(4)
    ]
    written(tmp_path / "rows.jsonl", [row(i) for i in range(3)])
    written(tmp_path / "lines.jsonl", lines)
    (tmp_path / "test.json").write_text(command("trust", "test", "rows.jsonl", "--json").out, encoding="utf-8")
    (tmp_path / "agr.json").write_text(
        command("trust", "agreement", "lines.jsonl", "--task", "supported", "--json").out, encoding="utf-8"
    )

    own = command("trust", "card", "--self-test", "test.json", "--agreement", "agr.json")
    for flag, file in (("--self-test", "test.json"), ("--agreement", "agr.json")):
        other = command("trust", "card", *OTHER, flag, file)

        assert (other.code, other.out) == (2, "")
        assert "these figures are another judge's (" in other.err
    assert own.code == 0
    assert own.out.count("Of this very judge, by its fingerprints.") == 2


def test_runs_of_another_judge_are_left_out(command, tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(0)])
    command("evaluate", "rows.jsonl", "--metrics", "groundedness")

    assert command("trust", "card", "--json").json["use"]["cases"] == 1
    assert command("trust", "card", "--json", *OTHER).json["use"] is None


def test_a_report_carries_the_card_of_its_own_judge(command, tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(0)])
    command("evaluate", "rows.jsonl", "--metrics", "groundedness")
    command("trust", "card", "-o", "own.md")
    command("trust", "card", "-o", "other.md", *OTHER)

    assert command("report", "-o", "own.html", "--judge-card", "own.json").code == 0
    other = command("report", "-o", "other.html", "--judge-card", "other.json")

    page = (tmp_path / "own.html").read_text(encoding="utf-8")
    assert "The judge: embedded" in page
    assert "Fingerprint by kind of question" in page
    assert other.code == 2
    assert "is the card of another judge" in other.err
    assert not (tmp_path / "other.html").exists()


def test_a_report_without_a_card_has_no_section_for_it(command, tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(0)])
    command("evaluate", "rows.jsonl", "--metrics", "groundedness", "--report", "report.html")

    assert "Fingerprint by kind" not in (tmp_path / "report.html").read_text(encoding="utf-8")
