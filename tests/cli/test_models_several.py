"""Several judges in one command, one judge several times, several commands for one run: jury, repetitions, batches."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cli_models import Model, chats, judging, kinds_in, prompt_in, same

import batch_server
from batch_server import BatchServer, replying
from cli_rows import row, written
from ragtriage import open_store
from ragtriage.core.verdicts import Verdict, Verdicts
from ragtriage.runs.run import RunInfo
from servers import Heard, Said, Server

pytestmark = pytest.mark.usefixtures("openai")

LEAN = ("--metrics", "groundedness,response_precision,source_query_coverage")
PRICE = ("--price", "1:2")


class Two:
    """Two models behind one address, which don't always agree."""

    def __init__(self) -> None:
        self.models = {"first": Model(salt="a"), "second": Model(salt="b")}

    def __call__(self, heard: Heard) -> Said:
        """What the model that is asked says."""
        return self.models[heard.body["model"]](heard)


class Fickle:
    """A model that says something else each time that the same is asked."""

    def __init__(self) -> None:
        self._models = [Model(salt=str(i)) for i in range(9)]
        self._times: Counter[str] = Counter()

    def __call__(self, heard: Heard) -> Said:
        """What it says this time."""
        self._times[same(heard.body)] += 1
        return self._models[self._times[same(heard.body)] - 1](heard)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    answer = "Ticket {0} costs {1} euros. It floats."
    return written(tmp_path / "rows.jsonl", [row(i, answer=answer.format(i, i + 3)) for i in range(5)])


def asked(heard: list[Heard], model: str) -> Counter[str]:
    """How many questions of each kind this model was asked."""
    return sum((kinds_in(body) for body in chats(heard) if body["model"] == model), Counter())


def verdicts(store: str = ".ragtriage", run: int | str = "last") -> list[Verdict]:
    """Every verdict of a run."""
    with open_store(store) as opened:
        return [
            cell
            for record in opened.run(run).records()
            for known in record.steps.values()
            if isinstance(known, Verdicts)
            for cells in known.cells
            for cell in cells
            if isinstance(cell, Verdict)
        ]


def runs() -> list[RunInfo]:
    """The runs, the oldest first."""
    with open_store() as store:
        return store.runs()[::-1]


def test_a_cascade_passes_on_what_the_embedded_judge_is_not_sure_of(command, rows: Path) -> None:
    with Server(Model()) as alone, Server(Model()) as server:
        command("evaluate", rows.name, *LEAN, *judging(alone), "--store", "a")
        flags = judging(server, "--cascade", "shipped", *PRICE)
        planned = command("plan", rows.name, "--json", *LEAN, *flags).json
        said = command("evaluate", rows.name, *LEAN, *flags)

    remark = re.search(
        r"cascade: the embedded judge decided (\d+) verdicts and passed (\d+) on, which saved about (\d+) requests\n",
        said.err,
    )
    assert said.code == 0
    assert remark
    decided, passed_on, saved = map(int, remark.groups())
    own, all_of_it = asked(server.heard, "m"), asked(alone.heard, "m")
    assert passed_on == own.total()
    assert own["claims"] == own["questions"] == 0 < all_of_it["claims"]
    assert len(server.heard) < len(alone.heard)
    assert planned["least"]["requests"] == 0 < len(server.heard) <= planned["most"]["requests"]
    assert decided > 0
    assert saved > 0
    by_model = ["because of q" in one.explanation for one in verdicts()]
    assert any(by_model)


def test_repetitions_are_runs_of_their_own_and_asked_anew(command, rows: Path) -> None:
    with Server(Fickle()) as server:
        args = (rows.name, *LEAN, "--repeat", 3, *judging(server, *PRICE))
        planned = command("plan", rows.name, "--json", *LEAN, "--repeat", 3, *judging(server, *PRICE)).json
        said = command("evaluate", *args)
        requests = len(server.heard)
        again = command("evaluate", *args, "--json")

    assert (said.code, again.code, len(server.heard)) == (0, 0, requests)
    assert planned["least"]["requests"] <= requests <= planned["most"]["requests"]
    decomposing = [same(body) for body in chats(server.heard) if kinds_in(body)["claims"]]
    assert set(Counter(decomposing).values()) == {3}
    stored = runs()
    assert command("show", "last").out.startswith("Run 4 ")
    assert [(info.number, info.trial, info.repeats, info.state, info.done) for info in stored[:3]] == [
        (1, 0, None, "finished", 5), (2, 1, 1, "finished", 5), (3, 2, 1, "finished", 5)
    ]  # fmt: skip
    assert sum(info.requests for info in stored) == requests
    assert [f"(trial {n} of 3)" in said.err for n in (1, 2, 3, 4)] == [True, True, True, False]
    assert "3 trials of 5 cases · rows.jsonl · judged by openai:m" in said.out
    cost = sum(info.cost for info in stored)
    assert f"3 trials together: {requests} requests · " in said.out
    assert f" · ${cost:.6f}".rstrip("0") in said.out
    repeats = again.json["repeats"]
    assert (repeats["trials"], repeats["cases"], repeats["runs"]) == (3, 5, [4, 5, 6])
    assert repeats["metrics"]["groundedness"]["case_spread"] > 0
    assert repeats["metrics"]["groundedness"]["smallest"] > 0
    assert repeats["same"] is False


