"""Fetching models with the real client from a hub that the test serves on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny_onnx
from hub_server import Repository, serving

from in_process import plain_environment, said_by
from ragtriage.core.errors import ConfigError
from ragtriage.judges.hub_models.folder import known_models, open_model

NAME = "mdeberta-v3-base-xnli"
KNOWN = known_models()[NAME]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    folder = tiny_onnx.entailment(tmp_path_factory.mktemp("hub") / "nli", "[en, de]")
    extra = {"model.safetensors": b"weights", "pytorch_model.bin": b"pickle", "modeling.py": b"code", "notes.txt": b"-"}
    return Repository.of(folder, KNOWN.revision, **extra)


def test_every_known_model_is_pinned_by_a_whole_commit() -> None:
    for name, one in known_models().items():
        assert len(one.revision) == 40, name
        assert set(one.revision) <= set("0123456789abcdef"), name
        assert one.source.startswith("https://"), name


def test_a_model_is_fetched_at_its_commit_and_is_known_by_its_name(repository: Repository, tmp_path: Path) -> None:
    with (
        serving({KNOWN.repository: repository}) as hub,
        plain_environment(RAGTRIAGE_READERS=str(tmp_path), HF_ENDPOINT=hub.url),
    ):
        before = said_by(["readers", "list", "--json"])
        got = said_by(["readers", "get", NAME, "--json"])
        again = said_by(["readers", "get", NAME])
        listed = said_by(["readers"])
        as_json = said_by(["readers", "list", "--json"])
        folder = open_model(NAME)
    names = {
        str(p.relative_to(tmp_path / NAME)) for p in tmp_path.rglob("*") if p.is_file() and ".cache" not in p.parts
    }

    assert got.code == again.code == 0, got.err + again.err
    assert got.json == {
        "name": NAME, "place": str(tmp_path / NAME), "revision": KNOWN.revision, "judge": f"embedded+reader:{NAME}",
    }  # fmt: skip
    assert names == {"README.md", "config.json", "tokenizer.json", "model.safetensors"}
    assert hub.fetched().count("model.safetensors") == 1  # what is there isn't fetched again
    assert all(KNOWN.revision in path for path in hub.asked if "/resolve/" in path)
    assert [one["here"] for one in before.json] == [False, False]
    assert [one["name"] for one in as_json.json if one["here"]] == [NAME]
    assert f"{NAME}  580 MB · MIT · 25 languages · on this machine" in listed.out
    assert f"--judge embedded+reader:{NAME}" in again.out
    assert folder.weights == (tmp_path / NAME / "model.safetensors",)
    assert folder.languages == ("en", "de")


def test_what_cannot_be_fetched_is_told(repository: Repository, tmp_path: Path) -> None:
    files = {name: text for name, text in repository.files.items() if not name.endswith(".safetensors")}
    own = plain_environment
    with serving({KNOWN.repository: Repository(KNOWN.revision, files)}) as hub:
        with own(RAGTRIAGE_READERS=str(tmp_path / "pickle"), HF_ENDPOINT=hub.url):
            pickled = said_by(["readers", "get", NAME])
        with own(RAGTRIAGE_READERS=str(tmp_path / "other"), HF_ENDPOINT=hub.url):
            unknown = said_by(["readers", "get", "deberta-v3-base-mnli-fever-anli"])
            wrong = said_by(["readers", "get", "mdeberta-v3-base-xnl"])

    assert (pickled.code, unknown.code, wrong.code) == (2, 2, 2)
    assert "holds no weights: neither *.safetensors nor ONNX" in pickled.err
    assert "pytorch_model.bin" not in hub.fetched()
    assert "MoritzLaurer/DeBERTa-v3-base-mnli-fever-anli couldn't be fetched" in unknown.err
    assert "did you mean mdeberta-v3-base-xnli?" in wrong.err


def test_a_model_that_is_not_there_is_told_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGTRIAGE_READERS", str(tmp_path))
    for name, words in {
        NAME: f"ragtriage readers get {NAME}",
        "mdeberta-v3-base-xlni": f"did you mean {NAME}",
        "models/nothing": "isn't there: give a folder",
        "hhem-2.1-open": "there is no hub model 'hhem-2.1-open'",
    }.items():
        with pytest.raises(ConfigError, match=words):
            open_model(name)
