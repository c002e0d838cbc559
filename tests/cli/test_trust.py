"""`trust`: agreement, self-test, the paper's table, labels, exam and card, where one command needs what another did."""

import io
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_models import Model, chats, judging, same

from cli_rows import row, written
from ragtriage.cli import trust as trust_commands
from ragtriage.trust import exam
from ragtriage.trust.exam import exam_cases
from ragtriage.trust.pair_scoring import RAGAS_FOR, read_table1
from servers import Server

SOURCE = "The day pass costs 12 euros. Dogs travel free of charge on all ferries. Bikes need a ticket of 3 euros."
CLAIMS = [
    ("The day pass costs 12 euros.", 1),
    ("Dogs travel free on ferries.", 1),
    ("A bike needs a ticket.", 1),
    ("The day pass costs 40 euros.", 0),
    ("Horses sleep in the harbour hotel.", 0),
    ("The captain was born in Norway.", 0),
]


def put(rows: Iterable[Any], name: str = "rows.jsonl") -> str:
    text = "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(text, encoding="utf-8")
    return name


def claims() -> list[dict[str, Any]]:
    return [
        {"id": f"c{i}", "group": f"g{i}", "claim": claim, "sources": [SOURCE], "label": label}
        for i, (claim, label) in enumerate(CLAIMS)
    ]


def test_cases_with_a_column_of_labels_hold_a_metric_against_them(command) -> None:
    cases = [
        {"id": f"c{i}", "query": "What holds?", "sources": [SOURCE], "response": claim, "label_groundedness": label}
        for i, (claim, label) in enumerate(CLAIMS)
    ]
    cases.append({"id": "bare", "query": "What holds?", "sources": [SOURCE], "response": "Nothing."})
    found = command("trust", "agreement", put(cases), "--json").json["agreement"]
    assert list(found) == ["groundedness"]
    assert (found["groundedness"]["rows"], found["groundedness"]["groups"]) == (6, 6)
    assert found["groundedness"]["judge"]["AUC"]["value"] > 0.5
    assert found["groundedness"]["judge"]["balanced accuracy"]["n"] == 6

    named = [{"human" if name == "label_groundedness" else name: value for name, value in one.items()} for one in cases]
    again = command("trust", "agreement", put(named), "--json", "--label", "human=groundedness").json["agreement"]
    assert again == found


def test_a_broken_row_costs_itself_only(command) -> None:
    rows = [*claims(), "{", {"id": "x", "claim": "It rains.", "sources": [SOURCE], "label": 7}]
    said = command("trust", "agreement", put([*rows, *({**row, "id": f"d{i}"} for i, row in enumerate(claims() * 3))]))

    assert said.code == 0
    assert "2 of 26 rows can't be used" in said.err
    assert "rows.jsonl, row 8, field 'label': is a number (7): write 0 or 1" in said.err
    assert "24 rows in 6 groups" in said.out


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
    "judge": "embedded",
    "metrics": {
        "groundedness": {
            "agreement": 0.9, "low": 0.8, "high": 1.0, "pairs": 20, "length": 0.5, "overlap": 0.6,
            "failures": [{"query": "a private question"}],
        }
    },
}  # fmt: skip

OTHER = ("--judge", "openai:m", "--base-url", "http://127.0.0.1:9/v1")
"""A judge that is never asked."""


def test_it_gathers_runs_and_given_figures(command, tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(i) for i in range(3)])
    own = {"fingerprints": command("trust", "card", "--json").json["fingerprints"]}
    (tmp_path / "agreement.json").write_text(json.dumps(AGREEMENT | own), encoding="utf-8")
    (tmp_path / "test.json").write_text(json.dumps(SELF_TEST | own), encoding="utf-8")
    command("evaluate", "rows.jsonl", "--metrics", "groundedness", "--repeat", "2")

    said = command("trust", "card", "-o", "card.md", "--agreement", "agreement.json", "--self-test", "test.json")
    text = (tmp_path / "card.md").read_text(encoding="utf-8")
    card = json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))

    assert said.code == 0
    assert "| mine | 120 | auc | 0.81 (0.75–0.87) | 0.66 (0.60–0.70) | 0.5 |" in text
    assert "| groundedness | 20 | 0.9 (0.80–1.00) | 0.5 | 0.6 |" in text
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


