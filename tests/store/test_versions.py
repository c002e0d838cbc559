"""A store of another version is refused and left alone; PostgreSQL holds what SQLite does."""

import pytest
from stored_cases import case, evaluated, identity_of

from places import Place
from ragtriage.core.amount import Amount
from ragtriage.core.errors import StoreError
from ragtriage.runs.case_row import CaseHeading
from ragtriage.runs.run import RejectedRow
from ragtriage.store import open_store
from ragtriage.store.schema import SCHEMA_VERSION, metadata

KEY = b"k" * 16


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("update meta set value = '99'", "99"),
        ("update meta set value = '2'", "2"),
        ("update meta set key = 'schema version'", "unknown"),
        ("delete from meta", "unknown"),
    ],
)
def test_another_version_is_refused_and_left_alone(tmp_path, statement, found):
    place = Place(str(tmp_path))
    open_store(place).close()
    place.sql(statement)
    told = (
        rf"was written by another version of ragtriage \(its schema has version {found}, this program knows "
        rf"{SCHEMA_VERSION}\): use the version that wrote it, or choose another place .* and evaluate anew"
    )
    with pytest.raises(StoreError, match=told):
        open_store(place)
    assert {name for (name,) in place.sql("select name from sqlite_master where type = 'table'")} >= {*metadata.tables}


def test_opening_again_changes_no_table(tmp_path):
    open_store(tmp_path).close()
    before = (tmp_path / "runs.sqlite").read_bytes()
    open_store(tmp_path).close()
    assert (tmp_path / "runs.sqlite").read_bytes() == before


def test_numbers_beyond_32_bits_are_kept(place):
    with open_store(place) as store, store.begin(identity_of([]), input="a", rows=1, judge="f") as run:
        run.count_spending(Amount(tokens_in=2_156_000_000, tokens_out=5_000_000_000))
        run.reject(RejectedRow(3_000_000_000, "query", "is null"))
        run._places["case 1"] = 4_000_000_000
        run.keep(next(evaluated([case(1)])), CaseHeading("no-fault", "none", (), sure=True))
        run.finish()
        assert (store.run().info.tokens_in, store.run().info.tokens_out) == (2_156_000_000, 5_000_000_000)
        assert store.run().rejected()[0].row == 3_000_000_000
        assert store.run().record("case 1").case == case(1)
    for table in ("cases", "case_texts", "scores", "readings"):
        assert {row[0] for row in place.sql(f"SELECT DISTINCT position FROM {table}")} == {4_000_000_000}
