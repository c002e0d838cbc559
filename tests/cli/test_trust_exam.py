"""`ragtriage trust exam`: judges side by side on the packaged cases, under one budget; a card takes its figures."""

from pathlib import Path

import pytest
from cli_models import Model, chats, judging, same

from ragtriage.cli import trust as trust_commands
from ragtriage.trust import exam
from ragtriage.trust.exam import exam_cases
from servers import Server

SOMEBODY = ("--judge", "openai:m", "--base-url", "http://127.0.0.1:9/v1")
"""A judge that is never asked."""


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
    other = command("trust", "card", "--exam", "exam.json", *SOMEBODY)
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
    assert found["requests_saved"] > 0
    assert found["requests"] < found["whole"]["requests"]
    assert found["cost"] is None, "its price isn't known"
    assert found["tokens_in"] > 0
    assert after == len(asked), "all was remembered, and the second judge had no budget left"
    assert "answers from before saved about" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80


def test_a_budget_is_one_and_options_go_to_whom_they_are_meant_for(command, openai) -> None:
    flags = ("trust", "exam", "--judge", "embedded", "--base-rate", "supported=0.9", "--dry-run", "--json")
    found = command(*flags, *SOMEBODY, "--price", "1:2", "--budget", "5")

    assert found.code == 0
    assert [one["judge"] for one in found.json["judges"]] == ["embedded", "openai:m"]
    assert [one["most"]["requests"] > 0 for one in found.json["judges"]] == [False, True]
    assert found.json["judges"][1]["least"]["price"] > 0
    assert not Path(".ragtriage").exists()


def test_a_jury_takes_the_exam_as_one_judge(command, openai) -> None:
    found = command("trust", "exam", "--judge", "embedded", *SOMEBODY, "--jury", "majority", "--dry-run", "--json")

    assert [one["judge"] for one in found.json["judges"]] == ["majority of embedded, openai:m"]


def test_a_judge_that_is_named_twice_is_refused(command) -> None:
    said = command("trust", "exam", "--judge", "embedded", "--judge", "embedded")

    assert (said.code, said.out) == (2, "")
    assert "the judge embedded is named twice: name it once" in said.err
