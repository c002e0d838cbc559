"""`testset score` and `reliability`: answered questions in, what they reveal out."""

import itertools
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from cli_models import Model, judging

from servers import Heard, Said, Server, chat

PIER = Path(__file__).parents[2] / "docs" / "testsets.md"


def put(rows: Iterable[Any], name: str = "rows.jsonl") -> str:
    text = "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)
    Path(name).write_text(text, encoding="utf-8")
    return name


def row(name: str, group: str, cluster: str, *, right: bool, document: str = "d") -> dict[str, Any]:
    return {"id": name, "group": group, "cluster": cluster, "correct": right, "retrieved": [document]}


MIXED = [
    row("1", "g1", "short", right=True),
    row("2", "g1", "long", right=False),
    row("3", "g2", "short", right=True),
    row("4", "g2", "long", right=False, document="x"),
    row("5", "g3", "short", right=False),
    row("6", "g3", "long", right=False),
]


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_more_than_two_clusters_stand_one_a_line(command, wide) -> None:
    rows = [*MIXED, row("7", "g1", "typos", right=True)]

    said = command("testset", "score", put(rows))

    assert "No two clusters were compared" in said.out
    assert max(map(len, said.out.splitlines())) <= 80
    assert ["typos", "1", "1.00", "1.00", "1.00", "1.00"] in [line.split() for line in said.out.splitlines()]
    named = command("testset", "score", put(rows), "--clusters", "typos,long")
    assert "difference: typos minus long" in named.out


def test_the_example_of_the_docs_says_what_the_docs_show(command, wide) -> None:
    page = PIER.read_text(encoding="utf-8")
    rows = page.split("```jsonl\n")[1].split("```")[0]
    shown = page.split("<!-- output: testset score -->\n```\n")[1].split("```")[0]

    said = command("testset", "score", put([rows]))

    assert [line.rstrip() for line in said.out.strip().splitlines()] == shown.strip().splitlines()


def test_what_the_typed_match_cannot_tell_goes_to_the_embedded_judge(command) -> None:
    rows = [
        {"id": 1, "group": "g", "query": "Who runs it?", "answer": "Ada Finch", "response": "Mrs Finch runs it."},
        {"id": 2, "group": "h", "query": "Who runs it?", "answer": "Ada Finch", "response": "Whales are mammals."},
    ]

    judged = command("testset", "score", put(rows), "--json").json["clusters"]["all"]
    alone = command("testset", "score", put(rows), "--json", "--typed-only").json["clusters"]["all"]

    assert judged["groups"]["gap"] >= 1
    assert judged["undecided_rows"] < 2
    assert alone["undecided_rows"] == 2


def test_labels_check_the_typed_match(command, wide) -> None:
    labelled = {"id": 1, "group": "g", "query": "How many?", "answer": 3, "response": "three", "correct": True}

    said = command("testset", "score", put([labelled]))

    assert "The typed match against 1 label" in said.out
    assert ["right", "1", "0", "0"] in [line.split() for line in said.out.splitlines()]


def test_bad_rows_are_named_and_many_make_it_incomplete(command) -> None:
    said = command("testset", "score", put([*MIXED, "{", {"id": 9}]), "--json")

    assert said.code == 3
    assert said.json["clusters"]["long"]["rows"] == 3
    assert "2 of 8 rows can't be used" in said.err
    assert "rows.jsonl, row 8, field 'group': is missing" in said.err


PIER_APP = """
import json
from pathlib import Path


def answer(query, sources=None):
    if sources is None:
        return {"response": "I don't know.", "sources": []}
    with Path("asked.jsonl").open("a") as file:
        file.write(json.dumps([query, sources]) + "\\n")
    return "Ada Finch" if "please" in query else "I don't know."
"""
REPORT = "# Old Pier\n\nThe manager is Ada Finch. It opened on 3 March 2019."


def answered(name: str, group: str, cluster: str, query: str, response: str, **fields: Any) -> dict[str, Any]:
    base = {"id": name, "group": group, "cluster": cluster, "query": query, "answer": "Ada Finch", "response": response}
    source = {"id": f"d{name}", "text": REPORT if "Ada" in response else "# New Quay\n\nNothing."}
    return base | {"sources": [source], "retrieved": [source["id"]]} | fields


PIER_ROWS = [
    answered("1", "manager", "short", "Who manages Old Pier?", "Ada Finch"),
    answered("2", "manager", "long", "Who manages Old Pier, please?", "I don't know."),
    answered("3", "manager", "long", "Who on earth manages Old Pier?", "I don't know."),
    answered("4", "opened", "short", "When did Old Pier open?", "I don't know.", answer="2019-03-03"),
    answered("5", "fee", "short", "What was the fee for Old Pier?", "I don't know.", answer=120_000),
]


