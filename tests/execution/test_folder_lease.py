"""Which drivers may work on a run in a folder at the same time, and when one counts as gone."""

import json
import os
import re
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest
from scripted_judges import evaluated as evaluated_into
from scripted_judges import place_of, row, written

from ragtriage.core.errors import StoreError
from ragtriage.core.files import Folder, folder_at
from ragtriage.store.checking import check_folder
from ragtriage.store.folder import open_folder
from ragtriage.store.lease import FolderLease, here, host_of, worked_on

SHARE = re.compile(r"-(\d+)-of-(\d+)")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """An empty folder."""
    (tmp_path / "run").mkdir()
    return folder_at(str(tmp_path / "run"))


def signed(folder: Folder, part: str, pid: int, *, host: str = "", age: float = 0.0) -> Path:
    """A sign of life of another process."""
    path = Path(folder.at(f"driver{part}.json"))
    host = host or here()
    path.write_text(json.dumps({"host": host, "pid": pid, "token": "t", "time": 0}))
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def evaluated(rows: Path, out: Path, **more: object) -> None:
    evaluated_into([rows], out, size=4, **more)


SIGNS = ("", "-1-of-2", "-2-of-2", "-1-of-3")


@pytest.mark.parametrize(("first", "second"), [*product(SIGNS, SIGNS)])
def test_only_different_shares_of_one_number_work_beside_each_other(folder: Folder, first: str, second: str) -> None:
    with FolderLease(folder, first):
        if {first, second} == {"-1-of-2", "-2-of-2"}:
            with FolderLease(folder, second):
                assert len(folder.names()) == 2
        else:
            share = SHARE.sub(r"share \1/\2 of ", first) + folder.address
            with pytest.raises(StoreError, match=f"process {os.getpid()} on .* works on {re.escape(share)} "):
                FolderLease(folder, second)
        assert worked_on(folder)
        assert folder.names() == [f"driver{first}.json"]
    assert not worked_on(folder)
    assert folder.names() == []


@pytest.mark.parametrize("part", ["", "-2-of-2"])
def test_a_driver_that_is_gone_is_taken_over(folder: Folder, part: str) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    for pid, host, age in (
        (ended.pid, "", 0.0),
        (os.getppid(), "", 61.0),  # its number is another process's now
        (os.getpid(), "", 61.0),
        (7, "elsewhere", 61.0),
    ):
        left = signed(folder, part, pid, host=host, age=age)
        assert not worked_on(folder)
        with FolderLease(folder):
            assert worked_on(folder)
            assert left.name == "driver.json" or not left.exists()
    # of another start of this machine the numbers of processes say nothing
    for pid, host in ((os.getppid(), ""), (7, "elsewhere"), (ended.pid, host_of(here())), (ended.pid, f"{here()}1")):
        left = signed(folder, part, pid, host=host, age=50.0)
        assert worked_on(folder)
        with pytest.raises(StoreError, match=f"process {pid} on "):
            FolderLease(folder)
        assert left.exists()


def test_a_driver_that_was_taken_over_stops_and_leaves_the_other_sign(folder: Folder) -> None:
    with FolderLease(folder, "-1-of-2", beat=0.05) as life:
        Path(folder.at("driver-1-of-2.json")).unlink()

        def check_for_long() -> None:
            for _ in range(1000):
                life.check()
                time.sleep(0.01)

        with pytest.raises(StoreError, match=r"driver-1-of-2\.json, the sign of life of this process, is gone"):
            check_for_long()
    with FolderLease(folder, beat=60) as late:
        signed(folder, "", 7, host="elsewhere")
        late.check()
    assert folder.names() == ["driver.json"]


def test_a_share_keeps_out_whoever_would_work_on_its_parts(tmp_path: Path) -> None:
    rows = written(tmp_path / "rows.jsonl", [row(i) for i in range(20)])
    out = tmp_path / "run"
    evaluated(rows, out, share=(1, 2))
    assert open_folder(str(out)).info.state == "interrupted"
    with FolderLease(folder_at(str(out)), "-2-of-2"):
        assert open_folder(str(out)).info.state == "running"
        for share in (None, (1, 3), (2, 2)):
            with pytest.raises(StoreError, match=f"process {os.getpid()} on .* works on share 2/2 of "):
                evaluated(rows, out, share=share)
        evaluated(rows, out, share=(1, 2))

        # a part that this driver will commit next
        part = out / "records" / f"{place_of(open_folder(str(out))).manifest.plan[1].id}-cafe.parquet"
        part.write_bytes(b"whole")
        with pytest.raises(StoreError, match="works on share 2/2 of "):
            check_folder(str(out))
        assert part.exists()
    assert check_folder(str(out))[0][0] == "1 file that nobody committed: deleted"
    evaluated(rows, out)
    assert open_folder(str(out)).info.state == "finished"


def test_of_two_that_begin_at_the_same_moment_the_later_one_to_sign_gives_way(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign = FolderLease._sign

    def signed_beside(lease: FolderLease) -> None:
        """Another command signs between the first look and the own sign."""
        signed(folder, "-1-of-2", os.getppid())
        sign(lease)

    monkeypatch.setattr(FolderLease, "_sign", signed_beside)
    with pytest.raises(StoreError, match=rf"process {os.getppid()} on"):
        FolderLease(folder)
    assert folder.names() == ["driver-1-of-2.json"]  # its own sign is gone
