"""What can be wrong with a language model: its name, its key, its server, a request, a reply, a user's own prompts."""

import json
import sqlite3
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cli_models import Model, chats, judging, kinds_in, same, sometimes

from cli_rows import row, written
from ragtriage import open_store
from servers import Heard, Said, Server, chat, error, nobody

pytestmark = pytest.mark.usefixtures("openai")

LEAN = ("--metrics", "groundedness,response_precision", "--json")
"""Without the metrics for which the embedded judge is needed beside the model."""
PROMPT = "version: 1\n\n"
NOWHERE = "http://127.0.0.1:9/v1"


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.jsonl", [row(i) for i in range(6)])


def kept_kinds(store: str = ".ragtriage") -> set[str]:
    """The kinds of which an answer is stored."""
    connection = sqlite3.connect(f"{store}/runs.sqlite")
    try:
        return {kind for (kind,) in connection.execute("SELECT DISTINCT kind FROM answers")}
    finally:
        connection.close()


def evaluated(store: str) -> dict[str, Any]:
    """Every score and every verdict of the last run."""
    with open_store(store) as opened:
        return {record.case.id: (record.outcomes, record.steps) for record in opened.run("last").records()}


def test_a_missing_key_is_named_but_a_server_of_ones_own_needs_none(
    command, monkeypatch: pytest.MonkeyPatch, rows: Path
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with Server(Model()) as server:
        without = command("evaluate", rows.name, "--judge", "openai:gpt-5-mini")
        own = command("evaluate", rows.name, *LEAN, *judging(server))

    assert without.code == 2
    assert without.err == "ragtriage: openai:gpt-5-mini has no key: set the environment variable OPENAI_API_KEY\n"
    assert (own.code, own.json["cases"]) == (0, 6)


@pytest.mark.parametrize("missing", ["pydantic_ai", "openai"])
def test_a_missing_package_is_told_with_its_extra(process, rows: Path, missing: str) -> None:
    said = process("evaluate", rows.name, "--judge", "openai:gpt-5-mini", without=missing)

    assert said.code == 2
    assert said.err == (
        "ragtriage: openai models need the extra 'openai': in a copy of ragtriage's repository, "
        "pip install '.[openai]'\n"
    )
    assert "Traceback" not in said.err


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (error(401, "bad key sk-cli-0123456789"), "refuses the key (401): set OPENAI_API_KEY"),
        (error(403, "not you"), "doesn't let the key use this model (403)"),
        (error(404, "no"), "knows no such model or no such page (404)"),
        (error(429, "pay first", "insufficient_quota"), "credit or quota there is used up (429): pay first"),
        (error(400, "so not"), "openai:m rejects every request: the server refused the request (400): so not"),
    ],
    ids=["401", "403", "404", "quota", "400"],
)
def test_what_would_meet_every_request_ends_the_run_at_once(command, rows: Path, said: Said, told: str) -> None:
    written(rows, [row(i) for i in range(20)])
    refusing = True

    def refused(heard: Heard, times: int) -> Said | None:
        """In turn, as it is called in a lock: else one of the first may be overtaken by many later ones."""
        time.sleep(0.005)
        return said if refusing else None

    with Server(Model(refused)) as server:
        ended = command("evaluate", rows.name, *LEAN, *judging(server, "--concurrency", 4))
        asked = len(server.heard)
        kept = kept_kinds()
        refusing = False
        went_on = command("evaluate", rows.name, *LEAN, *judging(server, "--concurrency", 4))

    assert (ended.code, ended.out) == (3, "")
    assert told in ended.err.splitlines()[-1]
    assert "sk-cli" not in ended.err
    assert asked <= 12
    assert kept <= {"sentences", "similarity"}  # which no model is asked
    assert "continuing run 1: 0 of 20\n" in went_on.err
    assert (went_on.code, went_on.json["run"], went_on.json["cases"]) == (0, 1, 20)


def test_a_server_that_nobody_reaches_is_told_with_its_address(command, rows: Path) -> None:
    written(rows, [row(i) for i in range(16)])  # whichever of so many first gives up ends it
    address = nobody()

    said = command("evaluate", rows.name, *LEAN, "--judge", "openai:m", "--base-url", address)

    assert said.code == 3
    assert f"ragtriage: openai:m gives no answer: no connection to {address}" in said.err
    assert kept_kinds() <= {"sentences", "similarity"}


