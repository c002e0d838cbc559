"""`ragtriage evaluate` and `plan` with a language model that gives its verdicts as letters."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest
from cli_models import KEY, judging

from cli_rows import row, written
from fake_models import Lettering
from ragtriage import open_store
from ragtriage.core.verdicts import Verdict, Verdicts
from ragtriage.judges.llm.messages import Prompt
from servers import Heard, Said, Server, chat

pytestmark = pytest.mark.usefixtures("openai")
METRICS = ("--metrics", "source_precision,groundedness", "--json")


class Letters:
    """A server's model that writes letters, with the probabilities of Y and N if it is given that of Y."""

    def __init__(self, yes: float | None = None) -> None:
        chances = None if yes is None else lambda prompt, item: {"Y": yes, "N": 1.0 - yes}
        self._model = Lettering("Y" if yes is None or yes >= 0.5 else "N", chances)

    def __call__(self, heard: Heard) -> Said:
        """One chat completion."""
        system, user = (one["content"] for one in heard.body["messages"][:2])
        reply = asyncio.run(self._model.send(Prompt(system, user, {}, 1)))
        said = chat(reply.text)
        if reply.tokens and heard.body.get("logprobs"):
            said.body["choices"][0]["logprobs"] = {"content": _pieces(reply.text, reply.tokens)}
        return said


def _pieces(text: str, tokens: Any) -> list[dict[str, Any]]:
    """The text as tokens: those with probabilities, and what stands between them."""
    found, at = [], 0
    for token in [*tokens, None]:
        start, end = (token.start, token.end) if token else (len(text), len(text))
        if text[at:start]:
            found.append({"token": text[at:start], "logprob": 0.0, "bytes": None, "top_logprobs": []})
        if token:
            likely = [{"token": one, "logprob": math.log(p), "bytes": None} for one, p in token.alternatives]
            found.append(
                {"token": text[start:end], "logprob": likely[0]["logprob"], "bytes": None, "top_logprobs": likely}
            )
        at = end
    return found


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Three cases with two sources each."""
    return written(tmp_path / "rows.jsonl", [row(i) for i in range(3)])


def verdicts_of_run() -> list[Verdict]:
    """All verdicts of run 1."""
    with open_store() as store:
        known = [one for record in store.run(1).records() for one in record.steps.values() if isinstance(one, Verdicts)]
    cells = [cell for verdicts in known for line in verdicts.cells for cell in line]
    return [cell for cell in cells if isinstance(cell, Verdict)]


@pytest.mark.parametrize(("flags", "texts"), [(("--judge", "openai:m"), "openai:m"), ((), "embedded")])
def test_letters_with_probabilities_become_scores(command, rows: Path, flags: tuple[str, ...], texts: str) -> None:
    with Server(Letters(0.25)) as server:
        decide = "same" if flags else "openai:m"
        given = (rows.name, *METRICS, *flags, "--decide", decide, "--base-url", server.url)
        planned = command("plan", *given)
        said, asked = command("evaluate", *given), len(server.heard)
        again = command("evaluate", *given)

    assert (said.code, again.code) == (0, 0), said.err
    assert said.json["judge"] == f"{texts}+decide:{decide}"
    assert said.json["counting"].startswith("uncalibrated: ")
    assert len(server.heard) == asked == planned.json["most"]["requests"]
    scored = [one for one in verdicts_of_run() if one.score is not None]
    assert scored
    assert {(one.value, round(one.score or 0, 3), one.chance, one.sure) for one in scored} == {
        ("no", 0.25, None, False)
    }
    assert not any(KEY in path.read_text("utf-8", "replace") for path in Path().rglob("*.html"))


def test_a_server_without_probabilities_is_told_and_its_letters_count(command, rows: Path) -> None:
    with Server(Letters()) as server:
        said = command("evaluate", rows.name, *METRICS[:2], *judging(server), "--decide", "same")

    assert said.code == 0, said.err
    assert "openai:m: its server gives letters without their probabilities" in " ".join(said.out.split())
    assert {(one.value, one.score) for one in verdicts_of_run()} == {("yes", None)}


def test_reasons_are_asked_for_as_is_wanted_and_one_by_one_takes_a_token(command, rows: Path) -> None:
    with Server(Letters(0.9)) as server:
        given = (rows.name, *METRICS, "--decide", "openai:m", "--base-url", server.url)
        command("evaluate", *given, "--explain", "none", "--batch-size", 32)
        lists = [one.body for one in server.heard]
        command("evaluate", *given)
        singly = [one.body for one in server.heard[len(lists) :]]

    assert lists
    assert not any("Behind" in one["messages"][1]["content"] for one in lists)
    assert len(singly) > len(lists)
    assert {one["max_tokens"] for one in singly} == {1}


def test_letters_and_json_never_count_for_each_other(command, rows: Path) -> None:
    with Server(Letters(0.9)) as server:
        given = (rows.name, *METRICS, *judging(server))
        command("evaluate", *given, "--decide", "same")
        asked = len(server.heard)
        planned = command("plan", rows.name, *METRICS, *judging(server))

    assert planned.json["most"]["requests"] > 0
    assert asked > 0


def test_several_deciders_and_unknown_ones_are_refused(command, rows: Path) -> None:
    said = command("evaluate", rows.name, "--judge", "openai:m", "--decide", "gpt")
    assert said.code == 2
    assert "there is no judge 'gpt'" in said.err
