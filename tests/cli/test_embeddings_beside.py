"""`--embeddings` beside the embedded judge: similarity from a provider, all the rest for free; priced and limited."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_models import Model, chats, judging

from ragtriage.judges.build import build_judge
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.llm.models import price_of_embeddings
from ragtriage.judges.llm.options import LLMOptions, Price
from ragtriage.judges.session import JudgeSession
from servers import Server

sys.path.append(str(Path(__file__).parents[1] / "judges" / "hub_models"))

import tiny_onnx

TWO = "Ticket {0} costs {0} euros. Ticket {0} costs {0} euros!"


@pytest.fixture
def rows(tmp_path: Path) -> str:
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


def test_similarity_comes_from_the_provider_and_all_else_is_free(command, rows: str) -> None:
    with Server(Model()) as server:
        free = command("evaluate", rows, "--json", "--store", "a").json
        assert server.heard == []
        said = command("evaluate", rows, "--json", *beside(server, "--price", "0.02:0"))
        again = command("evaluate", rows, "--json", *beside(server, "--price", "0.02:0"))

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


def test_a_run_and_its_plan_say_whose_embeddings_measure_repetition(command, rows: str, tmp_path: Path) -> None:
    with Server(Model()) as server:
        free = command("evaluate", rows, "--json")
        said = command("evaluate", rows, *beside(server), "--base-rate", "supported=0.9", "--report", "r.html")
        stored = command("show", "last", "--json").json
        by_model = command("evaluate", rows, *judging(server), "--embeddings", "openai:e", "--json").json
        not_measured = command("evaluate", rows, *beside(server), "--metrics", "groundedness", "--json").json
        planned = command("plan", rows, *beside(server))
        planned_json = command("plan", rows, "--json", *beside(server)).json
        planned_free = command("plan", rows, "--json").json
        set_of_files = command("evaluate", rows, *beside(server), "--on", "local:1", "--out", "set", "--json").json

    head = "judged by embedded (repetition by openai:e, supported at 0.9)"
    assert head in " ".join(said.out.split())
    assert head in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert (stored["judge"], stored["embeddings"], stored["counting"]) == ("embedded", "openai:e", "supported at 0.9")
    assert (by_model["judge"], by_model["embeddings"]) == ("openai:m", "openai:e")
    assert set_of_files["embeddings"] == "openai:e"
    assert "plan of rows.jsonl · 4 cases · embedded, repetition by openai:e\n" in planned.out
    assert planned_json["embeddings"] == "openai:e"
    assert not any("embeddings" in found for found in (free.json, not_measured, planned_free))


def test_embeddings_measure_similarity_beside_a_hub_model(command, rows: str, tmp_path: Path) -> None:
    tiny_onnx.entailment(tmp_path / "nli")
    with Server(Model()) as server:
        said = command("evaluate", rows, "--judge", "embedded+reader:nli", *beside(server), "--json")

    assert (said.code, said.json["judge"], said.json["embeddings"]) == (0, "embedded+reader:nli", "openai:e")
    assert len(sent(server)) == 4


def test_the_plan_counts_and_prices_them(command, rows: str) -> None:
    with Server(Model()) as server:
        planned = command("plan", rows, "--json", *beside(server, "--price", "0.02:0")).json
        unpriced = command("plan", rows, "--json", *beside(server)).json
        assert server.heard == []

    assert (planned["most"]["requests"], planned["least"]["requests"]) == (4, 4)
    assert planned["most"]["price"] > 0
    assert unpriced["most"]["price"] is None


def test_a_budget_holds_where_the_price_is_given_and_needs_one(command, rows: str) -> None:
    with Server(Model()) as server:
        refused = command("evaluate", rows, *beside(server, "--budget", 1))
        assert (refused.code, server.heard) == (2, [])
        stopped = command("evaluate", rows, *beside(server, "--budget", 0, "--price", "0.02:0"))
        assert (stopped.code, server.heard) == (3, [])
        limited = command("evaluate", rows, *beside(server, "--max-requests", 2))
        assert (limited.code, len(server.heard)) == (3, 2)
        said = command("evaluate", rows, *beside(server, "--budget", 1, "--price", "0.02:0"))

    assert "the price of openai:e isn't known, so a budget can't be kept" in refused.err
    assert "stopped before the budget of" in stopped.err
    assert (said.code, len(server.heard)) == (0, 4)


@pytest.mark.parametrize("how", [("--cascade", "0.0:0.0"), ("--judge", "embedded", "--jury", "majority")])
def test_in_a_cascade_and_a_jury_the_embedded_judges_similarity_is_theirs(command, rows: str, how) -> None:
    first = how if "--judge" in how else ()
    rest = () if first else how
    with Server(Model()) as server:
        judges = (*first[:2], *judging(server), *first[2:], *rest)
        said = command("evaluate", rows, "--json", *judges, "--embeddings", "openai:e")

    assert said.code == 0, said.err
    assert len(sent(server)) == 4
    assert said.json["metrics"]["self_distinctness"]["mean"] == 1.0


def test_a_budget_with_a_model_judge_prices_embeddings_that_no_list_has(command, rows: str) -> None:
    with Server(Model()) as server:
        given = judging(server, "--embeddings", "openai:e", "--budget", 5, "--price", "1:2")
        said = command("evaluate", rows, "--json", *given)

    assert said.code == 0, said.err
    assert len(sent(server)) == 4


def test_embeddings_of_the_settings_wait_for_a_model(command, rows: str, tmp_path: Path) -> None:
    with Server(Model()) as server:
        (tmp_path / "ragtriage.toml").write_text(f'[llm]\nembeddings = "openai:e"\nbase_url = "{server.url}"\n')
        said = command("evaluate", rows)

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
        ("openai:text-embedding-3-small", "5:9,0.5", 0.5),
        ("openai:unheard-of", None, None),
        ("openai:unheard-of", "5:9", 5.0),
        ("openai:unheard-of", "5:9,0.1", 0.1),
    ],
)
def test_the_price_of_embeddings_is_their_own_then_the_lists_then_the_judges(name, price, expected) -> None:
    found = price_of_embeddings(name, LLMOptions(price=Price.parse(price) if price else None))

    assert (None if found is None else found.of(1_000_000, 7)) == expected
