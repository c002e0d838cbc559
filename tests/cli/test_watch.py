"""`ragtriage watch --replay` and `ragtriage windows`: what is printed, exit codes, what is stored of customers."""

import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cli_rows import row, written
from places import Place
from ragtriage import open_store
from ragtriage.view.history import history_of
from ragtriage.view.opened_runs import OpenedRuns
from ragtriage.view.server import StoreRuns

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
LEAN = ("--metrics", "groundedness")
SECRET = "anna.muster@example.org"


def traffic(i: int, **changed: Any) -> dict[str, Any]:
    """A row with a time, ten minutes after the one before."""
    return row(i, **{"time": (BEGIN + timedelta(minutes=10 * i)).isoformat(), **changed})


def wrong(i: int) -> dict[str, Any]:
    return traffic(i, answer=f"The museum opens at nine on {i} June, and dogs may come in for free.")


def test_without_replay_it_says_that_there_is_no_receiver_yet(command) -> None:
    for args in (("watch",), ("watch", "t.jsonl"), ("watch", "--baseline", "1")):
        said = command(*args)
        assert said.code == 2
        assert "there is no live receiver yet: give files of traffic, ragtriage watch --replay FILE" in said.err
    assert "name the files to replay" in command("watch", "--replay").err


def test_windows_are_listed_and_read_like_any_run(command, tmp_path: Path) -> None:
    rows = [
        traffic(i, version="1.4" if i < 5 else "1.5", question=f"What does ticket {i % 6} cost?") for i in range(12)
    ]
    written(tmp_path / "t.jsonl", rows)
    said = command("watch", "--replay", "t.jsonl", "--window", "1h", *LEAN)
    assert said.code == 0
    assert "12 cases, 12 to be judged, in 2 windows" in said.err
    assert "10,000 judged cases, which pass on average before a false alarm, are 69 days of such traffic" in said.err
    lines = said.out.splitlines()
    assert (
        lines[0] == "   1  2026-11-01 00:00 – 2026-11-01 01:00  6 cases, 6 judged  too few to tell  version 1.4 → 1.5"
    )
    assert lines[1].startswith("      Grounded 0.9")
    assert lines[2] == "   2  2026-11-01 01:00 – 2026-11-01 02:00  6 cases, 6 judged  too few to tell"
    assert lines[-2:] == ["no alarms yet: the baseline has 12 of 500 drawn cases", "no alarm is open"]

    again = command("watch", "--replay", "t.jsonl", "--window", "1h", *LEAN)
    assert again.out.splitlines()[:4] == lines[:4]
    assert "2 windows of these were judged before" in again.out
    assert command("windows").out.splitlines()[:4] == [*lines[2:4], *lines[:2]]
    assert "What does ticket 3 cost?" in command("show", "1", "r3").out
    assert "watch: traffic" in command("runs").out
    assert command("report", "1", "-o", "w.html").code == 0
    compared = command("compare", "1", "2", "--pair", "query", "--json")
    assert (compared.code, compared.json["metrics"]["groundedness"]["cases"]) == (0, 6)
    assert "new run 3\n" in command("evaluate", "t.jsonl", *LEAN).err  # a window is no earlier run of the file


def span(trace: int, number: int, parent: str, kind: str, **attributes: str) -> dict[str, Any]:
    """A line of a collector's file with one span."""
    begin = 1_764_000_000_000_000_000 + trace * 10**9
    held = {"openinference.span.kind": kind} | {key.replace("__", "."): value for key, value in attributes.items()}
    own = {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "parentSpanId": parent,
        "name": kind,
        "startTimeUnixNano": str(begin),
        "endTimeUnixNano": str(begin + 10**8),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in held.items()],
    }
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [own]}]}]}


