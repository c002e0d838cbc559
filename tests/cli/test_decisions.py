"""`ragtriage evaluate`, `plan` and `judge` with a decision model behind a server on this machine."""

import json
import re
import signal
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cli_processes import Gate, begun, until

from cli_rows import row, written
from fake_decisions import Decider, questions_in
from ragtriage import open_store
from ragtriage.core.verdicts import Verdict, Verdicts
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


def test_a_decision_model_judges_and_what_it_took_is_told_and_stored(command, rows: Path) -> None:
    with Server(decider := Decider()) as server:
        said = command("evaluate", rows.name, *METRICS, *judging(server))
        again = command("evaluate", rows.name, *METRICS, *judging(server))
        shown, asked = command("show", 1), len(server.heard)
    command("report", 1, "-o", "run.html")

    found = said.json
    assert (said.code, found["cases"], found["state"]) == (0, 4, "finished")
    assert found["judge"] == f"embedded+decide:systemone:m@{server.root}"
    assert found["counting"].startswith("uncalibrated: essential, relevant, answered, supported")
    assert found["spent"]["requests"] == asked == len(decider.bodies)
    assert found["spent"]["tokens_in"] == sum(len(json.dumps(one, ensure_ascii=False)) // 4 for one in decider.bodies)
    assert all(one.headers["authorization"] == f"Bearer {KEY}" for one in server.heard)
    assert {one.path for one in server.heard} == {"/v1/systemone"}
    assert "spent" not in again.json or not again.json["spent"]["requests"]
    text = " ".join(shown.out.split())
    assert "same_answer, declines and holds)" in text
    assert "yes from .5 on, which nobody measured on your texts: ragtriage trust label, trust calibrate" in text
    page = Path("run.html").read_text("utf-8")
    assert "same_answer, declines and holds)" in page
    assert "yes from .5 on, which nobody measured" in page


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


def test_verdicts_have_probabilities_and_passages(command, rows: Path) -> None:
    with Server(Decider()) as server:
        command("evaluate", rows.name, *METRICS, *judging(server))
    with open_store() as store:
        grids = [one for record in store.run(1).records() for one in record.steps.values() if isinstance(one, Verdicts)]
    found = [one for grid in grids for line in grid.cells for one in line if isinstance(one, Verdict)]

    supported = [one for one in found if "passage" in one.explanation]
    assert supported
    assert all(one.score is not None and one.chance is None for one in found)


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


@pytest.mark.parametrize(
    ("judge", "more", "price"),
    [
        ("typesafe:jev-1.13.0", (), "$0.042 a million in, listed 2026-11; output is free"),
        ("typesafe:other", (), "not known: give --decide-price IN:OUT"),
        ("typesafe:other", ("--decide-price", "1:2"), "by --decide-price"),
    ],
)
def test_a_plan_says_what_its_price_rests_on(
    command, rows: Path, judge: str, more: tuple[str, ...], price: str
) -> None:
    said = command("plan", rows.name, "--metrics", "groundedness", "--judge", judge, *more)

    text = " ".join(said.out.split())
    assert said.code == 0, said.err
    assert f"plan of rows.jsonl · 4 cases · embedded+decide:{judge}" in text
    assert price in text
    assert "reply tokens" not in text


def test_a_budget_holds_and_an_unknown_price_has_none(command, rows: Path) -> None:
    with Server(Decider()) as server:
        unknown = command("evaluate", rows.name, *LEAN, "--judge", "systemone:m@https://example.org", "--budget", 1)
        stopped = command("evaluate", rows.name, *LEAN, *judging(server, "--decide-price", "1000:0", "--budget", "0.9"))

    assert (unknown.code, stopped.code) == (2, 3)
    assert "--decide-price IN:OUT" in unknown.err
    assert "before the budget of $0.90 was passed" in stopped.err
    assert stopped.json["spent"]["cost"] <= 0.9


def test_a_jury_asks_each_of_its_members(command, rows: Path) -> None:
    with Server(Decider()) as server:
        three = [one for name in "abc" for one in judging(server, model=name)]
        said = command("evaluate", rows.name, *LEAN, *three, "--jury", "majority")

    assert said.code == 0, said.err
    assert Counter(one.body["model"] for one in server.heard).keys() == {"a", "b", "c"}
    assert said.json["judge"].count("+decide:systemone:") == 3


def test_a_cascade_asks_what_the_embedded_judge_is_not_sure_of(command, rows: Path) -> None:
    with Server(Decider()) as server:
        alone = command("plan", rows.name, *METRICS, *judging(server)).json["most"]["requests"]
        said = command("evaluate", rows.name, *METRICS, *judging(server), "--cascade", "0.1:0.9")
        shipped = command("plan", rows.name, *METRICS, *judging(server), "--cascade", "shipped")

    assert (said.code, shipped.code) == (0, 0), said.err
    assert 0 < said.json["spent"]["requests"] <= alone
    assert "cascade: the embedded judge decided" in said.err


def test_shipped_bands_are_not_for_a_decision_model_that_decides_first(command, rows: Path) -> None:
    judges = ("--judge", "systemone:m@http://127.0.0.1:9", "--judge", "systemone:n@http://127.0.0.1:9")
    said = command("evaluate", rows.name, *LEAN, *judges, "--cascade", "shipped")

    assert said.code == 2
    assert "give a band, LOW:HIGH" in said.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--judge", "systemone:kev"), "write for example systemone:kev@http://localhost:11434"),
        (("--judge", "systemone:kev@http://me:secret@x.org"), "without password"),
        (("--judge", "systemone:x@http://x.org", "--decide", "typesafe:y"), "a decider of its own"),
        (("--decide", "same"), "gives its verdicts itself"),
        (("--judge", "openai:m", "--protocol", "paper", "--decide", "typesafe:y"), "asks for verdicts itself"),
        (("--judge", "typesafe:jev-1"), "TYPESAFE_API_KEY"),
        (("--judge", "systemone:x@http://x.org", "--batch-api"), "a batch API is for language models"),
        (
            ("--judge", "systemone:x@http://127.0.0.1:9", "--base-rate", "supported=0.9"),
            "--base-rate supported: there is no chance to move",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused_before_anything_is_asked(
    command, rows: Path, flags: tuple[str, ...], message: str
) -> None:
    said = command("evaluate", rows.name, *LEAN, *flags)

    assert said.code == 2
    assert message in said.err
    assert "secret" not in said.err


def test_the_embedded_judge_as_decider_is_as_without(command, rows: Path) -> None:
    said = command("plan", rows.name, *METRICS, "--decide", "embedded")

    assert (said.code, said.json["judge"]) == (0, "embedded")


FAULTS = {
    "500": Said({"error": "broken"}, 500, {"retry-after-ms": "1"}),
    "reset": Said(reset=True),
    "malformed": Said('{"answers": {"q1": {"no'),
    "429": Said({"error": "slow down"}, 429, {"retry-after-ms": "1"}),
}


@pytest.mark.parametrize(("fault", "share"), [("500", 10), ("reset", 10), ("malformed", 10), ("429", 30)])
def test_nothing_is_lost_by_failures(command, tmp_path: Path, fault: str, share: int) -> None:
    rows = written(tmp_path / "rows.jsonl", [row(i) for i in range(16)])

    def faults(body: Mapping[str, Any], times: int) -> Said | None:
        drawn = sum(json.dumps(body, sort_keys=True).encode()) + 37 * times
        return FAULTS[fault] if drawn % 100 < share else None

    found = []
    for decider in (Decider(), Decider(faults)):
        with Server(decider) as server:
            said = command("evaluate", rows.name, *LEAN, *judging(server), "--store", f"s{len(found)}")
            assert ("sent again" in said.err) == bool(found)
            found.append((said.json["metrics"], len(server.heard) - len(decider.bodies)))

    (clean, _), (faulty, lost) = found
    assert lost > 0
    assert faulty == clean


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_cut_off_repeats_at_most_what_was_in_flight(
    command, tmp_path: Path, how: signal.Signals
) -> None:
    rows = written(tmp_path / "rows.jsonl", [row(i) for i in range(24)])
    with Server(gate := Gate(20, Decider())) as server:
        flags = ("evaluate", rows.name, *LEAN, *judging(server, "--concurrency", 4))
        with begun(tmp_path, *flags) as child:
            until(lambda: len(server.heard) == 24, child)
            child.send_signal(how)
            if how == signal.SIGINT:
                gate.open()
            child.communicate()
            code = child.wait()
        gate.open()
        before = len(server.heard)
        said = command(*flags)
        times = Counter(json.dumps(one.body, sort_keys=True) for one in server.heard)

    assert code == (3 if how == signal.SIGINT else -how)
    assert (said.code, said.json["cases"]) == (0, 24)
    repeated = sum(times.values()) - len(times)
    turned = 1  # the run that goes on sends its first request in reverse, too
    assert repeated <= (0 if how == signal.SIGINT else 4) + turned
    assert len(server.heard) > before


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


def test_a_check_prints_a_line(command) -> None:
    with Server(Decider(decides=lambda asked: 0.25 + 0.04 * ("answer yes" in asked))) as server:
        said = command("judge", "check", f"systemone:m@{server.root}")
        as_json = command("judge", "check", f"systemone:m@{server.root}", "--json")
        other = command("judge", "check", "openai:m")

    assert " ".join(said.out.split()) == (
        "model m-1 · alone .00, reversed .00, renamed .00, repeated .00 · orders inside a text .04"
    )
    assert as_json.json["orders"] == pytest.approx(0.04)
    assert (other.code, "systemone:kev@http://localhost:11434" in other.err) == (2, True)
    assert all(question["type"] == "noul" for question in questions_in([one.body for one in server.heard]))


def test_one_question_a_request(command, rows: Path) -> None:
    with Server(Decider()) as server:
        said = command("evaluate", rows.name, *LEAN, *judging(server, "--batch-size", 1))

    assert said.code == 0
    assert {len(one.body["questions"]) for one in server.heard} == {1}


def test_settings_of_a_file_name_the_decider_and_its_limits(command, rows: Path) -> None:
    with Server(Decider()) as server:
        settings = f'decide = "systemone:m@{server.root}"\n[llm]\nmax_body = 2000\ndecide_price = "1:0"\n'
        Path("ragtriage.toml").write_text(settings, "utf-8")
        said = command("evaluate", rows.name, *LEAN)

    assert said.json["judge"] == f"embedded+decide:systemone:m@{server.root}"
    assert max(int(one.headers["content-length"]) for one in server.heard) <= 2000
    assert said.json["spent"]["cost"] == pytest.approx(said.json["spent"]["tokens_in"] / 1e6)
