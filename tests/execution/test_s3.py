"""Runs and inputs in S3, against a real server of it on this machine."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import fs
from scripted_judges import by_one_process, evaluated, parquet, place_of, row, timeless, until, written

from in_process import said_by
from ragtriage.core.errors import InputError, StoreError
from ragtriage.core.files import folder_at, stamp_of
from ragtriage.store import open_store
from ragtriage.store.checking import check_folder
from ragtriage.store.folder import open_folder, orphans
from ragtriage.store.lease import FolderLease

ROWS = [row(i) for i in range(60)]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        until(lambda: _answers(port))
        yield f"127.0.0.1:{port}"
        process.terminate()


@pytest.fixture
def bucket(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> fs.S3FileSystem:
    """The bucket `quality`, as the command finds it by the usual variables."""
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
    for name, value in {**keys, "AWS_ENDPOINT_URL": f"http://{server}"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    system = fs.S3FileSystem(endpoint_override=server, scheme="http", allow_bucket_creation=True)
    system.create_dir("quality")
    return system


def _answers(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


def put(system: fs.S3FileSystem, path: Path, name: str) -> None:
    with system.open_output_stream(f"quality/{name}") as stream:
        stream.write(path.read_bytes())


def test_an_input_and_a_folder_in_s3(bucket: fs.S3FileSystem, tmp_path: Path) -> None:
    put(bucket, parquet(tmp_path / "a.parquet", ROWS[:30], 10), "cases/a.parquet")
    put(bucket, parquet(tmp_path / "b.parquet", ROWS[30:], 100), "cases/sub/b.parquet")
    put(bucket, tmp_path / "a.parquet", "cases/_hidden/c.parquet")
    result = evaluated(["s3://quality/cases"], "s3://quality/run-1")

    assert result.complete
    names = [file.name for file in place_of(result.run).manifest.files]
    assert names == ["s3://quality/cases/a.parquet", "s3://quality/cases/sub/b.parquet"]
    found = open_folder("s3://quality/run-1/")
    with open_store(tmp_path / "store") as store:
        one = by_one_process(parquet(tmp_path / "whole.parquet", ROWS, 100), store)
        assert timeless(found.records()) == timeless(one.records())
    assert found.record("case 45").case.query.endswith("45?")
    assert orphans(folder_at("s3://quality/run-1"), place_of(found).parts.values()) == []

    # nothing is left: the same again is a matter of reading
    assert evaluated(["s3://quality/cases"], "s3://quality/run-1").repeated == 0


def test_a_file_that_was_written_again_is_another_input(bucket: fs.S3FileSystem, tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", [row(i) for i in range(40)])
    put(bucket, path, "lines/rows.jsonl")
    address = "s3://quality/lines/rows.jsonl"
    before = stamp_of(address)
    result = evaluated(["s3://quality/lines/*.jsonl"], "s3://quality/run-2", size=10)
    assert len(place_of(result.run).manifest.plan) >= 3
    # of the same size, in the same second
    put(bucket, written(path, [*(row(i) for i in range(39)), row(40)]), "lines/rows.jsonl")

    assert before is not None
    assert not before.version.isdigit()  # a time, which is the same within a second
    assert stamp_of(address) != before
    assert (stamp_of(address) or before).size == before.size
    with pytest.raises(InputError, match=r"s3://quality/lines/rows\.jsonl is changed since"):
        evaluated(["s3://quality/lines/*.jsonl"], "s3://quality/run-2", size=10)
    assert open_folder("s3://quality/run-2").texts_deleted() == 40


def test_the_command_reads_and_writes_s3(bucket: fs.S3FileSystem, tmp_path: Path) -> None:
    put(bucket, written(tmp_path / "rows.jsonl", [row(i) for i in range(3)]), "few/rows.jsonl")
    flags = ("--on", "local:1", "--out", "s3://quality/run-3/", "--metrics", "groundedness")
    done = said_by(["evaluate", "s3://quality/few/*.jsonl", *flags])
    assert done.code == 0, done.err
    by_number, by_address = (said_by(["show", run, "--json"]).json for run in ("last", "s3://quality/run-3/"))

    assert by_address["cases"] == 3
    assert by_address | {"run": 1} == by_number
    assert (tmp_path / ".ragtriage" / "runs.sqlite").exists()
    gone = said_by(["evaluate", "s3://quality/none/*.parquet", *flags])
    assert (gone.code, gone.err) == (2, "ragtriage: s3://quality/none/*.parquet: no file fits this pattern\n")


def test_drivers_of_a_folder_in_s3_keep_each_other_out(bucket: fs.S3FileSystem, tmp_path: Path) -> None:
    put(bucket, written(tmp_path / "rows.jsonl", [row(i) for i in range(20)]), "shared/rows.jsonl")
    out = "s3://quality/run-5/"
    first = evaluated(["s3://quality/shared"], out, size=4, share=(1, 2))
    with FolderLease(folder_at(out), "-2-of-2"):
        assert open_folder(out).info.state == "running"
        for share in (None, (2, 2), (1, 3)):
            with pytest.raises(StoreError, match=r"works on share 2/2 of s3://quality/run-5/ "):
                evaluated(["s3://quality/shared"], out, size=4, share=share)
        with pytest.raises(StoreError, match=r"works on share 2/2 of s3://quality/run-5/ "):
            check_folder(out)
    assert open_folder(out).info.state == "interrupted"
    second = evaluated(["s3://quality/shared"], out, size=4, share=(2, 2))

    assert (first.complete, second.complete) == (False, True)
    assert (first.left, first.left_to_others) == (0, len(place_of(first.run).manifest.plan) // 2)
    assert check_folder(out)[1]
    assert [name for name in folder_at(out).names() if name.startswith(("driver", "clock"))] == []
