"""What became of scores that were sent: kept by run and destination, without a text, and gone with the run."""

from stored_cases import case, written

from ragtriage.store import Store, open_store
from ragtriage.store.watch_tables import (
    LIFETIME,
    REFUSED,
    SENDING,
    SENT,
    WAITING,
    Outbox,
    OutboxEntry,
    Waiting,
    waiting_entries,
)

KEYS = [bytes([i]) * 16 for i in range(4)]
BODY = b"b" * 16


def a_run(store: Store, i: int = 0) -> int:
    return written(store, [case(i)])


def test_entries_are_found_as_they_were_kept_last(place):
    with open_store(place) as store:
        outbox = Outbox(store.database, a_run(store), "phoenix http://a")
        outbox.keep({KEYS[0]: OutboxEntry(BODY, SENDING), KEYS[1]: OutboxEntry(BODY, WAITING, None, "HTTP 503")})
        outbox.keep({KEYS[0]: OutboxEntry(BODY, SENT, "a-1\x00\ud800")})
        outbox.keep({})

        assert outbox.find(KEYS) == {
            KEYS[0]: OutboxEntry(BODY, SENT, "a-1\x00\ud800"),
            KEYS[1]: OutboxEntry(BODY, WAITING, None, "HTTP 503"),
        }
        assert outbox.find([]) == outbox.find(KEYS[2:]) == {}
        many = {i.to_bytes(16, "big"): OutboxEntry(BODY, SENT, f"a-{i}") for i in range(1000)}
        outbox.keep(many)
        assert outbox.find([*many]) == many


def test_each_run_and_destination_has_its_own_which_go_with_the_run(place):
    with open_store(place) as store:
        first, second = a_run(store), a_run(store, 1)
        places = [(first, "phoenix http://a"), (second, "phoenix http://a"), (first, "phoenix http://b")]
        for number, (run, to) in enumerate(places):
            Outbox(store.database, run, to).keep({KEYS[0]: OutboxEntry(bytes([number]) * 16, SENT)})

        for number, (run, to) in enumerate(places):
            assert Outbox(store.database, run, to).find(KEYS)[KEYS[0]].body == bytes([number]) * 16
        store.delete(first)
        assert [row["run"] for row in place.rows("outbox")] == [second]


def test_what_waits_is_told_for_a_day(place):
    with open_store(place) as store:
        run = a_run(store)
        early = Outbox(store.database, run, "opik http://a", clock=lambda: 1000.0)
        late = Outbox(store.database, run, "opik http://a", clock=lambda: 2000.0)
        other = Outbox(store.database, run, "mlflow http://a", clock=lambda: 3000.0)
        early.keep({KEYS[0]: OutboxEntry(BODY, WAITING), KEYS[1]: OutboxEntry(BODY, SENT)})
        late.keep({KEYS[2]: OutboxEntry(BODY, WAITING), KEYS[3]: OutboxEntry(BODY, REFUSED)})
        other.keep({KEYS[0]: OutboxEntry(BODY, SENDING)})

        both = [Waiting(run, "mlflow http://a", 1, 3000.0), Waiting(run, "opik http://a", 2, 1000.0)]
        assert waiting_entries(store.database, 1000.0 + LIFETIME) == both
        assert waiting_entries(store.database, 2000.0 + LIFETIME) == [both[0], Waiting(run, "opik http://a", 1, 2000.0)]
        assert waiting_entries(store.database, 3001.0 + LIFETIME) == []