@pytest.mark.parametrize(
    ("said", "every", "told"),
    [
        (error(500, "broken"), 6, "server error (500) "),
        (error(429, "wait", headers={"Retry-After": "1"}), 9, "429 "),
        (chat("I'd rather talk about ferries."), 6, "malformed reply "),
        (chat('{"claims": ["It fl', finish="length"), 6, "truncated reply "),
        (Said("<html>a proxy</html>"), 6, "malformed response "),
        (Said(reset=True), 6, "no connection to "),
        (Said(after=60), 9, "no reply within 0.5 s "),
    ],
    ids=["500", "429", "malformed", "truncated", "html", "reset", "hanging"],
)
def test_faults_of_the_server_change_no_score_and_are_counted(
    command, rows: Path, said: Said, every: int, told: str
) -> None:
    deadline = ("--timeout", 0.5) if said.after else ()
    with Server(Model()) as sound, Server(Model(sometimes(said, every))) as faulty:
        expected = command("evaluate", rows.name, *LEAN, *judging(sound), "--store", "a")
        found = command("evaluate", rows.name, *LEAN, *judging(faulty, *deadline), "--store", "b")

    faults = len(faulty.heard) - len(sound.heard)
    assert faults >= len(sound.heard) // every > 0
    assert (found.code, found.json["metrics"]) == (0, expected.json["metrics"])
    assert evaluated("b") == evaluated("a")
    assert found.json["spent"]["requests"] == len(faulty.heard)
    line = found.err.splitlines()[-1]
    assert line.startswith(f"{faults} request{'s' if faults > 1 else ''} sent again: {told}")
    assert "sent again" not in expected.err


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (error(400, "blocked", "content_filter"), "the provider's content filter refused it"),
        (error(400, "too long: maximum context length is 8", "context_length_exceeded"), "too long for the model"),
        (chat(None, finish="content_filter"), "content filter"),
        (chat("Never."), "the reply doesn't fit"),
    ],
    ids=["filter", "length", "filtered reply", "never fits"],
)
def test_a_bad_request_fails_its_own_questions_and_the_next_run_asks_only_them(
    command, rows: Path, said: Said, told: str
) -> None:
    refusing = True

    def refused(heard: Heard, times: int) -> Said | None:
        bad = "Ticket 2 costs" in str(heard.body) and kinds_in(heard.body)["supported"]
        return said if refusing and bad else None

    with Server(Model(refused)) as server:
        failed = command("evaluate", rows.name, *LEAN, *judging(server))
        first = {same(body) for body in chats(server.heard)}
        bad = {same(body) for body in chats(server.heard) if refused(Heard("", {}, body), 1)}
        shown = command("show", 1, "r2")
        del server.heard[:]
        refusing = False
        again = command("evaluate", rows.name, *LEAN, *judging(server))

    assert failed.code == 3
    assert failed.json["metrics"]["groundedness"]["failed"] == 1
    assert failed.json["metrics"]["groundedness"]["n"] == 5
    assert told in " ".join(shown.out.split())
    assert len(bad) == 1 < len(first)
    assert {same(body) for body in chats(server.heard)} == bad
    assert (again.code, again.json["metrics"]["groundedness"]["n"]) == (0, 6)


def test_editing_a_prompt_asks_its_kind_again_and_nothing_else(command, rows: Path) -> None:
    Path("own").mkdir()
    with Server(Model()) as server:

        def asked(**prompts: str) -> Counter[str]:
            for name, words in prompts.items():
                Path(f"own/{name}.md").write_text(PROMPT + words, "utf-8")
            del server.heard[:]
            assert command("evaluate", rows.name, *LEAN, *judging(server, "--prompts", "own")).code == 0
            return sum((kinds_in(body) for body in chats(server.heard)), Counter())

        first = asked(supported="Does it follow?")
        words = str(server.heard)
        none = asked()
        supported = asked(supported="Does it really follow?")
        questions = asked(questions="Which questions does it ask?")

    assert "Does it follow?" in words
    assert none == {}
    assert supported == {"supported": first["supported"]}
    assert questions == {"questions": first["questions"]}
    assert len(first) >= 4


def test_guidance_goes_along_with_every_request_and_makes_every_answer_anew(command, rows: Path) -> None:
    Path("advice.txt").write_text("A ticket is always a ferry ticket.", "utf-8")
    with Server(Model()) as server:
        command("evaluate", rows.name, *LEAN, *judging(server))
        without = {same(body) for body in chats(server.heard)}
        del server.heard[:]
        command("evaluate", rows.name, *LEAN, *judging(server, "--guidance", "advice.txt"))
        with_it = chats(server.heard)
        del server.heard[:]
        command("evaluate", rows.name, *LEAN, *judging(server, "--guidance", "advice.txt"))

    assert {same(body) for body in with_it} == without
    assert all("A ticket is always a ferry ticket." in body["messages"][0]["content"] for body in with_it)
    assert server.heard == []


def test_the_settings_file_says_how_a_model_is_asked(command, tmp_path: Path, rows: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(0)])
    with Server(Model()) as server:
        settings = (
            f'judge = "openai:m"\n[llm]\nbase_url = "{server.url}"\nheaders = {{ X-Team = "red" }}\nprice = "1:2"\n'
        )
        Path("ragtriage.toml").write_text(settings, "utf-8")
        found = command("evaluate", rows.name, *LEAN).json
        assert command("evaluate", rows.name, *LEAN, "--judge", "embedded", "--store", "b").code == 0
        asked = len(server.heard)

    assert found["spent"]["requests"] == asked > 0
    assert found["spent"]["cost"] > 0
    assert {one.headers["x-team"] for one in server.heard} == {"red"}
    assert json.dumps(found)
