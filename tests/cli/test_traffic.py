"""`traces` and `watch --replay`: several files as one, what is stored of customers, an alarm in the viewer."""

import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cli_rows import row, written
from places import Place
from prepared_folders import traffic as write_traffic
from ragtriage import Case, open_store
from ragtriage.view.history import history_of
from ragtriage.view.opened_runs import OpenedRuns
from ragtriage.view.server import StoreRuns

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
LEAN = ("--metrics", "groundedness")
WATCH = ("watch", "--replay", "t.jsonl", *LEAN)
SECRET = "anna.muster@example.org"
GIVEN = Path(__file__).parents[1] / "golden" / "given"


def traffic(i: int, **changed: Any) -> dict[str, Any]:
    """A row with a time, ten minutes after the one before."""
    return row(i, **{"time": (BEGIN + timedelta(minutes=10 * i)).isoformat(), **changed})


def cases_of(run: int, store: str = ".ragtriage") -> list[Case]:
    with open_store(store) as there:
        return [record.case for record in there.run(run).records()]


def test_several_files_of_traces_are_one_in_any_order(command) -> None:
    for name in "ab":
        Path(f"{name}.jsonl").write_bytes((GIVEN / f"traces-{name}.jsonl").read_bytes())
    for files in (("a.jsonl", "b.jsonl"), ("b.jsonl", "a.jsonl", "a.jsonl")):
        assert command("traces", *files, "-o", f"of-{files[0]}").code == 0
        said = command("evaluate", *files, *LEAN)
    assert Path("of-a.jsonl").read_bytes() == Path("of-b.jsonl").read_bytes()
    assert "0 rows changed since run 1" in said.err
    with open_store() as store:
        assert store.run(1).info.identity == store.run(2).info.identity


def test_a_file_of_a_folder_that_cannot_be_read_makes_the_run_incomplete(command) -> None:
    Path("set").mkdir()
    third = (GIVEN / "traces-a.jsonl").read_text("utf-8").split("\n", 1)[1]
    Path("set/a.jsonl").write_text("".join(third.replace(f"{3:032x}", f"{i:032x}") for i in range(1, 13)), "utf-8")
    Path("set/b.jsonl").touch()
    assert command("evaluate", "set", *LEAN).code == 0
    Path("set/b.jsonl").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(60))
    said = command("evaluate", "set", *LEAN)
    assert said.code == 3
    assert "set/b.jsonl: is packed by zstd: unpack it with" in said.err


def test_an_alarm_is_shown_in_the_viewer(command) -> None:
    write_traffic()
    assert command("evaluate", "base.jsonl", *LEAN).code == 0
    watch = ("watch", "--replay", "worse.jsonl", "--window", "500", "--baseline", "1", "--alarm-every", "50", *LEAN)
    assert command(*watch).code == 1
    with open_store() as there:
        page = history_of(OpenedRuns(StoreRuns(there)))
    ((told, run),) = page.alarms
    assert (told[:17], run) == ("alarm 1: Grounded", "2")
    assert page.windows["2"].startswith("window of ")


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


def test_nothing_that_is_hidden_is_stored_or_shown(command) -> None:
    written(Path("t.jsonl"), [*(private(i) for i in range(4)), {**private(4), "question": [f"{SECRET}"]}])
    said = command(*WATCH, "--redact", "builtin")
    assert SECRET not in said.out + said.err
    for word in (SECRET, "4111", "DE89"):
        assert not Place(".ragtriage").holds(word)
    case = cases_of(1)[0]
    assert case.query == "Was the ticket 0 of [e-mail] paid?"
    assert case.response == "Yes, the ticket 0 was paid from [IBAN] by [e-mail]."
    assert case.known_sources[0].text == "The ticket 0 of [e-mail] was paid with [card]."
    assert case.tags["note"] == [{"text": "from [e-mail]"}]
    assert len(case.tags["user"]) == 24


def test_conversations_that_are_hidden_stay_apart(command) -> None:
    rows = [traffic(i, conversation=f"user{i % 6}@example.org", user_id=f"user{i % 6}@example.org") for i in range(12)]
    written(Path("t.jsonl"), rows)
    said = command(*WATCH, "--redact", "builtin")
    assert "the baseline has 6 of 500 drawn cases" in said.out
    assert not Place(".ragtriage").holds("example.org")
    cases = cases_of(1)
    assert len({case.tags["conversation"] for case in cases}) == 6
    assert all(case.tags["conversation"] == case.tags["user_id"] for case in cases)


def test_users_are_digests_by_a_key_that_only_the_owner_reads(command) -> None:
    written(Path("t.jsonl"), [traffic(i, user=f"u{i % 2}") for i in range(4)])
    command(*WATCH)
    command(*WATCH, "--name", "plain", "--plain-users")
    command(*WATCH, "--store", "other")
    assert stat.S_IMODE(Path(".ragtriage/user.key").stat().st_mode) == 0o600
    own, plain, elsewhere = (
        [case.tags["user"] for case in cases_of(run, store)]
        for run, store in ((1, ".ragtriage"), (2, ".ragtriage"), (1, "other"))
    )
    assert plain == ["u0", "u1", "u0", "u1"]
    assert own[0] == own[2] != own[1]
    assert elsewhere[0] != own[0]


def test_a_function_of_ones_own_hides(command) -> None:
    Path("mine.py").write_text(
        "def hide(key, text):\n    return text.replace('ticket', 'T') if key != 'source' else text\n", "utf-8"
    )
    written(Path("t.jsonl"), [traffic(0)])
    assert command(*WATCH, "--redact", "mine.py:hide").code == 0
    (case,) = cases_of(1)
    assert (case.query, case.known_sources[0].text) == ("What does T 0 cost?", "Ticket 0 costs 3 euros.")


def test_texts_are_forgotten_at_once_where_none_is_to_be_kept(command) -> None:
    written(Path("t.jsonl"), [traffic(i) for i in range(3)])
    assert command(*WATCH, "--keep-texts", "0").code == 0
    assert not Place(".ragtriage").holds("The office sells tickets")
    assert command("windows", "--json").json["windows"][0]["means"]["groundedness"] > 0.5
