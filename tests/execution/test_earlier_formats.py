"""A run in a folder that an earlier version wrote is refused with what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragtriage import StoreError
from ragtriage.core.files import folder_at
from ragtriage.store.folder import open_folder
from ragtriage.store.folder_checking import check_folder
from ragtriage.store.lease import FolderLease


@pytest.mark.parametrize("earlier", [1, 2])
def test_a_folder_of_an_earlier_format_is_refused(earlier: int, tmp_path: Path) -> None:
    plan = {"inputs": ["rows.jsonl"], "files": [], "partitions": [], "reading": {}, "format": earlier}
    (tmp_path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    told = (
        f"{tmp_path} was written by another version of ragtriage: evaluate again with another --out (answers that were "
        "paid for are remembered), or copy it into a store with the version that wrote it"
    )

    for opened in (open_folder, check_folder):
        with pytest.raises(StoreError) as error:
            opened(str(tmp_path))
        assert str(error.value) == told
    with FolderLease(folder_at(str(tmp_path))):  # nothing was left behind
        assert sorted(one.name for one in tmp_path.iterdir()) == ["driver.json", "plan.json"]