def test_a_trace_that_is_split_between_files_given_side_by_side_is_one(command, tmp_path: Path) -> None:
    chains = [
        span(i, 1, "", "CHAIN", input__value=f"What does ticket {i} cost?", output__value=f"Ticket {i} costs 3 euros.")
        for i in range(1, 4)
    ]
    found = [
        span(i, 2, f"{1:016x}", "RETRIEVER", retrieval__documents__0__document__content=f"Ticket {i} costs 3 euros.")
        for i in range(1, 4)
    ]
    (tmp_path / "new").mkdir()
    written(tmp_path / "old.jsonl", [*found, chains[0]])
    written(tmp_path / "new" / "t.jsonl", chains[1:])
    written(tmp_path / "cases.jsonl", [traffic(9)])
    said = command("watch", "--replay", "old.jsonl", "cases.jsonl", "new", *LEAN)
    assert said.code == 0, said.err
    assert "old.jsonl and 1 more (otlp)" in said.err
    assert "OTLP JSON · 3 traces, 6 spans" in said.err
    assert "4 cases, 4 to be judged" in said.err
    assert "can't be used" not in said.err
    with open_store(tmp_path / ".ragtriage") as store:
        cases = {record.case.query: record.case for run in (1, 2) for record in store.run(run).records()}
    for i in range(1, 4):
        case = cases[f"What does ticket {i} cost?"]
        assert [one.text for one in case.known_sources] == [f"Ticket {i} costs 3 euros."]


def test_a_small_part_is_judged_more_often(command, tmp_path: Path) -> None:
    rows = [traffic(i, tenant="small" if i % 10 == 0 else "big") for i in range(40)]
    written(tmp_path / "t.jsonl", rows)
    watch = ("watch", "--replay", "t.jsonl", *LEAN, "--sample", "0")
    assert "40 cases, 0 to be judged" in command(*watch).err
    # of the small one none came within the hour before
    some = command(*watch, "--name", "s", "--stratify", "tenant", "--at-least", "0.001/min", "--json")
    assert "40 cases, " in some.err
    with open_store(tmp_path / ".ragtriage") as store:
        found = [record.case.tags["tenant"] for record in store.run(some.json["windows"][0]["run"]).records()]
    assert found.count("small") == 4
    assert found.count("big") < 6
    refused = command(*watch, "--at-least", "1/min")
    assert refused.code == 2
    assert "--at-least needs the tag whose values are each to be seen: name it with --stratify" in refused.err


def test_an_alarm_exits_with_1_until_it_is_acknowledged(command, tmp_path: Path) -> None:
    written(tmp_path / "base.jsonl", [traffic(i) for i in range(50)])
    written(tmp_path / "t.jsonl", [traffic(i) if i < 55 else wrong(i) for i in range(50, 70)])
    assert command("evaluate", "base.jsonl", *LEAN).code == 0
    flags = ("--window", "500", "--baseline", "1", "--alarm-every", "50", *LEAN)
    said = command("watch", "--replay", "t.jsonl", *flags)
    assert said.code == 1
    assert "3 detectors against run 1" in said.err
    alarms = [line for line in said.out.splitlines() if line.startswith("alarm ")]
    assert alarms[0].startswith("alarm 1: Grounded got worse since 2026-11-01T")
    assert "in the window of run 2, baseline 0.99" in alarms[0]
    assert "; worst: r5" in alarms[0] or "; worst: r6" in alarms[0]
    with open_store(tmp_path / ".ragtriage") as there:
        page = history_of(OpenedRuns(StoreRuns(there)))
    assert [(said.partition(" of ")[0].partition(" 0")[0], run) for said, run in page.alarms] == [
        ("alarm 1: Grounded", "2")
    ]
    assert page.windows["2"].startswith("window of ")

    found = command("windows", "--json").json
    assert [one["number"] for one in found["alarms"]] == list(range(1, len(alarms) + 1))
    first = found["alarms"][0]
    assert (first["metric"], first["run"], first["closed"]) == ("groundedness", 2, None)
    assert first["mean"] < first["baseline"]
    told = command("watch", "--replay", "t.jsonl", *flags, "--json")
    assert (told.code, told.json["alarms"]) == (1, found["alarms"])
    assert {one["metric"] for one in told.json["detectors"]} == {"groundedness", "undefined", "failing"}
    assert command("store", "delete", "2", "--yes").code == 0  # an alarm outlives its window
    assert command("windows").out.splitlines()[: len(alarms)] == alarms
    for number in range(1, len(alarms) + 1):
        assert command("windows", "ack", str(number)).out.startswith(f"closed: alarm {number}: ")
    assert command("windows", "ack", "7").err == "ragtriage: there is no alarm 7: none is open\n"
    assert command("watch", "--replay", "t.jsonl", *flags).code == 0
    assert "no alarm is open" in command("windows").out