@pytest.fixture
def few_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    """A case of every eighth, which is enough to see how an exam goes."""
    few = exam_cases()[::8]
    for module in (trust_commands, exam):
        monkeypatch.setattr(module, "exam_cases", lambda: few)


def test_the_embedded_judge_sits_it_for_nothing_and_its_card_takes_it(command, few_cases: None) -> None:
    said = command("trust", "exam", "--json")
    (found,) = said.json["judges"]

    assert said.code == 0
    assert said.json["cases"] == said.json["faulty"] + said.json["sound"] == 16
    assert (found["named"]["n"], found["blamed"]["n"]) == (said.json["faulty"], said.json["sound"])
    assert found["blamed"]["value"] <= 0.2
    assert found["claims"]["judge"]["AUC"]["value"] > 0.6
    assert (found["cost"], found["requests"], found["failed"], found["stopped"]) == (0.0, 0, 0, None)

    Path("exam.json").write_text(said.out, encoding="utf-8")
    card = command("trust", "card", "-o", "card.md", "--exam", "exam.json")
    other = command("trust", "card", "--exam", "exam.json", *OTHER)
    text = Path("card.md").read_text(encoding="utf-8")

    assert card.code == 0
    assert f"| faults named | {found['named']['n']} | {found['named']['value']:.3g} (" in text
    assert "| named: " in text
    assert "-id" not in Path("card.json").read_text(encoding="utf-8"), "a card holds no cases"
    assert other.code == 2
    assert "the exam holds no figures of openai:m with its present settings, but of embedded" in other.err


def test_a_model_that_was_stopped_goes_on_and_pays_nothing_twice(command, openai, few_cases: None) -> None:
    with Server(Model()) as server:
        flags = ("trust", "exam", *judging(server, "--judge", "openai:n"))
        stopped = command(*flags, "--max-requests", "9")
        before = len(chats(server.heard))
        kept = command(*flags, "--max-requests", "9", "--json")
        one = command("trust", "exam", *judging(server), "--json")
        asked = [same(body) for body in chats(server.heard) if body["model"] == "m"]
        shown = command("trust", "exam", *judging(server))
        after = len(chats(server.heard))

    assert stopped.code == 3
    assert 0 < before <= 9, "one budget for all judges"
    assert "stopped after 9 requests" in stopped.out
    assert kept.code == 3
    assert [entry["stopped"] is None for entry in kept.json["judges"]] == [False, False]
    assert "named" not in kept.json["judges"][0], "a part isn't held against the whole"
    assert one.code == 0
    (found,) = one.json["judges"]
    assert len(asked) == len(set(asked))
    assert found["cost"] is None, "its price isn't known"
    assert found["tokens_in"] > 0
    assert after == len(asked), "all was remembered, and the second judge had no budget left"
    assert max(map(len, shown.out.splitlines())) <= 80


CASES = [
    {"id": f"q{i}", "query": "What does a day pass cost?", "sources": ["A day pass costs 12 euros."], "response": said}
    for i, said in enumerate(["A day pass costs 12 euros.", "Horses sleep in the harbour hotel.", "It costs 12 euros."])
]


