"""`ragtriage evaluate` and `plan` with a language model that is asked for letters, or by the paper's protocol."""

import asyncio
import hashlib
import itertools
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_models import KEY, Model, judging

import batch_server
from batch_server import BatchServer, replying
from cli_rows import row, written
from fake_models import Lettering
from ragtriage import open_store
from ragtriage.core.verdicts import Verdict, Verdicts
from ragtriage.judges.llm.options import Prompt
from servers import Heard, Said, Server, chat, error

pytestmark = pytest.mark.usefixtures("openai")
METRICS = ("--metrics", "source_precision,groundedness", "--json")


class Letters:
    """A server's model that writes letters, with the probabilities of Y and N if it is given that of Y.

    Args:
        yes: how likely Y is: always, or by question.
        faults: given a request and 1, what is said instead; None for nothing.
    """

    def __init__(
        self,
        yes: float | Callable[[str], float] | None = None,
        faults: Callable[[Heard, int], Said | None] = lambda heard, times: None,
    ) -> None:
        likely = yes if callable(yes) else lambda item: 1.0 if yes is None else yes
        chances = None if yes is None else lambda prompt, item: {"Y": likely(item), "N": 1.0 - likely(item)}
        self._model = Lettering(lambda prompt, item: "Y" if likely(item) >= 0.5 else "N", chances)
        self._faults = faults

    def __call__(self, heard: Heard) -> Said:
        """One chat completion."""
        if fault := self._faults(heard, 1):
            return fault
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


def verdicts_of_run(run: int = 1) -> list[Verdict]:
    """All verdicts of a run."""
    with open_store() as store:
        known = [
            one for record in store.run(run).records() for one in record.steps.values() if isinstance(one, Verdicts)
        ]
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


def by_words(item: str) -> float:
    """Another probability for each question, whatever travels with it."""
    return 0.05 + hashlib.blake2b(item.encode()).digest()[0] / 300


FAULTS = (
    error(500, "broken"),
    Said(reset=True),
    chat("I'd rather talk about ferries."),
    error(429, "wait", headers={"retry-after-ms": "1"}),
)


@pytest.mark.parametrize("decide", ["same", "openai:m"])
def test_nothing_is_lost_by_failures(command, tmp_path: Path, decide: str) -> None:
    rows = written(tmp_path / "rows.jsonl", [row(i) for i in range(12)])
    left, count = list(FAULTS), itertools.count(1)

    def failing(heard: Heard, times: int) -> Said | None:
        return left.pop() if left and next(count) % 4 == 0 else None

    found = []
    for model in (Letters(by_words), Letters(by_words, failing)):
        with Server(model) as server:
            given = ("--judge", "openai:m") if decide == "same" else ()
            ended = command("evaluate", rows.name, *METRICS, *given, "--decide", decide, "--base-url", server.url)
            assert ended.code == 0, ended.err
            found.append((ended.json["metrics"], verdicts_of_run(ended.json["run"])))

    assert left == []
    assert f"{len(FAULTS)} requests sent again" in ended.err
    assert {one.value for one in found[0][1]} == {"yes", "no"}
    assert found[1] == found[0]


def test_letters_come_from_the_batch_api_too(command, rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", batch_server.KEY)
    model = Letters(by_words)

    def answer(body: Any) -> tuple[int, Any]:
        (said,) = model(Heard("/v1/chat/completions", {}, {"messages": body["input"], "logprobs": True})).body[
            "choices"
        ]
        reply = replying(said["message"]["content"])
        reply["output"][0]["content"][0]["logprobs"] = said.get("logprobs", {}).get("content", [])
        return 200, reply

    def given(name: str, address: str) -> tuple[object, ...]:
        return (*METRICS, "--judge", name, "--decide", "same", "--base-url", address, "--price", "1:2")

    with BatchServer(answer) as server:
        said = command(
            "evaluate", rows.name, *given("openai-responses:gpt-5-mini", server.address), "--batch-api", "--wait"
        )
    with Server(model) as live:
        expected = command("evaluate", rows.name, *given("openai:m", live.url))

    assert (said.code, expected.code) == (0, 0), said.err
    assert server.batches
    assert said.json["metrics"] == expected.json["metrics"]
    assert verdicts_of_run(1) == verdicts_of_run(2)


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
    one = {"id": "a", "metric": "SP1", "query": "When did the pier open?", "better": better, "worse": worse}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(one) + "\n", encoding="utf-8")
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
    one = {"id": "1", "query": "When did the pier open?", "response": "The pier opened in 1901."}
    one |= {"sources": ["The pier opened in 1901.", "It is 240 metres long."]}
    (tmp_path / "rows.jsonl").write_text(json.dumps(one) + "\n", encoding="utf-8")
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
