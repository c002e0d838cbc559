"""`--protocol paper` as a command, against a server that answers in the paper's forms."""

import json
from pathlib import Path
from typing import Any

import pytest
from cli_models import Model, judging

from servers import Heard, Said, Server, chat

pytestmark = pytest.mark.usefixtures("openai")


class Paper:
    """Answers the paper's modules; everything else as `Model` does."""

    def __init__(self) -> None:
        self.model = Model()
        self.asked: list[str] = []

    def __call__(self, heard: Heard) -> Said:
        """The answer to a request."""
        said = heard.body["messages"][-1]["content"]
        begins = {
            "Please extract claims": "- The pier opened in 1901.\n- It is 240 metres long.",
            "Please extract questions": "- When did the pier open?",
            "Please rate": "Extraneous" if "Bakers" in said else "Essential",
            "Is the claim supported": "1",
            "Does the text answer": "1",
        }
        found = next(((begin, text) for begin, text in begins.items() if said.startswith(begin)), None)
        if found is None:
            return self.model(heard)
        self.asked.append(found[0])
        return chat(f"<output>{found[1]}</output>", usage=(100, 5))


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    """A pair of which the worse version has a source that nobody needs."""
    pier = "The pier opened in 1901."
    better: dict[str, Any] = {"sources": [pier], "response": pier}
    worse = better | {"sources": [pier, "Bakers get up early."]}
    row = {"id": "a", "metric": "SP1", "query": "When did the pier open?", "better": better, "worse": worse}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    return "pairs.jsonl"


def test_table_1_is_made_by_the_papers_protocol(command, pairs: str) -> None:
    paper = Paper()
    with Server(paper) as server:
        given = ("trust", "table1", "--data", pairs, *judging(server), "--protocol", "paper")
        planned = command(*given, "--dry-run", "--json")
        assert server.heard == []
        said = command(*given, "--json")

    assert said.code == 0, said.err
    assert said.json["judge"] == "openai:m, by the paper's protocol"
    assert 1.0 in said.json["rows"]["SP1"]["ours"].values()
    assert paper.asked.count("Please rate") >= 2
    assert planned.code == 0


def test_an_evaluation_by_it_asks_more_requests_and_its_own_answers_are_remembered(command, tmp_path: Path) -> None:
    row = {"id": "1", "query": "When did the pier open?", "response": "The pier opened in 1901."}
    row |= {"sources": ["The pier opened in 1901.", "It is 240 metres long."]}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    paper = Paper()
    with Server(paper) as server:
        given = ("evaluate", "rows.jsonl", "--json", *judging(server))
        shared = command(*given)
        few = len(server.heard)
        by_paper = command(*given, "--protocol", "paper")
        many = len(server.heard) - few
        again = command(*given, "--protocol", "paper")

        assert (shared.code, by_paper.code, again.code) == (0, 0, 0), by_paper.err
        assert many > 2 * few
        assert len(server.heard) == few + many
    assert by_paper.json["metrics"]["groundedness"]["mean"] == 1.0
    assert by_paper.json["run"] != shared.json["run"]


def test_it_is_for_language_models(command, pairs: str) -> None:
    said = command("trust", "table1", "--data", pairs, "--protocol", "paper")

    assert said.code == 2
    assert "the paper's protocol is for language models" in said.err