@pytest.fixture
def pier(command, wide) -> None:
    """Answers about a pier, an application that can be asked again, and a corpus."""
    Path("rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in PIER_ROWS), encoding="utf-8")
    Path("app.py").write_text(PIER_APP, encoding="utf-8")
    Path("docs").mkdir()
    Path("docs/pier.md").write_text(REPORT, encoding="utf-8")


def test_wrong_answers_are_asked_again_and_blamed_by_what_comes(command, pier) -> None:
    said = command("testset", "score", "rows.jsonl", "--app", "app.py:answer", "--typed-only")

    asked = [json.loads(line) for line in Path("asked.jsonl").read_text().splitlines()]
    assert sorted(query for query, _ in asked) == [PIER_ROWS[1]["query"], PIER_ROWS[2]["query"]]
    assert {sources[0]["text"] for _, sources in asked} == {REPORT}
    text = " ".join(said.out.split())
    assert said.code == 0
    assert "2 wrong answers asked again: 1 now right (retrieval was at fault), 1 wrong again (the LM)" in text
    assert "blamed by second run (2)" in text
    assert max(map(len, said.out.splitlines())) <= 80

    again = command("testset", "score", "rows.jsonl", "--app", "app.py:answer", "--typed-only", "--json")
    assert len(Path("asked.jsonl").read_text().splitlines()) == 2  # what was answered isn't asked again
    assert again.json["second_run"] == {
        "asked": 2, "right": 1, "wrong": 1, "undecided": 0, "without_sources": 0, "without_truth": 0,
    }  # fmt: skip
    assert again.json["clusters"]["long"]["blame"] == {"LM": 1, "retrieval": 1, "unknown": 0}
    assert again.json["clusters"]["long"]["rules"] == {"second run": 2}
    command("testset", "score", "rows.jsonl", "--app", "app.py:answer", "--given", "gold", "--typed-only")
    _, sources = json.loads(Path("asked.jsonl").read_text().splitlines()[-1])
    assert "answer: Ada Finch" in sources[0]["text"]  # the database's row


def test_of_many_found_gaps_some_are_named_and_the_rest_counted(command, pier) -> None:
    rows = [
        answered(f"{n}", f"g{n}", "short", f"When did Old Pier open in {n}?", "I don't know.", answer="2019-03-03")
        for n in range(7)
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")

    text = " ".join(command("testset", "score", "rows.jsonl", "--corpus", "docs", "--typed-only").out.split())

    assert text.count("When did Old Pier open in") == 5
    assert "and 2 more such questions, which --json lists" in text


SAMPLED = [
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
    """The fictitious company and twenty questions about it."""
    command("testset", "example", "firm")
    command("testset", "build", "sqlite:///firm/company.db", "-o", "set", "--criteria", "short,long", "--size", 20)
    return tmp_path


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
        assert sorted(company.temperatures, key=str) == [1.0] * 80 + [None] * 20
        judged = len(company.judge.answered)

        again = command(*given, *judging(server), "--typed-only", "--json")
        assert (len(company.temperatures), len(company.judge.answered)) == (100, judged)  # nothing is asked twice

    lines = said.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split("  ")[0] for line in lines[1:3]] == ["groundedness", "self_consistency"]
    assert "samples 80 for 20 responses" in said.err

    command("export", "last", "-o", "scores.jsonl")  # the long way gives the same numbers
    slow = command(
        "testset", "reliability", "set/questions.answers.jsonl", "--score", "groundedness=0.8", "--score",
        "self_consistency=0.75", "--scores", "scores.jsonl", "--typed-only", "--json",
    )  # fmt: skip
    for name in ("groundedness", "self_consistency"):
        assert again.json[name] == slow.json[name]
    assert again.json["groundedness"]["precision"]["n"] > 0


def test_answers_and_samples_of_a_file_are_judged_where_no_score_is_named(command, tmp_path: Path) -> None:
    found = command("testset", "reliability", put(SAMPLED), "--typed-only", "--json").json

    assert (found["groundedness"]["precision"]["value"], found["groundedness"]["recall"]["value"]) == (1.0, 1.0)
    assert found["self_consistency"]["precision"]["value"] == 0.5  # the same wrong answer each time passes
    assert found["self_consistency"]["recall"]["value"] == 0.5
    assert (found["self_consistency"]["right"]["value"], found["self_consistency"]["left_out"]) == (0.5, 0)

    rows = [{name: value for name, value in row.items() if name != "samples"} for row in SAMPLED]
    without = command("testset", "reliability", put(rows), "--typed-only", "--json")
    assert list(without.json) == ["groundedness"]
    assert "no answer has self_consistency: it needs samples" in without.err


def test_a_named_score_is_judged_of_an_application(command, tmp_path: Path) -> None:
    Path("app.py").write_text(
        "def answer(query, temperature=0.0):\n    return {'response': '12 May 1901', 'sources': ['12 May 1901.']}",
        encoding="utf-8",
    )
    questions = [{name: row[name] for name in ("id", "group", "cluster", "query", "answer")} for row in SAMPLED]
    given = ("--app", "app.py:answer", "--score", "sample_agreement=0.5", "--samples", 2, "--collected", "mine.jsonl")
    said = command("testset", "reliability", put(questions), *given, "--typed-only", "--json")

    assert said.code == 0, said.err
    assert said.json["sample_agreement"]["right"]["value"] == 1.0
    assert len(json.loads(Path("mine.jsonl").read_text().splitlines()[0])["samples"]) == 2


def test_what_a_hint_says_to_type_works_as_it_stands(command, tmp_path: Path) -> None:
    Path("app.py").write_text("def answer(query, temperature=0.0):\n    return 'It opened in 1901.'", encoding="utf-8")
    questions = [{name: row[name] for name in ("id", "group", "cluster", "query", "answer")} for row in SAMPLED]
    given = ("testset", "reliability", put(questions), "--app", "app.py:answer", "--score", "sample_agreement=0.5")
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
        given = ("testset", "reliability", put(SAMPLED), "--typed-only", "--json", *judging(server, "--batch-size", 1))
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
