"""What a provider of batches refuses, loses or takes no more of, and what is sent next."""

import re

import pytest
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models._batch_codec import BatchJobError
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from queued import NAME, QUIET, Kept, Naps, answers, echo, provider_of, queue_at, stopped, submitted

from batch_server import KEY, BatchServer
from ragtriage.core.errors import ConfigError, JudgeError, Stopped, StoreError
from ragtriage.judges.budget import Ledger
from ragtriage.judges.llm.batches import BatchQueue
from ragtriage.judges.llm.channel import RetriesExhausted
from ragtriage.judges.llm.options import LLMOptions

FULL = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached", "line": None}
DAY = 24 * 3600


@pytest.fixture
def server():
    with BatchServer(echo) as server:
        yield server


@pytest.mark.parametrize(
    ("others", "said"),
    [
        ({"options": LLMOptions(headers={"X-Key": "secret"})}, "headers of your own"),
        ({"chat": True}, r"openai:gpt-5-mini has no batch API.*anthropic.*google"),
    ],
    ids=["headers", "no batch API"],
)
def test_what_cannot_be_sent_is_refused_at_once(server, others, said):
    if others.pop("chat", False):
        others = {"model": OpenAIChatModel("gpt-5-mini", provider=provider_of(server))}
    with pytest.raises(ConfigError, match=said):
        queue_at(server, Kept(), **others)


def test_a_refused_key_ends_everything_and_is_neither_shown_nor_kept(server):
    tickets = submitted(server, "one")
    found = answers(queue_at(server, tickets, key="sk-wrong-9876543210"), ["one", "two"])
    assert {type(one) for one in found} == {JudgeError}
    assert "key" in str(found[0])
    assert "wrong" not in repr(found)
    assert KEY not in repr(tickets.entries)


def test_a_model_that_is_not_known_ends_everything(server):
    server.fail("/v1/batches", 404, {"error": {"message": "no such model", "code": "model_not_found"}})
    (found,) = answers(queue_at(server, Kept()), ["one"])
    assert type(found) is JudgeError
    assert "model" in str(found)


def test_creating_is_tried_five_times_more(server):
    naps = Naps()
    server.fail("/v1/files", 503, times=3)
    server.fail("/v1/batches", 500, times=2)
    assert answers(queue_at(server, Kept(), sleep=naps), ["one"]) == ["ONE"]
    assert naps == [1, 2, 4, 8, 16]
    assert len(server.batches) == 1


@pytest.mark.parametrize(
    ("path", "status", "words", "said"),
    [
        (
            "/v1/files",
            503,
            ["one", "two"],
            r"takes no batch now: .*\(503\): fault 503; give the same command again later.*1 batch with 1 request",
        ),
        ("/v1/batches/batch_0", 502, ["one"], r"didn't say whether all had ended: .*\(502\)"),
    ],
    ids=["takes nothing", "doesn't say how it stands"],
)
def test_a_provider_that_fails_on_is_left_to_a_later_command(server, path, status, words, said):
    tickets = submitted(server, "one")
    server.ended = lambda number: False
    server.fail(path, status, times=6)
    assert re.search(said, stopped(answers(queue_at(server, tickets, sleep=Naps()), words)))
    assert len(tickets.entries) == 1
    server.ended = lambda number: True
    assert answers(queue_at(server, tickets), ["one"]) == ["ONE"]
    assert len(server.batches) == 1


def test_a_batch_that_the_account_does_not_know_is_not_paid_for_again(server):
    tickets = submitted(server, "one")
    server.forget()
    (found,) = answers(queue_at(server, tickets), ["one"])
    assert type(found) is JudgeError
    assert "doesn't know the batch batch_0" in str(found)
    assert len(server.batches) == 1
    assert len(tickets.entries) == 1


@pytest.mark.parametrize("lost", ["too old to be known", "its results are gone", "of another version"])
def test_what_cannot_be_collected_any_more_is_submitted_again(server, lost):
    server.created_at -= 30 * DAY * (lost == "too old to be known")
    tickets = submitted(server, "one")
    if lost == "too old to be known":
        server.forget()
    elif lost == "its results are gone":
        server.fail("/v1/files", 404)
    else:
        tickets.entries = dict.fromkeys(tickets.entries, '[{"other": 1}]')
    assert answers(queue_at(server, tickets), ["one"]) == ["ONE"]
    assert len(server.batches) == 2


