"""`ragtriage evaluate`, `plan` and `judge` with a decision model behind a server on this machine."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cli_rows import row, written
from fake_decisions import Decider
from servers import Heard, Said, Server

pytestmark = pytest.mark.usefixtures("key")

KEY = "sk-decide-0123456789"
LEAN = ("--metrics", "source_precision,source_query_coverage", "--json")
"""Nothing is broken up for them."""
METRICS = ("--metrics", "source_precision,response_precision,groundedness", "--json")


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSTEMONE_API_KEY", KEY)
    for name in ("TYPESAFE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.jsonl", [row(i) for i in range(4)])


def judging(server: Server, *more: object, model: str = "m") -> tuple[object, ...]:
    return ("--judge", f"systemone:{model}@{server.root}", *more)


def test_a_model_that_was_replaced_since_the_last_run_is_told_with_both_names(command, tmp_path: Path) -> None:
    files = [written(tmp_path / f"{number}.jsonl", [row(number)]).name for number in range(3)]
    decider = Decider()
    with Server(decider) as server:
        command("evaluate", files[0], *METRICS, *judging(server))
        same = command("evaluate", files[1], *METRICS, *judging(server))
        decider.model = "m-2"
        other = command("evaluate", files[2], *METRICS, *judging(server))

    assert "replies name" not in " ".join(same.json.get("warnings", ()))
    (told,) = [one for one in other.json["warnings"] if "replies name" in one]
    assert told == f"systemone:m@{server.root}: replies name the model m-2, earlier ones m-1"


def test_keys_appear_nowhere(command, rows: Path, tmp_path: Path) -> None:
    def leaks(heard: Heard) -> Said:
        told = heard.headers["authorization"]
        return Said({"error": f"{told} isn't known"}, 400 if len(server.heard) % 2 else 401)

    with Server(leaks) as server:
        refused = command("evaluate", rows.name, *LEAN, *judging(server))
        checked = command("judge", "check", f"systemone:m@{server.root}")
    with Server(Decider()) as server:
        judged = command("evaluate", rows.name, *LEAN, *judging(server))

    assert (refused.code, checked.code, judged.code) == (3, 3, 0)
    assert "isn't known" in refused.err + checked.err
    assert KEY not in "".join(one.out + one.err for one in (refused, checked, judged))
    assert [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()] == []


def test_a_plan_is_what_is_sent_within_a_twentieth(command, tmp_path: Path) -> None:
    rows = written(tmp_path / "rows.jsonl", [row(i) for i in range(30)])
    with Server(Decider()) as server:
        planned = command("plan", rows.name, *METRICS, *judging(server))
        assert server.heard == []
        judged = command("evaluate", rows.name, *METRICS, *judging(server))
        sent = sum(int(one.headers["content-length"]) for one in server.heard)

    least, most, spent = planned.json["least"], planned.json["most"], judged.json["spent"]
    assert least["requests"] == most["requests"] == spent["requests"] - 1  # the first is sent in reverse, too
    assert least["tokens_in"] == pytest.approx(sent / 4, rel=0.05)
    assert most["tokens_in"] == pytest.approx(sent / 4, rel=0.05)
    assert (most["tokens_out"], most["price"]) == (0, 0.0)


def test_a_budget_holds(command, rows: Path) -> None:
    with Server(Decider()) as server:
        stopped = command("evaluate", rows.name, *LEAN, *judging(server, "--decide-price", "1000:0", "--budget", "0.9"))

    assert stopped.code == 3
    assert "before the budget of $0.90 was passed" in stopped.err
    assert stopped.json["spent"]["cost"] <= 0.9


FAULTS = [
    Said({"error": "broken"}, 500, {"retry-after-ms": "1"}),
    Said(reset=True),
    Said('{"answers": {"q1": {"no'),
    Said({"error": "slow down"}, 429, {"retry-after-ms": "1"}),
]


def test_nothing_is_lost_by_failures(command, tmp_path: Path) -> None:
    rows = written(tmp_path / "rows.jsonl", [row(i) for i in range(16)])
    drawn: Counter[int] = Counter()

    def faults(body: Mapping[str, Any], times: int) -> Said | None:
        which = (sum(json.dumps(body, sort_keys=True).encode()) + 37 * times) % 12
        drawn[which] += which < len(FAULTS)
        return FAULTS[which] if which < len(FAULTS) else None

    found = []
    for decider in (Decider(), Decider(faults)):
        with Server(decider) as server:
            said = command("evaluate", rows.name, *LEAN, *judging(server), "--store", f"s{len(found)}")
            assert ("sent again" in said.err) == bool(found)
            found.append(said.json["metrics"])

    assert all(drawn[which] for which in range(len(FAULTS)))
    assert found[1] == found[0]


def test_processes_of_their_own_judge_alike_and_tell_what_they_saw(command, in_this_process, rows: Path) -> None:
    with Server(Decider(model="m-latest")) as server:
        apart = command(
            "evaluate", rows.name, *LEAN, *judging(server, model="m-latest"), "--on", "local:1", "--out", "there"
        )
        alone = command("evaluate", rows.name, *LEAN, *judging(server, model="m-latest"))

    assert (apart.code, alone.code) == (0, 0), apart.err
    assert {name: one["mean"] for name, one in apart.json["metrics"].items()} == {
        name: one["mean"] for name, one in alone.json["metrics"].items()
    }
    moving = "names another model from one day to the next"
    assert moving in apart.err
    assert moving in " ".join(alone.json["warnings"])


def test_what_replies_show_is_kept_with_the_run(command, rows: Path) -> None:
    class Leaking(Decider):
        def reply(self, body: Mapping[str, Any]) -> dict[str, Any]:
            found = super().reply(body)
            for one in found["answers"].values():
                one["noul"] = (one.get("noul", 0) + len(body["questions"]) / 10) % 1
            return found

    with Server(Leaking()) as server:
        said = command("evaluate", rows.name, "--metrics", "source_precision,groundedness", *judging(server))
    shown, page = command("show", 1), Path(".ragtriage/run-1.html").read_text("utf-8")

    told = r"\d+ of \d+ answers? moved by over 0.05 beside other questions: try --batch-size 1"
    for text in (said.out, shown.out, page):
        assert re.search(told, " ".join(text.split()))


def test_settings_of_a_file_name_the_decider_and_its_limits(command, rows: Path) -> None:
    with Server(Decider()) as server:
        settings = f'decide = "systemone:m@{server.root}"\n[llm]\nmax_body = 2000\ndecide_price = "1:0"\n'
        Path("ragtriage.toml").write_text(settings, "utf-8")
        said = command("evaluate", rows.name, *LEAN)

    assert said.json["judge"] == f"embedded+decide:systemone:m@{server.root}"
    assert max(int(one.headers["content-length"]) for one in server.heard) <= 2000
    assert said.json["spent"]["cost"] == pytest.approx(said.json["spent"]["tokens_in"] / 1e6)
