"""Tickets of requests outlive the command that submitted them."""

import pytest
from sqlalchemy import event

from ragtriage.core.errors import StoreError
from ragtriage.store import open_answers
from ragtriage.store.database import IN_ONE_STATEMENT


def key(i: int) -> bytes:
    return i.to_bytes(16, "big")


@pytest.fixture
def memory(place):
    with open_answers(place) as opened:
        yield opened


def test_what_was_put_is_there_for_the_next_command_before_the_memory_is_closed(memory, place):
    memory.tickets().put({key(1): '{"id": "batch_1"}', key(2): '{"id": "batch_1"}'})
    with open_answers(place) as later:
        assert later.tickets().get([key(2), key(3)]) == {key(2): '{"id": "batch_1"}'}


def test_what_was_put_again_is_replaced_and_what_was_dropped_is_gone(memory):
    tickets = memory.tickets()
    tickets.put({key(1): "a", key(2): "a", key(3): "b"})
    tickets.put({key(1): "c"})
    tickets.drop([key(2), key(9)])
    assert tickets.get([key(1), key(2), key(3)]) == {key(1): "c", key(3): "b"}


def test_nothing_is_asked_of_the_database_for_nothing(memory):
    statements = []
    event.listen(memory._database.engine, "before_cursor_execute", lambda *told: statements.append(told[2]))
    tickets = memory.tickets()
    tickets.put({})
    tickets.drop([])
    assert tickets.get([]) == {}
    assert not [s for s in statements if "tickets" in s]


def test_there_may_be_many(memory):
    many = {key(i): str(i // 10) for i in range(2 * IN_ONE_STATEMENT + 3)}
    tickets = memory.tickets()
    tickets.put(many)
    assert tickets.get(list(many)) == many
    tickets.drop(list(many)[1:])
    assert tickets.get(list(many)) == {key(0): "0"}


def test_a_ticket_says_whose_it_is_and_since_when(memory, place):
    memory.tickets("openai:gpt-5-mini").put({key(1): "a"})
    ((fingerprint, submitted),) = place.sql("select fingerprint, submitted from tickets")
    assert fingerprint == "openai:gpt-5-mini"
    assert submitted > 1_700_000_000


FULL = {
    False: "create trigger full_disk before insert on tickets when new.batch = 'bad' begin "
    "select raise(abort, 'database or disk is full'); end",
    True: "create function full_disk() returns trigger language plpgsql as $$ begin "
    "raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$; "
    "create trigger full_disk before insert on tickets for each row when (new.batch = 'bad') "
    "execute function full_disk()",
}
"""What a full disk does to a bad ticket, in a file and on a server."""


def test_a_store_that_cannot_be_written_says_so_and_keeps_nothing_by_halves(memory, place):
    place.sql(FULL[place.on_server])
    with pytest.raises(StoreError, match="disk is full"):
        memory.tickets().put({key(1): "good", key(2): "bad"})
    assert memory.tickets().get([key(1), key(2)]) == {}
