"""Fetching readers with the real client from a hub that the test serves on this machine."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import tiny_onnx
from hub_server import Repository, serving

from in_process import plain_environment, said_by
from ragtriage.core.errors import ConfigError
from ragtriage.judges.build import judge_named
from ragtriage.judges.hub_readers.folder import open_folder
from ragtriage.judges.hub_readers.hub import fetch
from ragtriage.judges.hub_readers.known import MANIFEST, KnownReader, known_reader, known_readers

COMMIT, OTHER = "a" * 40, "b" * 40
KNOWN = KnownReader(
    "reranker", "maker/reranker", 1, "MIT", ("en", "de"), "", "https://example.org/reranker",
    name="bge-reranker-base", revision=COMMIT, files=("onnx/model.onnx",),
)  # fmt: skip


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    folder = tiny_onnx.reader(tmp_path_factory.mktemp("hub") / "reranker")
    extra = {"pytorch_model.bin": b"pickle", "modeling.py": b"code", "onnx/model_int8.onnx": b"other"}
    return Repository.of(folder, COMMIT, **extra)


def test_a_reader_is_fetched_at_its_commit_and_judges(repository: Repository, tmp_path: Path) -> None:
    place = tmp_path / "bge-reranker-base"
    with serving({"maker/reranker": repository}) as hub:
        found = fetch(KNOWN, place, endpoint=hub.url)
        again = fetch(KNOWN, place, endpoint=hub.url)
    told = json.loads((place / MANIFEST).read_text())

    assert (found.revision, found.pinned) == (COMMIT, True)
    assert told["revision"] == COMMIT
    assert told["files"]["onnx/model.onnx"] == hashlib.sha256(repository.files["onnx/model.onnx"]).hexdigest()
    names = {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file() and ".cache" not in path.parts}
    assert names == {
        "README.md", "config.json", "tokenizer.json", "tokenizer_config.json", "onnx/model.onnx", MANIFEST
    }  # fmt: skip
    assert hub.fetched().count("onnx/model.onnx") == 1  # what is there isn't fetched again
    assert again == found
    assert all(COMMIT in path for path in hub.asked if "/resolve/" in path)
    folder = open_folder("bge-reranker-base", place)
    assert folder.known == known_reader("bge-reranker-base")
    assert folder.languages == ("en", "zh")
    assert judge_named(f"embedded+reader:{place}").fingerprint("essential")


def test_a_file_that_is_not_what_the_hub_states_is_refused_and_deleted(repository: Repository, tmp_path: Path) -> None:
    lying = replace(repository, lies={"onnx/model.onnx"})
    with serving({"maker/reranker": lying}) as hub, pytest.raises(ConfigError, match="isn't what the hub states"):
        fetch(KNOWN, tmp_path / "there", endpoint=hub.url)
    assert not (tmp_path / "there" / "onnx" / "model.onnx").exists()
    assert not (tmp_path / "there" / MANIFEST).exists()


def test_a_file_that_is_not_what_was_published_is_refused(repository: Repository, tmp_path: Path) -> None:
    other = replace(KNOWN, sha256={"onnx/model.onnx": "0" * 64})
    with serving({"maker/reranker": repository}) as hub, pytest.raises(ConfigError, match="isn't what was published"):
        fetch(other, tmp_path / "there", endpoint=hub.url)


def test_a_refused_file_leaves_what_was_fetched_before(repository: Repository, tmp_path: Path) -> None:
    place, model = tmp_path / "there", "onnx/model.onnx"
    known = replace(KNOWN, sha256={model: hashlib.sha256(repository.files[model]).hexdigest()})
    other = Repository(OTHER, repository.files | {model: b"other weights"})
    with serving({"maker/reranker": repository}) as hub:
        fetch(known, place, endpoint=hub.url)
    with serving({"maker/reranker": other}) as hub:
        with pytest.raises(ConfigError, match=r"isn't what was published as .*; nothing was fetched"):
            fetch(known, place, revision=OTHER, endpoint=hub.url)
        assert not any("/resolve/" in path for path in hub.asked)

    assert (place / model).read_bytes() == repository.files[model]
    assert open_folder("there", place).known


def test_a_folder_with_a_refused_file_cannot_be_used(repository: Repository, tmp_path: Path) -> None:
    place = tmp_path / "there"
    known = replace(KNOWN, sha256={"config.json": "0" * 64})  # of which the hub states git's hash only
    lying = replace(repository, lies={"tokenizer.json"})
    with serving({"maker/reranker": repository}) as hub:
        fetch(KNOWN, place, endpoint=hub.url)
        with pytest.raises(ConfigError, match=r"isn't what was published as .*; it was deleted"):
            fetch(known, place, endpoint=hub.url)
    assert not (place / "config.json").exists()
    assert not (place / MANIFEST).exists()
    with serving({"maker/reranker": replace(lying, commit=OTHER)}) as hub:
        (place / "tokenizer.json").unlink()
        with pytest.raises(ConfigError, match="isn't what the hub states"):
            fetch(KNOWN, place, revision="main", endpoint=hub.url)
    with pytest.raises(ConfigError, match="give `ragtriage readers get` again"):
        open_folder("there", place)
    with serving({"maker/reranker": repository}) as hub:
        fetch(KNOWN, place, endpoint=hub.url)
    assert open_folder("there", place).known


def test_what_an_earlier_revision_had_alone_is_taken_away(repository: Repository, tmp_path: Path) -> None:
    place = tmp_path / "there"
    vocabulary = b"[PAD]\n[UNK]\n[CLS]\n[SEP]"
    files = {name: text for name, text in repository.files.items() if name != "tokenizer.json"}
    later = Repository(OTHER, files | {"vocab.txt": vocabulary})
    lying = replace(later, lies={"onnx/model.onnx"}, files=later.files | {"onnx/model.onnx": b"other weights"})
    with serving({"maker/reranker": repository}) as hub:
        fetch(KNOWN, place, endpoint=hub.url)
    (place / "notes.txt").write_text("the user's own")
    with serving({"maker/reranker": lying}) as hub, pytest.raises(ConfigError, match="isn't what the hub states"):
        fetch(KNOWN, place, revision=OTHER, endpoint=hub.url)  # cut off half way
    with serving({"maker/reranker": later}) as hub:
        fetch(KNOWN, place, revision=OTHER, endpoint=hub.url)

    assert (place / "vocab.txt").read_bytes() == vocabulary
    assert not (place / "tokenizer.json").exists()
    assert (place / "notes.txt").exists()
    assert not (place / f"{MANIFEST}.part").exists()


def test_weights_beside_an_onnx_file_are_fetched_with_it(repository: Repository, tmp_path: Path) -> None:
    large = Repository(COMMIT, repository.files | {"onnx/model.onnx_data": b"weights"})
    with serving({"maker/reranker": large}) as hub:
        fetch(KNOWN, tmp_path / "there", endpoint=hub.url)

    assert (tmp_path / "there" / "onnx" / "model.onnx_data").read_bytes() == b"weights"


def test_another_revision_is_fetched_where_one_is_named(repository: Repository, tmp_path: Path) -> None:
    with serving({"maker/reranker": repository}) as hub:
        found = fetch(KNOWN, tmp_path / "there", revision="refs/pr/1", endpoint=hub.url)
        assert found.revision == COMMIT
        with pytest.raises(ConfigError, match="couldn't be fetched"):
            fetch(KNOWN, tmp_path / "other", revision=OTHER, endpoint=hub.url)


def test_a_reader_without_a_pinned_revision_wants_one(tmp_path: Path) -> None:
    unpinned = next(one for one in known_readers().values() if not one.revision)
    with pytest.raises(ConfigError, match="no revision of"):
        fetch(unpinned, tmp_path, endpoint="http://127.0.0.1:9")


def test_a_revision_with_a_pickle_alone_is_refused(repository: Repository, tmp_path: Path) -> None:
    pickled = Repository(COMMIT, {name: text for name, text in repository.files.items() if "onnx" not in name})
    with serving({"maker/reranker": pickled}) as hub, pytest.raises(ConfigError, match="a pickle is never loaded"):
        fetch(KNOWN, tmp_path / "there", endpoint=hub.url)
    assert "pytorch_model.bin" not in hub.fetched()


def test_a_foundation_is_fetched_beside(repository: Repository, tmp_path: Path) -> None:
    foundation = Repository(OTHER, {"config.json": b"{}", "tokenizer.json": b"{}", "model.safetensors": b"large"})
    with_foundation = replace(KNOWN, foundation="maker/base", foundation_revision=OTHER)
    with serving({"maker/reranker": repository, "maker/base": foundation}) as hub:
        fetch(with_foundation, tmp_path / "there", endpoint=hub.url)
    told = json.loads((tmp_path / "there" / MANIFEST).read_text())

    assert told["foundation_revision"] == OTHER
    assert sorted(path.name for path in (tmp_path / "there" / "foundation").glob("*.json")) == [
        "config.json",
        "tokenizer.json",
    ]


def test_a_hub_that_does_not_answer_is_told(tmp_path: Path) -> None:
    with serving({}) as hub, pytest.raises(ConfigError, match=r"maker/reranker at a{40} couldn't be fetched"):
        fetch(KNOWN, tmp_path / "there", endpoint=hub.url)


def test_the_commands(repository: Repository, tmp_path: Path) -> None:
    place = tmp_path / "readers"
    known = known_reader("jina-reranker-v2-base")
    assert known is not None
    served = replace(repository, commit=known.revision)
    with (
        serving({known.repository: served}) as hub,
        plain_environment(RAGTRIAGE_READERS=str(place), HF_ENDPOINT=hub.url, HF_HUB_OFFLINE="0"),
    ):
        got = said_by(["readers", "get", "jina-reranker-v2-base", "--json"])
        listed = said_by(["readers"])
        as_json = said_by(["readers", "list", "--json"])
        wrong = said_by(["readers", "get", "jina-reranker-v2-bas"])
        spaced = said_by(["readers", "get", "jina-reranker-v2-base", "--to", str(tmp_path / "my models" / "jina")])
    with plain_environment(RAGTRIAGE_READERS=str(place), HF_HUB_OFFLINE="1"):
        offline = said_by(["readers", "get", "bge-reranker-v2-m3"])
        unpinned = said_by(["readers", "get", "lettucedetect-base-en"])

    assert got.code == 0, got.err
    assert got.json["judge"] == "embedded+reader:jina-reranker-v2-base"
    assert got.json["pinned"] is True
    words = shlex.split(spaced.out.splitlines()[-1].partition("judge with it: ")[2])
    assert words == ["--judge", f"embedded+reader:{tmp_path / 'my models' / 'jina'}"]
    assert (place / "jina-reranker-v2-base" / "onnx" / "model.onnx").is_file()
    assert "jina-reranker-v2-base  reranker · 1.1 GB · CC-BY-NC-4.0" in listed.out
    assert "on this machine" in listed.out
    assert [one["name"] for one in as_json.json if one["here"]] == ["jina-reranker-v2-base"]
    assert (wrong.code, offline.code, unpinned.code) == (2, 2, 2)
    assert "did you mean jina-reranker-v2-base?" in wrong.err
    assert "HF_HUB_OFFLINE is set" in offline.err
    assert "--revision" in unpinned.err