def test_a_batch_that_is_refused_ends_the_command_and_the_next_begins_anew(server):
    tickets = Kept()
    server.refusal = lambda size: {"code": "mismatched_model", "message": "one model a batch", "line": 1}
    found = answers(queue_at(server, tickets), ["one", "two"])
    assert {type(one) for one in found} == {JudgeError}
    assert str(found[0]) == f"{NAME}: the provider refused the batch batch_0: one model a batch"
    assert tickets.entries == {}
    server.refusal = lambda size: None
    assert answers(queue_at(server, tickets), ["one", "two"]) == ["ONE", "TWO"]
    assert len(server.batches) == 2


def test_smaller_batches_are_submitted_where_too_much_is_waiting(server):
    server.refusal = lambda size: FULL if size > 30 else None
    words = [f"word {number}" for number in range(50)]
    ledger = Ledger()
    assert answers(queue_at(server, Kept(), ledger=ledger), words) == [word.upper() for word in words]
    assert [len(batch) for batch in server.batches] == [50, 25, 25]
    assert ledger.failed_requests == 50


def test_where_nothing_more_is_taken_a_later_command_goes_on(server):
    server.refusal = lambda size: FULL
    tickets = Kept()
    words = [f"word {number}" for number in range(30)]
    said = stopped(answers(queue_at(server, tickets), words))
    assert said.startswith(f"{NAME} takes no further batch now: Enqueued token limit reached; give the same")
    assert [len(batch) for batch in server.batches] == [30, 20, 10]
    server.refusal = lambda size: None
    assert answers(queue_at(server, tickets), words) == [word.upper() for word in words]


def test_waiting_tries_again_where_nothing_more_was_taken(server):
    server.refusal = lambda size: FULL
    naps = Naps(lambda: setattr(server, "refusal", lambda size: None))
    assert answers(queue_at(server, Kept(), wait=True, sleep=naps), ["one"]) == ["ONE"]
    assert len(naps) == 1


def test_tickets_that_cannot_be_read_end_everything(server):
    class Broken(Kept):
        def get(self, keys):
            """See `Tickets`."""
            raise StoreError("the file is gone")

    (found,) = answers(queue_at(server, Broken()), ["one"])
    assert isinstance(found, StoreError)


class Ending(FunctionModel):
    """A model whose first batch ends as Google's do that have no results."""

    def __init__(self, status):
        super().__init__(lambda messages, info: ModelResponse([TextPart('{"answer": "ONE"}')]))
        self.failures = [] if status is None else [status]
        self.batches = 0

    async def batch_create(self, requests):
        """Count them."""
        self.batches += 1
        return await super().batch_create(requests)

    async def batch_results(self, batch):
        """Fail as scripted."""
        if self.failures:
            body = {"error": {"message": "that is how it ended"}}
            raise BatchJobError(status_code=self.failures.pop(), model_name="gemini", body=body)
        return await super().batch_results(batch)


@pytest.mark.parametrize(
    ("status", "outcome", "batches"),
    [
        (None, "ONE", 1),
        (504, "ONE", 2),
        (499, RetriesExhausted("its batch was cancelled at the provider"), 1),
        (400, JudgeError("google:gemini: its batch failed (400): that is how it ended"), 1),
        (429, Stopped, 1),
    ],
    ids=["well", "expired", "cancelled", "refused", "full"],
)
def test_a_batch_that_ends_without_results_is_understood(status, outcome, batches):
    model, tickets = Ending(status), Kept()
    queue = BatchQueue("google:gemini", LLMOptions(), Ledger(), tickets, quiet=QUIET, model=model)
    (found,) = answers(queue, ["one"])
    if isinstance(outcome, Exception):
        assert (type(found), str(found)) == (type(outcome), str(outcome))
    else:
        assert found == outcome or type(found) is outcome
    assert model.batches == batches
    assert tickets.entries == {}


def test_two_models_can_share_what_keeps_tickets():
    tickets = Kept()
    for name in ("google:one", "google:two"):
        model = Ending(None)
        queue = BatchQueue(name, LLMOptions(), Ledger(), tickets, quiet=QUIET, model=model)
        assert answers(queue, ["one"], killed=True) == ["ONE"]
        assert model.batches == 1
    assert len(tickets.entries) == 2
