"""Forgetting what a run in a folder holds of texts: by any case, and after a kill."""

import json
import shutil
from pathlib import Path

import pytest
from scripted_judges import CONFIG, as_json, evaluated, place_of, row, timeless, written

from ragtriage.core.errors import StoreError
from ragtriage.core.files import folder_at
from ragtriage.runs.tally import tally_of
from ragtriage.store.checking import check_folder
from ragtriage.store.folder import open_folder
from ragtriage.store.forgetting import folder_cases_with_texts, forget_in_folder
from ragtriage.store.lease import FolderLease


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A run in a folder of 58 cases in parts, with two twins far apart and a row that can't be used."""
    given: list[object] = [row(i) for i in range(60)]
    given[50], given[20] = row(3, answer="Another answer."), "{broken"
    out = tmp_path / "run"
    assert evaluated([written(tmp_path / "rows.jsonl", given)], out, texts=True, size=8).complete
    return out


def scores(out: Path) -> dict[str, object]:
    return {**json.loads(as_json(open_folder(str(out)))), "texts_deleted": None}


def test_numbers_stay_and_whoever_counts_again_comes_to_the_same(whole: Path) -> None:
    before = scores(whole)
    with FolderLease(folder_at(str(whole))), pytest.raises(StoreError, match="works on"):
        forget_in_folder(str(whole))
    assert forget_in_folder(str(whole), ["case 3", "case 17"]) == 2
    some = open_folder(str(whole))
    assert (folder_cases_with_texts(place_of(some)), some.texts_deleted()) == (56, 2)
    assert folder_cases_with_texts(place_of(some), ["case 3", "case 4"]) == 1
    assert scores(whole) == before

    assert forget_in_folder(str(whole)) == 56
    found = open_folder(str(whole))
    assert (folder_cases_with_texts(place_of(found)), place_of(found).texts_deleted()) == (0, (58, 58))
    assert scores(whole) == before
    assert tally_of(found, CONFIG).summary() == tally_of(found, CONFIG).summary()
    assert {record.case.query for record in found.records()} == {"[text deleted]"}
    assert next(one.reason for one in found.rejected()) == "[text deleted]"
    assert forget_in_folder(str(whole)) == 0


def test_a_call_that_was_killed_leaves_a_sound_run_and_the_same_call_ends_it(whole: Path, tmp_path: Path) -> None:
    records = timeless(open_folder(str(whole)).records())
    other = shutil.copytree(whole, tmp_path / "other")
    forget_in_folder(str(other))
    # killed before the summary was written: new parts lie beside the old ones
    for folder in ("records", "done"):
        shutil.copytree(other / folder, whole / folder, dirs_exist_ok=True)
    assert timeless(open_folder(str(whole)).records()) == records

    assert forget_in_folder(str(whole)) == 58
    assert len(list((whole / "records").glob("*.parquet"))) == len(list((whole / "done").iterdir()))
    assert check_folder(str(whole))[1]