def test_a_baseline_without_a_detector_is_refused_and_none_is_told_loudly(command, tmp_path: Path) -> None:
    written(tmp_path / "base.jsonl", [traffic(i, tenant=f"t{i % 2}") for i in range(60)])
    written(tmp_path / "few.jsonl", [traffic(i) for i in range(4)])
    assert command("evaluate", "base.jsonl", *LEAN).code == command("evaluate", "few.jsonl", *LEAN).code == 0
    said = command("watch", "--replay", "few.jsonl", "--baseline", "2", *LEAN)
    assert (said.code, said.out) == (2, "")
    assert "--baseline: run 2 gives no detector: 4 cases of it count, drawn by lot and one a conversation" in said.err
    assert "and 50 are needed: name more runs, or leave --baseline out" in said.err
    parted = command("watch", "--replay", "few.jsonl", "--baseline", "1", "--stratify", "tenant", *LEAN)
    assert parted.code == 2
    assert "60 cases of it count" in parted.err
    assert "50 are needed with the same value of --stratify" in parted.err
    assert command("watch", "--replay", "few.jsonl", "--baseline", "1,2", *LEAN).code == 0


def test_wrong_flags_are_told_before_anything_is_judged(command, tmp_path: Path) -> None:
    written(tmp_path / "t.jsonl", [traffic(i) for i in range(3)])
    for flags, told in (
        (("--window", "soon"), "--window 'soon': write 30m, 1h"),
        (("--sample", "3"), "--sample 3: give a share from 0 to 1"),
        (("--keep", "tenant"), "--keep 'tenant': write TAG=VALUE"),
        (("--tolerance", "2"), "--tolerance 2: give a number from 0"),
        (("--keep-texts", "soon"), "--keep-texts soon: write a number of days"),
        (("--baseline", "9"), "no run"),
        (("--redact", "x.py:f"), "--redact x.py:f: there is no file 'x.py'"),
        (("--redact", "letters"), "--redact letters: write builtin, or path/to/file.py:function"),
    ):
        said = command("watch", "--replay", "t.jsonl", *flags)
        assert (said.code, told in said.err) == (2, True), said.err
    listed = command("windows")
    assert (listed.out, listed.err) == (
        "no alarm is open\n",
        "no window is stored: ragtriage watch --replay FILE\n",
    )


def private(i: int) -> dict[str, Any]:
    """A row that names somebody in every kind of place."""
    return traffic(
        i,
        question=f"Was the ticket {i} of {SECRET} paid?",
        contexts=[f"The ticket {i} of {SECRET} was paid with 4111 1111 1111 1111."],
        answer=f"Yes, the ticket {i} was paid from DE89 3704 0044 0532 0130 00 by {SECRET}.",
        history=[{"role": "user", "content": f"I am {SECRET}."}],
        note=[{"text": f"from {SECRET}"}],
        user=SECRET,
    )


