"""The judge against real decision servers on this machine: each of jevcompat's 47 faults, and dev-double's limits."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
import uvicorn
from contract import answers
from dev_double.apps.config import Settings
from dev_double.apps.server.app import create_app
from jevcompat.mock import FAULTS, MockConfig, make_server

from ragtriage.core import questions as ask
from ragtriage.core.errors import JudgeError
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Failure, Verdict
from ragtriage.judges.budget import Ledger
from ragtriage.judges.build import build_judge
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.session import JudgeSession

SOURCES = ("A day pass costs 12 euros.", "Dogs travel free on a lap.")
QUERY = "What does a pass cost?"
QUESTIONS = (
    ask.supported("The day pass costs 12 euros.", SOURCES),
    ask.supported("Dogs cost 3 euros.", SOURCES),
    ask.essential(QUERY, SOURCES[0]),
    ask.declines(QUERY, "It costs 12 euros."),
)
KEY = "key-0123456789"
REFUSED = {
    "wrong-route": "knows no such model or no such page \\(404\\)",
    "auth-x-api-key": "refuses the key in SYSTEMONE_API_KEY \\(403\\)",
    "reject-jev-latest": "knows no such model or no such page \\(404\\)",
    "xssi-200": "the reply is no JSON",
    "noul-range": "no probability that can be read",
}
"""Fault → why nothing can be judged."""
FAILED = {"first-question-only"}
WARNED = {"id-leaks", "batch-leaks", "order-leaks"}
WITHOUT_SOURCE = {"choice-sum"}


@dataclass(frozen=True)
class Address:
    """Where a server is."""

    url: str


@contextmanager
def running(config: MockConfig) -> Iterator[Address]:
    """The mock, which ends at once and not after half a second."""
    server = make_server(config)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield Address(f"http://127.0.0.1:{server.server_address[1]}")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def judged(
    url: str, *questions: Question, model: str = "jev-latest", options: LLMOptions | None = None
) -> tuple[list[Answer], Ledger]:
    """The answers of the decision model at an address, and what was spent."""
    session = JudgeSession.of(JudgeConfig((f"systemone:{model}@{url}",), options=options or LLMOptions()))
    return answers(build_judge(session).judge, questions or QUESTIONS), session.ledger


@pytest.fixture(scope="module")
def clean() -> list[Answer]:
    with running(MockConfig()) as server:
        return judged(server.url)[0]


def test_a_clean_server_answers_everything(clean: list[Answer]) -> None:
    assert all(isinstance(one, Verdict) and one.score is not None for one in clean)
    assert len({one.score for one in clean if isinstance(one, Verdict)}) == len(QUESTIONS)


@pytest.mark.parametrize("fault", FAULTS)
def test_what_becomes_of_a_fault(monkeypatch: pytest.MonkeyPatch, clean: list[Answer], fault: str) -> None:
    # a key is sent where there is one; the mock wants one for its faults with keys, but that of a header without need
    key = KEY if fault.startswith("auth-") and fault != "auth-rejects-header" else ""
    monkeypatch.setenv("SYSTEMONE_API_KEY", key)
    with running(MockConfig(key=key or None, faults=frozenset([fault]))) as server:
        if fault in REFUSED:
            with pytest.raises(JudgeError, match=REFUSED[fault]) as told:
                judged(server.url)
            assert KEY not in str(told.value)
            return
        found, ledger = judged(server.url)

    moved = [told for told in ledger.warnings if "moved by over 0.05" in told]
    if fault in FAILED:
        assert [type(one) for one in found] == [Failure, Failure, Verdict, Verdict]
        assert found[2:] == clean[2:]
    elif fault in WARNED:
        assert len(moved) == 1
        assert all(isinstance(one, Verdict) for one in found)
    else:
        assert moved == []
        scores = [one.score for one in found if isinstance(one, Verdict)]
        assert scores == [one.score for one in clean if isinstance(one, Verdict)]
        assert (found == clean) or fault in WITHOUT_SOURCE


def test_there_are_as_many_faults_of_each_outcome_as_are_known() -> None:
    others = {*REFUSED, *FAILED, *WARNED, *WITHOUT_SOURCE}

    assert others < set(FAULTS)
    assert len(set(FAULTS) - others) == 37


def test_one_question_a_request_is_what_the_first_question_only_answers(clean: list[Answer]) -> None:
    with running(MockConfig(faults=frozenset(["first-question-only"]))) as server:
        found, ledger = judged(server.url, options=LLMOptions(batch_size=1))

    assert all(isinstance(one, Verdict) for one in found)
    assert ledger.requests == 3 + 3 + 1 + 1  # both claims: supported, ruled out, by which source
    assert [one.score for one in found[2:] if isinstance(one, Verdict)] == [
        one.score for one in clean[2:] if isinstance(one, Verdict)
    ]


def test_noise_is_warned_of() -> None:
    with running(MockConfig(noise=1.0)) as server:
        found, ledger = judged(server.url)

    assert all(isinstance(one, Verdict) for one in found)
    assert "moved by over 0.05" in " ".join(ledger.warnings)


def test_a_busy_server_is_waited_for(clean: list[Answer]) -> None:
    with running(MockConfig(busy_every=2)) as server:
        found, ledger = judged(server.url)

    assert found == clean
    assert ledger.repeated["429"] >= 1


def test_an_alias_that_moves_is_told() -> None:
    with running(MockConfig()) as server:
        plain, moving = (judged(server.url, model=model)[1].warnings for model in ("jev-1.13.0", "jev-latest"))

    assert plain == []
    (told,) = moving
    assert "names another model from one day to the next" in told


@pytest.fixture(scope="module")
def dev_double() -> Iterator[str]:
    server = uvicorn.Server(
        uvicorn.Config(create_app(Settings(engine="mock")), port=0, log_level="critical", ws="none")
    )
    listening = server.config.bind_socket()
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    listening.close()


def test_a_server_like_ollama_answers_within_its_limits(dev_double: str) -> None:
    many = [ask.supported(f"Claim {number} is true.", SOURCES) for number in range(30)]
    found, ledger = judged(dev_double, *many, model="any")

    assert all(isinstance(one, Verdict) for one in found)
    assert ledger.requests == 2 + 1  # 90 typed questions in requests of 63 and 27; one in reverse
    assert ledger.tokens_in > 0


def test_its_limits_are_learnt_from_what_it_refuses(dev_double: str) -> None:
    many = [ask.supported(f"Claim {number} is true.", SOURCES) for number in range(60)]
    large = ask.supported(
        "Dogs are free.", (" ".join(f"Sentence {number} is here." for number in range(4_000)), "Dogs.")
    )
    options = LLMOptions(batch_size=400, max_body=1_000_000)
    found, ledger = judged(dev_double, *many, large, model="any", options=options)
    known, _ = judged(dev_double, *many, large, model="any")

    assert [one for one in found if isinstance(one, Failure)] == []
    assert [one.value for one in found if isinstance(one, Verdict)] == [
        one.value for one in known if isinstance(one, Verdict)
    ]
    assert ledger.failed_requests > 0
