"""`ragtriage testset reliability` in one go: an application is asked, samples are drawn, scores judged."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest
from cli_models import Model, judging

from servers import Heard, Said, Server, chat

ROWS = [
    {"id": f"r{i}", "group": f"g{i // 2}", "cluster": ("short", "long")[i % 2], "query": f"When did pier {i} open?"}
    | {"answer": "1901-05-12", "response": response, "sources": ["The pier opened on 12 May 1901."], "samples": samples}
    for i, (response, samples) in enumerate(
        [
            ("It opened on 12 May 1901.", ["It opened on 12 May 1901."] * 4),
            ("It opened on 12 May 1901.", ["It opened on 3 June 1950."] * 4),
            ("It opened on 3 June 1950.", ["It opened on 3 June 1950."] * 4),
            ("It opened on 3 June 1950.", ["It opened on 12 May 1901."] * 4),
        ]
    )
]


class Company:
    """A model that answers the example company's application, and judges as `Model` does.

    To the application it says a sentence of the document that it is given: always the same without a temperature, any
    with one.
    """

    def __init__(self, *faults: Any) -> None:
        self.judge = Model(*faults)
        self.temperatures: list[float | None] = []
        self._next = itertools.count()

    def __call__(self, heard: Heard) -> Said:
        """The answer to a request."""
        said = heard.body["messages"][-1]["content"]
        found = re.search(r"<documents>\n(.*)\n</documents>\n\nQuestion: (.*)", said, re.DOTALL)
        if found is None:
            return self.judge(heard)
        temperature = heard.body.get("temperature")
        self.temperatures.append(temperature)
        sentences = [one for one in re.split(r"(?<=\.)\s+|\n+", found[1]) if one.endswith(".")] or [found[1][:80]]
        return chat(sentences[0 if temperature is None else next(self._next) % 2 % len(sentences)])


@pytest.fixture
def firm(command, tmp_path: Path) -> Path:
    """The fictitious company and forty questions about it."""
    command("testset", "example", "firm")
    command("testset", "build", "sqlite:///firm/company.db", "-o", "set", "--criteria", "short,long", "--size", 40)
    return tmp_path


def table(rows: list[dict[str, Any]], name: str = "rows.jsonl") -> str:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return name


def test_the_whole_table_on_the_fictitious_company_with_a_model(
    command, firm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    company = Company()
    with Server(company) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        given = ("testset", "reliability", "set/questions.jsonl", "--app", "firm/app.py:answer_by_model")
        said = command(*given, *judging(server), "--typed-only")
        assert said.code == 0, said.err
        assert sorted(company.temperatures, key=str) == [1.0] * 160 + [None] * 40
        judged = len(company.judge.answered)

        again = command(*given, *judging(server), "--typed-only", "--json")
        assert (len(company.temperatures), len(company.judge.answered)) == (200, judged)  # nothing is asked twice

    lines = said.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split("  ")[0] for line in lines[1:5:2]] == ["groundedness", "self_consistency"]
    assert re.split(r"  +", lines[2].strip()) == ["RAGAS-Fact in the paper", "19 % [11, 27]", "92 % [86, 97]"]
    assert re.split(r"  +", lines[4].strip()) == ["SelfCheck in the paper", "15 % [8, 22]", "50 % [40, 59]"]
    assert "samples 160 for 40 responses" in said.err

    command("export", "last", "-o", "scores.jsonl")  # the long way gives the same numbers
    slow = command(
        "testset", "reliability", "set/questions.answers.jsonl", "--score", "groundedness=0.8", "--score",
        "self_consistency=0.75", "--scores", "scores.jsonl", "--typed-only", "--json",
    )  # fmt: skip
    for name in ("groundedness", "self_consistency"):
        assert {key: again.json[name][key] for key in slow.json[name]} == slow.json[name]
    assert again.json["groundedness"]["precision"]["n"] > 0
    assert again.json["self_consistency"]["paper"]["precision"]["value"] == 0.15


def test_answers_and_samples_of_a_file_are_judged_where_no_score_is_named(command, tmp_path: Path) -> None:
    found = command("testset", "reliability", table(ROWS), "--typed-only", "--json").json

    assert (found["groundedness"]["precision"]["value"], found["groundedness"]["recall"]["value"]) == (1.0, 1.0)
    assert found["self_consistency"]["precision"]["value"] == 0.5  # the same wrong answer each time passes
    assert found["self_consistency"]["recall"]["value"] == 0.5
    assert (found["self_consistency"]["right"]["value"], found["self_consistency"]["left_out"]) == (0.5, 0)


def test_without_samples_the_table_has_one_score_and_says_why(command, tmp_path: Path) -> None:
    rows = [{name: value for name, value in row.items() if name != "samples"} for row in ROWS]
    said = command("testset", "reliability", table(rows), "--typed-only", "--json")

    assert list(said.json) == ["groundedness"]
    assert "no answer has self_consistency: it needs samples" in said.err


def test_a_named_score_is_judged_of_an_application(command, tmp_path: Path) -> None:
    Path("app.py").write_text(
        "def answer(query, temperature=0.0):\n    return {'response': '12 May 1901', 'sources': ['12 May 1901.']}",
        encoding="utf-8",
    )
    questions = [{name: row[name] for name in ("id", "group", "cluster", "query", "answer")} for row in ROWS]
    given = ("--app", "app.py:answer", "--score", "sample_agreement=0.5", "--samples", 2, "--collected", "mine.jsonl")
    said = command("testset", "reliability", table(questions), *given, "--typed-only", "--json")

    assert said.code == 0, said.err
    assert said.json["sample_agreement"]["right"]["value"] == 1.0
    assert len(json.loads(Path("mine.jsonl").read_text().splitlines()[0])["samples"]) == 2


def test_what_a_hint_says_to_type_works_as_it_stands(command, tmp_path: Path) -> None:
    Path("app.py").write_text("def answer(query, temperature=0.0):\n    return 'It opened in 1901.'", encoding="utf-8")
    questions = [{name: row[name] for name in ("id", "group", "cluster", "query", "answer")} for row in ROWS]
    given = ("testset", "reliability", table(questions), "--app", "app.py:answer", "--score", "sample_agreement=0.5")
    given = (*given, "--samples", 1, "--typed-only", "--store", "mine")
    said = command(*given)
    hint = re.search(r"^run 1 holds the verdicts: ragtriage (.+)$", said.err, re.MULTILINE)
    assert hint, said.err
    shown = command(*hint[1].split())
    other = command(*given, "--temperature", 0.5)
    again = command(*given, "--temperature", 0.5, "--collected", "other.jsonl")
    Path("rows.jsonl").write_text(Path("rows.jsonl").read_text().replace("When did", "Since when was"))
    changed = command(*given)

    assert shown.code == 0, shown.err
    assert (other.code, again.code, changed.code) == (2, 0, 2)
    assert other.err.endswith("now they would be drawn at temperature 0.5: name another file with --collected\n")
    assert changed.err.endswith("the questions have changed; name another file with --collected\n")


def test_where_the_model_stops_the_same_command_goes_on(command, tmp_path: Path) -> None:
    company = Company()
    with Server(company) as server:
        given = ("testset", "reliability", table(ROWS), "--typed-only", "--json", *judging(server, "--batch-size", 1))
        stopped = command(*given, "--max-requests", 3)
        assert (stopped.code, stopped.out) == (3, "")
        asked = len(company.judge.answered)
        done = command(*given)

        both = len(company.judge.answered)
        whole = command(*given, "--store", "other")

        assert (done.code, whole.code) == (0, 0), done.err
        assert asked == 3
        assert both == len(company.judge.answered) - both
        assert done.json == whole.json


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--samples", 2), "--samples and --temperature are for an application: name it with --app"),
        (("--collected", "c.jsonl"), "--collected is for an application under test"),
        (("--scores", "s.jsonl"), "--scores holds scores that are known: say which with --score"),
        (("--app", "app.py:answer", "--score", "thelma=1"), "--score thelma: name single metrics, not a group"),
        (("--app", "app.py:answer", "--score", "grounded=1"), "no metric is called 'grounded'"),
    ],
)
def test_what_does_not_go_together_is_refused(command, tmp_path: Path, given, message) -> None:
    said = command("testset", "reliability", table(ROWS), *given)

    assert (said.code, message in said.err) == (2, True), said.err


def test_rows_that_cannot_be_judged_are_refused_with_what_to_do(command, tmp_path: Path) -> None:
    bare = [{"id": "1", "group": "g", "correct": True}]
    said = command("testset", "reliability", table(bare))

    assert said.code == 2
    assert "no row has a query and a response" in said.err
