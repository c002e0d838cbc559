"""Beside the embedded judge: hub models that read sources, and embeddings of a provider, priced and limited."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_models import Model, chats, judging

from cli_rows import row, written
from ragtriage import Score, Verdict, open_store
from ragtriage.judges.build import build_judge
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.llm.models import price_of_embeddings
from ragtriage.judges.llm.options import LLMOptions, Price
from ragtriage.judges.session import JudgeSession
from servers import Server

sys.path.append(str(Path(__file__).parents[1] / "judges" / "hub_models"))

import tiny_onnx

Command = Callable[..., Any]


@pytest.fixture
def nli(tmp_path: Path) -> Path:
    return tiny_onnx.entailment(tmp_path / "nli")


def test_a_run_says_what_read_and_that_it_is_not_calibrated(command: Command, tmp_path: Path, nli: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(i) for i in range(4)])
    said = command("evaluate", "rows.jsonl", "--judge", "embedded+reader:nli", "--metrics", "groundedness")
    shown = command("show", "--json").json

    assert said.code == 0, said.err
    assert "judged by embedded+reader:nli (uncalibrated: supported)" in " ".join(said.out.split())
    assert (shown["judge"], shown["counting"]) == ("embedded+reader:nli", "uncalibrated: supported")
    assert command("evaluate", "rows.jsonl", "--judge", "embedded", "--metrics", "groundedness", "--json").code == 0


def test_a_cascade_and_a_jury_say_that_a_hub_model_is_not_calibrated(
    command: Command, tmp_path: Path, nli: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    written(tmp_path / "rows.jsonl", [row(i) for i in range(2)])
    with Server(Model()) as server:
        judges = ("--judge", "embedded+reader:nli", *judging(server), "--metrics", "groundedness")
        cascade = command("evaluate", "rows.jsonl", *judges, "--cascade", "0:1")
        planned = command("plan", "rows.jsonl", *judges, "--cascade", "0:1", "--json").json["notes"]
        jury = command("evaluate", "rows.jsonl", *judges, "--jury", "majority", "--json").json

    head = "judged by embedded+reader:nli, then openai:m (uncalibrated: supported)"
    assert head in " ".join(cascade.out.split())
    assert "\ncascade: embedded+reader:nli decided 0 verdicts and passed " in cascade.err
    assert "At least: if embedded+reader:nli decides all that it may; at most: if it decides nothing." in planned
    assert jury["counting"] == "uncalibrated: supported"


def test_settings_name_the_hub_model(command: Command, tmp_path: Path, nli: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(0)])
    (tmp_path / "ragtriage.toml").write_text('reader = "nli"\n')
    said = command("evaluate", "rows.jsonl", "--json")
    plain = command("evaluate", "rows.jsonl", "--json", "--judge", "embedded")

    assert said.json["judge"] == f"embedded+reader:{nli}"
    assert plain.json["judge"] == "embedded"


def test_a_plan_tells_memory_and_loads_nothing(command: Command, tmp_path: Path, nli: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(i) for i in range(4)])
    model = nli / "onnx" / "model.onnx"
    model.write_bytes(bytes(model.stat().st_size))
    said = command("plan", "rows.jsonl", "--judge", "embedded+reader:nli")

    assert said.code == 0, said.err
    assert "The hub model nli takes about 0.4 GB of memory" in " ".join(said.out.split())


def cut_off(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize(
    ("spoil", "file", "words"),
    [
        (cut_off, "onnx/model.onnx", "can't be loaded by onnxruntime"),
        (cut_off, "tokenizer.json", "the tokenizer"),
        (Path.unlink, "tokenizer.json", "there is no tokenizer.json in"),
    ],
)
def test_a_hub_model_that_cannot_be_loaded_is_told_before_a_run_begins(
    command: Command, tmp_path: Path, nli: Path, spoil: Callable[[Path], None], file: str, words: str
) -> None:
    written(tmp_path / "rows.jsonl", [row(0)])
    judge = ("--judge", "embedded+reader:nli")
    spoil(nli / file)
    said = command("evaluate", "rows.jsonl", *judge)
    with open_store(tmp_path / ".ragtriage") as store:
        assert store.runs() == []
    claim = {"id": "a", "claim": "It costs six euros.", "sources": ["They cost six."], "label": 1}
    written(tmp_path / "claims.jsonl", [claim])
    asked = command("trust", "agreement", "claims.jsonl", *judge)

    assert (said.code, asked.code) == (2, 2)
    for err in (said.err, asked.err):
        last = err.strip().splitlines()[-1]
        assert last.startswith("ragtriage: the hub model 'nli': ")
        assert words in last


def test_a_claim_that_no_pass_holds_is_unknown_and_the_others_are_judged(
    command: Command, tmp_path: Path, nli: Path
) -> None:
    long = "Day tickets cost " + "six euros and thirty-five pounds and " * 200 + "are valid until three."
    written(tmp_path / "rows.jsonl", [row(0, answer=f"Dogs travel free. {long}", contexts=["Dogs travel free."])])
    said = command("evaluate", "rows.jsonl", "--judge", "embedded+reader:nli", "--metrics", "groundedness", "--json")
    with open_store(tmp_path / ".ragtriage") as store:
        (record,) = store.run().records()
    score = record.outcomes["groundedness"]

    assert said.code == 0, said.err
    assert isinstance(score, Score)
    assert score.unknown >= 1
    assert score.judged >= 1
    told = [one.cell.explanation for one in score.parts if isinstance(one.cell, Verdict) and one.good is None]
    assert all(text.endswith("is too long to be read whole: the model takes 512 word pieces") for text in told)


def test_other_languages_are_judged_where_a_hub_model_reads_them(command: Command, tmp_path: Path) -> None:
    tiny_onnx.entailment(tmp_path / "xnli", "[de, fr, es, en, zh]")
    rows = Path(__file__).parents[2] / "examples" / "languages.jsonl"
    said = command("evaluate", rows, "--judge", "embedded+reader:xnli", "--metrics", "groundedness", "--json")
    with open_store(tmp_path / ".ragtriage") as store:
        found = {record.case.id: record.outcomes["groundedness"] for record in store.run().records()}

    assert said.code == 0, said.err
    scores = {code: outcome for code, outcome in found.items() if isinstance(outcome, Score)}
    assert list(scores) == ["de", "fr", "es"]
    assert [len(score.parts) for score in scores.values()] == [2, 2, 2]
    assert "which Chinese isn't known to be written with" in str(found["zh"])


TWO = "Ticket {0} costs {0} euros. Ticket {0} costs {0} euros!"


@pytest.fixture
def repeating(tmp_path: Path) -> str:
    """Four cases whose responses repeat themselves but for a sign."""
    lines = [
        {"id": f"r{i}", "question": f"What does ticket {i} cost?", "contexts": [f"Ticket {i} costs {i} euros."]}
        | {"answer": TWO.format(i)}
        for i in range(4)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return "rows.jsonl"


def beside(server: Server, *more: object) -> tuple[object, ...]:
    return ("--embeddings", "openai:e", "--base-url", server.url, *more)


def sent(server: Server) -> list[Any]:
    return [one.body for one in server.heard if one.path.endswith("/embeddings")]


def test_similarity_comes_from_the_provider_and_all_else_is_free(command, repeating: str) -> None:
    with Server(Model()) as server:
        free = command("evaluate", repeating, "--json", "--store", "a").json
        assert server.heard == []
        said = command("evaluate", repeating, "--json", *beside(server, "--price", "0.02:0"))
        again = command("evaluate", repeating, "--json", *beside(server, "--price", "0.02:0"))

    assert (said.code, len(sent(server)), chats(server.heard)) == (0, 4, [])
    assert len(server.heard) == 4  # the second run asked nothing again
    found = said.json
    # to these embeddings other words are far away, and to the embedded ones a dot and an exclamation mark aren't
    assert free["metrics"]["self_distinctness"]["mean"] < found["metrics"]["self_distinctness"]["mean"] == 1.0
    others = [name for name in free["metrics"] if name != "self_distinctness"]
    assert [found["metrics"][name]["mean"] for name in others] == [free["metrics"][name]["mean"] for name in others]
    assert found["spent"]["requests"] == 4
    assert found["spent"]["cost"] > 0
    assert again.json["metrics"] == found["metrics"]


def test_a_run_and_its_plan_say_whose_embeddings_measure_repetition(
    command, in_this_process, repeating: str, tmp_path: Path
) -> None:
    with Server(Model()) as server:
        said = command("evaluate", repeating, *beside(server), "--base-rate", "supported=0.9", "--report", "r.html")
        stored = command("show", "last", "--json").json
        not_measured = command("evaluate", repeating, *beside(server), "--metrics", "groundedness", "--json").json
        planned = command("plan", repeating, *beside(server))
        set_of_files = command("evaluate", repeating, *beside(server), "--on", "local:1", "--out", "set", "--json").json

    head = "judged by embedded (repetition by openai:e, supported at 0.9)"
    assert head in " ".join(said.out.split())
    assert head in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert (stored["judge"], stored["embeddings"], stored["counting"]) == ("embedded", "openai:e", "supported at 0.9")
    assert set_of_files["embeddings"] == "openai:e"
    assert "plan of rows.jsonl · 4 cases · embedded, repetition by openai:e\n" in planned.out
    assert "embeddings" not in not_measured


def test_a_budget_holds_where_the_price_is_given_and_needs_one(command, repeating: str) -> None:
    with Server(Model()) as server:
        refused = command("evaluate", repeating, *beside(server, "--budget", 1))
        assert (refused.code, server.heard) == (2, [])
        stopped = command("evaluate", repeating, *beside(server, "--budget", 0, "--price", "0.02:0"))
        assert (stopped.code, server.heard) == (3, [])
        limited = command("evaluate", repeating, *beside(server, "--max-requests", 2))
        assert (limited.code, len(server.heard)) == (3, 2)
        said = command("evaluate", repeating, *beside(server, "--budget", 1, "--price", "0.02:0"))

    assert "the price of openai:e isn't known, so a budget can't be kept" in refused.err
    assert "stopped before the budget of" in stopped.err
    assert (said.code, len(server.heard)) == (0, 4)


@pytest.mark.parametrize("how", [("--cascade", "0.0:0.0"), ("--judge", "embedded", "--jury", "majority")])
def test_in_a_cascade_and_a_jury_the_embedded_judges_similarity_is_theirs(command, repeating: str, how) -> None:
    first = how if "--judge" in how else ()
    rest = () if first else how
    with Server(Model()) as server:
        judges = (*first[:2], *judging(server), *first[2:], *rest)
        said = command("evaluate", repeating, "--json", *judges, "--embeddings", "openai:e")

    assert said.code == 0, said.err
    assert len(sent(server)) == 4
    assert said.json["metrics"]["self_distinctness"]["mean"] == 1.0


def test_embeddings_of_the_settings_wait_for_a_model(command, repeating: str, tmp_path: Path) -> None:
    with Server(Model()) as server:
        (tmp_path / "ragtriage.toml").write_text(f'[llm]\nembeddings = "openai:e"\nbase_url = "{server.url}"\n')
        said = command("evaluate", repeating)

    assert (said.code, server.heard) == (0, [])


def test_only_the_fingerprint_of_similarity_changes() -> None:
    plain = build_judge(JudgeSession.of(JudgeConfig())).judge
    options = LLMOptions(embeddings="openai:e", base_url="http://127.0.0.1:9/v1")
    with_them = build_judge(JudgeSession.of(JudgeConfig(options=options))).judge

    assert with_them.name() == "embedded"
    assert with_them.fingerprint("supported") == plain.fingerprint("supported")
    assert with_them.fingerprint("similarity").startswith("embeddings:openai:e:")


@pytest.mark.parametrize(
    ("name", "price", "expected"),
    [
        ("openai:text-embedding-3-small", None, 0.02),
        ("openai:text-embedding-3-small", "5:9", 0.02),
        ("openai:unheard-of", None, None),
        ("openai:unheard-of", "5:9", 5.0),
    ],
)
def test_the_price_of_embeddings_is_the_lists_or_else_the_judges(name, price, expected) -> None:
    found = price_of_embeddings(name, LLMOptions(price=Price.parse(price) if price else None))

    assert (None if found is None else found.of(1_000_000, 7)) == expected
