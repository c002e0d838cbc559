"""What became of scores that were sent: kept by run and destination, without a text, and gone with the run."""

from stored_cases import case, written

from ragtriage.store import Store, open_store
from ragtriage.store.watch_tables import SENDING, SENT, WAITING, Outbox, OutboxEntry

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
