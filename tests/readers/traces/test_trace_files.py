"""Several files, tables, lines that are torn and files that are packed."""

import subprocess
import sys
from pathlib import Path

import pytest
from otlp_lines import TRACE, file_of, line
from trace_cases import QUERY, TEXTS, alone, chain, read, rejected, texts

from ragtriage.core.errors import InputError
from ragtriage.readers import open_cases
from ragtriage.readers.files import OpenedFile


def test_a_torn_line_costs_itself(path: Path) -> None:
    file_of(path, *chain())
    path.write_text(path.read_text("utf-8") + '{"resourceSpans": [{"resou', encoding="utf-8")

    assert len(read(path)) == 1
    assert "broken JSON at line 4" in rejected(path)[0]


def test_a_folder_is_read_as_one(tmp_path: Path) -> None:
    for at, one in enumerate(chain()):
        file_of(tmp_path / f"part-{at}.jsonl", one)
    (tmp_path / "half.json").write_text('{"resourceSpans": ', encoding="utf-8")

    assert [case.query for case in read(tmp_path)] == [QUERY]
    assert "half.json" in rejected(tmp_path)[0]


def test_tables_are_joined_and_an_empty_cell_of_one_holds_nothing(tmp_path: Path) -> None:
    columns = "context.trace_id,context.span_id,parent_id,span_kind,start_time,attributes.input.value,"
    columns += "attributes.output.value,attributes.retrieval.documents\n"
    found = '"[{""document.content"": ""The pool is two metres deep.""}]"'
    parts = []
    for name, row in (("a", f"t,1,,CHAIN,2026-11-01,{QUERY},,"), ("b", f"t,2,1,RETRIEVER,2026-11-01,,,{found}")):
        parts.append(OpenedFile(str(tmp_path / f"{name}.csv"), f"{name}.csv"))
        (tmp_path / f"{name}.csv").write_text(f"{columns}{row}\n", encoding="utf-8")
    case = alone(OpenedFile(parts[0].path, "a and b", parts=tuple(parts)))

    assert (case.query, texts(case), case.response) == (QUERY, TEXTS[:1], None)


def test_what_a_collector_packed_is_refused_with_the_command_that_unpacks_it(tmp_path: Path) -> None:
    packed, message = b"\x28\xb5\x2f\xfd" + b"x" * 20, b"\n\x10" + b"x" * 16
    for content, told in (
        (packed, "is packed by zstd: unpack it with  zstd -d '{path}'"),
        (len(packed).to_bytes(4, "big") + packed, "pip install zstandard; python -c '"),
        (len(message).to_bytes(4, "big") + message, "pip install opentelemetry-proto; python -c '"),
    ):
        path = tmp_path / "some traces.jsonl"
        path.write_bytes(content)
        with pytest.raises(InputError) as refused:
            open_cases(path)
        assert told.format(path=path) in str(refused.value)
        assert f"'{path}'" in str(refused.value)


def test_a_packed_file_in_a_folder_costs_itself(tmp_path: Path) -> None:
    file_of(tmp_path / "a.jsonl", *chain())
    (tmp_path / "b.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd" + b"x" * 20)

    assert [case.query for case in read(tmp_path)] == [QUERY]
    assert "b.jsonl.zst: is packed by zstd" in rejected(tmp_path)[0]


def _varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + _varint(number >> 7)


def _field(number: int, content: bytes) -> bytes:
    """A field of a protobuf message that holds bytes, a text or a message."""
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def test_the_command_that_unpacks_makes_lines_that_are_read(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    packed = [zstandard.ZstdCompressor().compress(line(one).encode()) for one in chain()]
    (tmp_path / "t.zst").write_bytes(b"".join(len(one).to_bytes(4, "big") + one for one in packed))

    assert alone(converted(tmp_path / "t.zst")).query == QUERY


def test_the_command_that_converts_protobuf_makes_lines_that_are_read(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2")
    messages = []
    for one in chain():
        held = [
            _field(9, _field(1, pair["key"].encode()) + _field(2, _field(1, pair["value"]["stringValue"].encode())))
            for pair in one["attributes"]
        ]
        own = _field(1, bytes.fromhex(one["traceId"])) + _field(2, bytes.fromhex(one["spanId"]))
        own += _field(4, bytes.fromhex(one["parentSpanId"])) + _field(5, one["name"].encode()) + b"".join(held)
        messages.append(_field(1, _field(2, _field(2, own))))
    (tmp_path / "t.bin").write_bytes(b"".join(len(one).to_bytes(4, "big") + one for one in messages))
    case = alone(converted(tmp_path / "t.bin"))

    assert (case.query, case.trace_id, texts(case)) == (QUERY, TRACE, TEXTS)


def converted(path: Path) -> Path:
    """What the command in the refusal makes of a file; the packages that it installs are there."""
    with pytest.raises(InputError) as refused:
        open_cases(path)
    command = str(refused.value).partition("; ")[2].replace("python ", f"{sys.executable} ", 1)
    subprocess.run(["sh", "-c", command], check=True, cwd=path.parent)
    return next(path.parent.glob("*.jsonl"))