def test_nothing_that_is_hidden_is_stored_or_shown(command, tmp_path: Path) -> None:
    written(tmp_path / "t.jsonl", [*(private(i) for i in range(4)), {**private(4), "question": [f"{SECRET}"]}])
    said = command("watch", "--replay", "t.jsonl", "--redact", "builtin", *LEAN)
    assert SECRET not in said.out + said.err
    place = Place(str(tmp_path / ".ragtriage"))
    for word in (SECRET, "4111", "DE89"):
        assert not place.holds(word)
    with open_store(tmp_path / ".ragtriage") as store:
        case = next(store.run(1).records()).case
    assert case.query == "Was the ticket 0 of [e-mail] paid?"
    assert case.response == "Yes, the ticket 0 was paid from [IBAN] by [e-mail]."
    assert case.known_sources[0].text == "The ticket 0 of [e-mail] was paid with [card]."
    assert case.tags["note"] == [{"text": "from [e-mail]"}]
    assert len(case.tags["user"]) == 24


def test_conversations_that_are_hidden_stay_apart(command, tmp_path: Path) -> None:
    rows = [traffic(i, conversation=f"user{i % 6}@example.org", user_id=f"user{i % 6}@example.org") for i in range(12)]
    written(tmp_path / "t.jsonl", rows)
    said = command("watch", "--replay", "t.jsonl", "--redact", "builtin", *LEAN)
    assert "the baseline has 6 of 500 drawn cases" in said.out
    assert not Place(str(tmp_path / ".ragtriage")).holds("example.org")
    with open_store(tmp_path / ".ragtriage") as store:
        cases = [record.case for record in store.run(1).records()]
    assert len({case.tags["conversation"] for case in cases}) == 6
    assert all(case.tags["conversation"] == case.tags["user_id"] for case in cases)


def test_users_are_digests_by_a_key_that_only_the_owner_reads(command, tmp_path: Path) -> None:
    written(tmp_path / "t.jsonl", [traffic(i, user=f"u{i % 2}") for i in range(4)])
    command("watch", "--replay", "t.jsonl", *LEAN)
    command("watch", "--replay", "t.jsonl", "--name", "plain", "--plain-users", *LEAN)
    command("watch", "--replay", "t.jsonl", "--store", "other", *LEAN)
    key = tmp_path / ".ragtriage" / "user.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    users = []
    for folder, run in ((".ragtriage", 1), (".ragtriage", 2), ("other", 1)):
        with open_store(tmp_path / folder) as store:
            users.append([record.case.tags["user"] for record in store.run(run).records()])
    assert users[1] == ["u0", "u1", "u0", "u1"]
    assert users[0][0] == users[0][2] != users[0][1]
    assert users[2][0] != users[0][0]


@pytest.mark.parametrize(
    ("body", "code", "told"),
    [
        ("return text.replace('ticket', 'T') if key != 'source' else text", 0, ""),
        ("raise ValueError(text)", 2, "its redaction failed (ValueError): it isn't used"),
        ("return None", 2, "its redaction failed (TypeError): it isn't used"),
    ],
)
def test_a_function_of_ones_own_hides_or_refuses(command, tmp_path: Path, body: str, code: int, told: str) -> None:
    (tmp_path / "mine.py").write_text(f"def hide(key, text):\n    {body}\n", "utf-8")
    written(tmp_path / "t.jsonl", [traffic(i) for i in range(2)])
    said = command("watch", "--replay", "t.jsonl", "--redact", "mine.py:hide", *LEAN)
    assert said.code == code
    assert told in said.err
    if not code:
        with open_store(tmp_path / ".ragtriage") as store:
            case = next(store.run(1).records()).case
        assert (case.query, case.known_sources[0].text) == ("What does T 0 cost?", "Ticket 0 costs 3 euros.")
    wanted = command("watch", "--replay", "t.jsonl", "--redact", "mine.py:hid").err
    assert "mine.py has no function 'hid': hide?" in wanted


def test_texts_are_forgotten_at_once_where_none_is_to_be_kept(command, tmp_path: Path) -> None:
    written(tmp_path / "t.jsonl", [traffic(i) for i in range(3)])
    assert command("watch", "--replay", "t.jsonl", "--keep-texts", "0", *LEAN).code == 0
    assert not Place(str(tmp_path / ".ragtriage")).holds("The office sells tickets")
    assert json.loads(command("windows", "--json").out)["windows"][0]["means"]["groundedness"] > 0.5