@pytest.fixture
def keys(command, monkeypatch: pytest.MonkeyPatch) -> object:
    """A function of what is typed and of arguments: the command over a run of three cases."""
    Path("answers.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES), encoding="utf-8")
    assert command("evaluate", "answers.jsonl", "--metrics", "groundedness,self_distinctness").code == 0

    def run(typed: str, *arguments: object):
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        return command("trust", "label", *arguments)

    return run


def labels(path: str = "labels.jsonl") -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


class Interrupted(io.StringIO):
    """Standard input on which Ctrl-C is pressed once what was typed is read."""

    def __init__(self, lines: Iterator[str]) -> None:
        super().__init__()
        self._lines = lines

    def readline(self, size: int = -1) -> str:  # as the class has it
        """The next line that was typed."""
        for line in self._lines:
            return line
        raise KeyboardInterrupt


def test_ctrl_c_loses_nothing(keys, command, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", Interrupted(iter(["n\n"])))
    said = command("trust", "label", "--n", 3)

    assert (said.code, len(labels())) == (3, 1)
    assert "2 of 3 are left" in said.out


def test_a_smaller_n_changes_no_label_and_another_draw_is_refused(keys) -> None:
    assert keys("y\ny\n", "--n", 2).code == 0
    before = Path("labels.jsonl").read_bytes()
    assert keys("", "--n", 1).code == 0

    for further in (("--seed", 1), ("--metric", "all")):
        said = keys("", "--n", 3, *further)
        assert said.code == 2
        assert "use the same --metric and --seed, or name another file with -o" in said.err
    assert Path("labels.jsonl").read_bytes() == before
    assert keys("y\n", "--n", 1, "--metric", "self_distinctness").code == 0


def test_several_metrics_are_told_apart(keys) -> None:
    said = keys("y\n" * 6, "--n", 6, "--metric", "all")

    assert said.code == 0
    assert "Does it say something that no other sentence says?" in said.out
    told = said.out.split("You and the judge")[1]
    assert {"Grounded", "No"} <= {line.split(" ")[0] for line in told.splitlines() if line.strip()}


TESTED: list[dict[str, Any]] = [
    {
        "id": "pier",
        "query": "When did the Wexley pier open, and who designed its lamps?",
        "sources": [
            "The Wexley pier opened on 12 May 1901. Its lamps were designed by Ada Finch. Anglers pay nothing."
        ],
        "response": "The Wexley pier opened on 12 May 1901. Its lamps were designed by Ada Finch.",
    },
    {
        "id": "bread",
        "query": "How long does rye dough rise, and at which temperature is it baked?",
        "sources": ["Rye dough rises for 14 hours. It is baked at a temperature of 240 degrees. Salt slows the yeast."],
        "response": "Rye dough rises for 14 hours. It is baked at a temperature of 240 degrees.",
    },
    {"id": "empty", "query": "Who rows?", "sources": ["Mara rows."], "response": None},
]


def test_with_a_model_the_same_command_goes_on_and_pays_nothing_twice(command, openai) -> None:
    with Server(Model()) as server:
        flags = ("trust", "test", put(TESTED), "--json", *judging(server))
        stopped = command(*flags, "--max-requests", "9")
        before = len(chats(server.heard))
        whole = command(*flags)
        asked = [same(body) for body in chats(server.heard)]
        again = command(*flags)
        after = len(chats(server.heard))

    assert (stopped.code, stopped.out) == (3, "")
    assert 0 < before <= 9
    assert f"spent: {before} requests" in stopped.err
    assert "spent:" not in again.err
    assert whole.code == 0
    assert len(whole.json["metrics"]) == 7
    assert len(asked) == len(set(asked)) == after
    assert again.json == whole.json


PIER = "The pier opened in 1901. It is 240 metres long."


def pair(name: str, metric: str, better: dict[str, Any], worse: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "metric": metric, "query": "When did the pier open?", "better": better, "worse": worse}


def version(response: str, *sources: str) -> dict[str, Any]:
    return {"sources": list(sources or (PIER,)), "response": response}


OPENED = "The pier opened in 1901."
PAIRS = [
    pair("a", "SP1", version(OPENED), version(OPENED, PIER, "Bakers get up early to knead their dough.")),
    pair("b", "SD", version(OPENED), version(f"{OPENED} {OPENED}")),
]


def test_a_broken_row_is_named_and_the_others_count(command) -> None:
    said = command("trust", "table1", "--data", put([*PAIRS, {**PAIRS[0], "metric": "SP9"}, "{"], "pairs.jsonl"))

    assert "row 3, field 'metric': 'SP9' is no metric: use one of SP1," in said.err
    assert "2 of 4 rows can't be used" in said.err
    assert said.code == 3
    assert "\nSP1 " in said.out


def test_a_folder_is_read_as_a_whole(command) -> None:
    put(PAIRS[:1], "folder/a.jsonl")
    put(PAIRS[1:], "folder/b.jsonl")

    assert list(command("trust", "table1", "--data", "folder", "--json").json["rows"]) == ["SP1", "SD"]


def test_our_own_pairs_cover_the_table_with_twenty_queries_or_more() -> None:
    pairs, rejected = read_table1()

    assert rejected == []
    assert len({pair.group for pair in pairs}) >= 20
    for name in RAGAS_FOR:
        assert sum(pair.metric == name for pair in pairs) >= 20, name