def test_a_stored_run_shows_its_repetitions_in_every_form(command, rows: Path) -> None:
    with Server(Fickle()) as server:
        evaluated = command("evaluate", rows.name, *LEAN, "--repeat", 2, *judging(server))
    told = evaluated.out.split("2 trials of 5 cases")[1].split("2 trials together")[0]

    assert told in command("show", 1).out
    assert command("show", 1, "--json").json["repeats"]["runs"] == [1, 2]
    assert "trials of" not in command("show", 2).out
    assert "repeats" not in command("show", 2, "--json").json
    assert 'id="repetitions"' in Path(".ragtriage/run-1.html").read_text(encoding="utf-8")
    command("report", 1, "-o", "again.html")
    command("report", 2, "-o", "second.html")
    assert 'id="repetitions"' in Path("again.html").read_text(encoding="utf-8")
    assert 'id="repetitions"' not in Path("second.html").read_text(encoding="utf-8")


def test_a_repeated_evaluation_that_stopped_goes_on_where_it_stopped(command, rows: Path) -> None:
    trial = 2

    def told(said: Any) -> list[str]:
        return [line.split(" ")[0] for line in said.err.splitlines() if "(trial " in line]

    with Server(Model()) as server:
        args = ("evaluate", rows.name, "--json", *LEAN, "--repeat", 3, *judging(server))
        planned = command("plan", *args[1:]).json["least"]["requests"]
        cut = trial * planned // 3 + 10
        stopped = command(*args, "--max-requests", cut)
        asked = len(server.heard)
        done = command(*args)

    assert (stopped.code, done.code, asked) == (3, 0, cut)
    assert told(stopped) == ["new"] * (trial + 1)
    assert told(done) == ["continuing"] * (trial + 1) + ["new"] * (2 - trial)
    assert set(Counter(same(body) for body in chats(server.heard)).values()) == {3}
    assert [(info.number, info.repeats, info.state) for info in runs()] == [
        (1, None, "finished"), (2, 1, "finished"), (3, 1, "finished")
    ]  # fmt: skip
    assert (done.json["run"], done.json["repeats"]["runs"]) == (1, [1, 2, 3])
    assert sum(info.requests for info in runs()) == len(server.heard)
    left = re.search(r"the rest would take (\d+) (?:to (\d+) )?requests", stopped.err)
    assert left
    assert int(left[1]) <= len(server.heard) - cut <= int(left[2] or left[1])


def test_a_failure_in_a_later_repetition_makes_the_evaluation_incomplete(command, rows: Path) -> None:
    seen: Counter[str] = Counter()

    def refused(heard: Heard, times: int) -> Said | None:
        if "Ticket 2" in str(heard.body) and kinds_in(heard.body)["supported"]:
            seen["all"] += 1
            return Said({"error": {"message": "blocked", "code": "content_filter"}}, 400) if seen["all"] > 1 else None
        return None

    with Server(Model(refused)) as server:
        said = command("evaluate", rows.name, "--json", *LEAN, "--repeat", 2, *judging(server))

    assert said.code == 3
    assert said.json["metrics"]["groundedness"]["failed"] == 0
    assert said.json["repeats"]["metrics"]["groundedness"]["failed"] == 1
    assert json.dumps(said.json)


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A provider's batches, answered by the model of the other tests."""
    monkeypatch.setenv("OPENAI_API_KEY", batch_server.KEY)
    model = Model()
    with BatchServer(lambda body: (200, replying(json.dumps(model.said(prompt_in(body)))))) as server:
        yield server


def by_batches(server: BatchServer, *more: object) -> tuple[object, ...]:
    return ("--judge", "openai-responses:gpt-5-mini", "--base-url", server.address, "--batch-api", *PRICE, *more)


def evaluated(store: str) -> dict[str, Any]:
    """Every score and every verdict of the only run of a store."""
    with open_store(store) as opened:
        return {record.case.id: (record.outcomes, record.steps) for record in opened.run(1).records()}


def test_batches_are_collected_by_the_same_command_until_all_is_there(command, rows: Path, batches: Any) -> None:
    looked_at: set[int] = set()

    def ended(number: int) -> bool:
        """Not when it is first looked at, which the command does that sent it."""
        seen = number in looked_at
        looked_at.add(number)
        return seen

    batches.ended = ended
    args = ("evaluate", rows.name, *LEAN, "--json", *by_batches(batches))
    said = [command(*args)]
    while said[-1].code == 3 and len(said) < 10:
        said.append(command(*args))
    with Server(Model()) as live:
        expected = command("evaluate", rows.name, *LEAN, "--json", *judging(live, *PRICE), "--store", "live").json

    assert [one.code for one in said] == [3] * (len(said) - 1) + [0]
    assert len(said) == len(batches.batches) + 1 >= 3
    told = r"1 batch with 5 requests to openai-responses:gpt-5-mini is submitted and has not ended \(batch_0\): give th"
    assert re.search(told, said[0].err)
    assert "0 of 5 cases are done\n" in said[0].err
    assert all("continuing run 1: " in one.err for one in said[1:])
    sent = [same(body) for batch in batches.batches for body in batch]
    assert sorted(sent) == sorted(same(body) for body in chats(live.heard))
    found = said[-1].json
    assert found["metrics"] == expected["metrics"]
    assert evaluated(".ragtriage") == evaluated("live")
    spent = found["spent"]
    assert spent["requests"] == len(sent)
    assert (spent["tokens_in"], spent["tokens_out"]) == (1000 * len(sent), 100 * len(sent))
    assert spent["cost"] == pytest.approx(len(sent) * (1000 + 2 * 100) / 1e6 / 2)


def test_a_plan_of_batches_sends_nothing_and_says_what_they_cost(command, tmp_path: Path, rows: Path, batches) -> None:
    said = command("plan", rows.name, *by_batches(batches))

    assert said.code == 0
    assert "By the batch API it costs about half of this price" in said.out
    assert batches.log == []
    assert [path.name for path in tmp_path.iterdir()] == [rows.name]
