"""Fetching a known hub reader with huggingface_hub: one revision, only what is read, every file against its digest."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from ragtriage.core.errors import ConfigError, MissingExtraError
from ragtriage.judges.hub_readers.folder import FOUNDATION
from ragtriage.judges.hub_readers.known import MANIFEST, UNFINISHED, KnownReader

BESIDE = (
    "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "spiece.model", "spm.model",
    "sentencepiece.bpe.model", "vocab.txt", "vocab.json", "merges.txt", "added_tokens.json", "README.md", "LICENSE*",
    "modules.json", "sentence_bert_config.json", "config_sentence_transformers.json", "*_Pooling/config.json",
    "*_Dense/config.json", "*_Dense/model.safetensors",
)  # fmt: skip
"""What is fetched beside the weights; never code, and never a pickle."""
_OF_FOUNDATION = tuple(name for name in BESIDE if name != "README.md")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_TRUE = {"1", "ON", "YES", "TRUE"}


@dataclass(frozen=True, slots=True)
class Fetched:
    """A reader that was fetched."""

    place: Path
    revision: str
    """The commit."""
    files: int
    size: int
    """Bytes."""
    pinned: bool
    """Whether the revision is the table's own."""


def fetch(
    reader: KnownReader,
    place: Path,
    *,
    revision: str | None = None,
    endpoint: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Fetched:
    """Fetch a reader's files, and write what they are beside them; what is there already isn't fetched again.

    Args:
        reader: which one.
        place: the folder for it.
        revision: a commit, branch or tag instead of the pinned commit.
        endpoint: the hub's address; None for huggingface_hub's own, by HF_ENDPOINT.
        tell: is told what happens.

    Raises:
        ConfigError: no revision is known, the hub is offline or can't be reached, it has no safe weights, or a file
            isn't what its digest says.
        MissingExtraError: huggingface_hub isn't installed.
    """
    wanted = revision or reader.revision
    if not wanted:
        note = f" ({reader.note})" if reader.note else ""
        raise ConfigError(
            f"no revision of {reader.name} is pinned, as none could be verified{note}: look at {reader.source} and "
            "name a commit",
            "revision",
        )
    _refuse_offline(reader)
    hub = _opened(endpoint)
    weights = (*reader.files, *(f"{name}_data*" for name in reader.files if name.endswith(".onnx")))
    own = _asked(hub, reader.repository, wanted, (*BESIDE, *weights), place, reader)
    if not any(fnmatch(file, pattern) for file in own.files for pattern in reader.files):
        raise ConfigError(
            f"{reader.repository} at {wanted} holds none of {', '.join(reader.files)}, and a pickle is never loaded: "
            f"name a revision that does{f'; {reader.note}' if reader.note else ''}",
            "revision",
        )
    for file, stated in own.files.items():
        if stated.lfs is not None and reader.sha256.get(file, stated.lfs.sha256) != stated.lfs.sha256:
            raise _not_published(reader, file, str(stated.lfs.sha256), "nothing was fetched")
    foundation = None
    if reader.foundation:
        inside = place / FOUNDATION
        foundation = _asked(hub, reader.foundation, reader.foundation_revision, _OF_FOUNDATION, inside, reader)
    every = [own, *([foundation] if foundation else [])]
    _begin(place, [str(path.relative_to(place)) for one in every for path in one.paths()])
    for one in every:
        tell(f"fetching {one.repository} at {one.commit} to {one.place}")
        _download(hub, one, reader)
    found = [_checked_files(one) for one in every]
    for file, known in reader.sha256.items():
        if found[0].get(file, known) != known:
            (place / file).unlink()
            raise _not_published(reader, file, found[0][file], "it was deleted")
    _write(place, reader, list(zip(every, found, strict=True)))
    size = sum(path.stat().st_size for one in every for path in one.paths())
    return Fetched(place, own.commit, sum(map(len, found)), size, own.commit == reader.revision)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is fetched of one repository."""

    repository: str
    commit: str
    files: Mapping[str, Any]
    """File → what the hub states of it."""
    place: Path

    def paths(self) -> list[Path]:
        """Where the files lie."""
        return [self.place / file for file in self.files]


def _refuse_offline(reader: KnownReader) -> None:
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
        if os.environ.get(name, "").upper() in _TRUE:
            raise ConfigError(
                f"{reader.name} can't be fetched: {name} is set, so nothing may be asked of a hub; unset it, or copy "
                "the folder from another machine and name its path"
            )


def _opened(endpoint: str | None) -> Any:
    try:
        from huggingface_hub import HfApi  # noqa: PLC0415 - an optional package
    except ImportError:
        raise MissingExtraError("fetched readers", "readers-onnx") from None
    return HfApi(endpoint=endpoint, library_name="ragtriage")


def _asked(
    hub: Any, repository: str, revision: str, patterns: tuple[str, ...], place: Path, reader: KnownReader
) -> _Wanted:
    """Which files of one repository are fetched, and what the hub states of them."""
    try:
        told = hub.model_info(repository, revision=revision, files_metadata=True)
    except Exception as error:
        raise _not_fetched(repository, revision, error, reader) from error
    commit = str(told.sha)
    _require_commit(repository, revision, commit)
    wanted = {
        one.rfilename: one for one in told.siblings if any(fnmatch(one.rfilename, pattern) for pattern in patterns)
    }
    return _Wanted(repository, commit, wanted, place)


def _download(hub: Any, wanted: _Wanted, reader: KnownReader) -> None:
    try:
        hub.snapshot_download(
            wanted.repository, revision=wanted.commit, allow_patterns=list(wanted.files), local_dir=wanted.place
        )
    except Exception as error:
        raise _not_fetched(wanted.repository, wanted.commit, error, reader) from error


def _not_fetched(repository: str, revision: str, error: Exception, reader: KnownReader) -> ConfigError:
    why = " ".join(str(error).split())[:300] or type(error).__name__
    return ConfigError(
        f"{repository} at {revision} couldn't be fetched: {why}; what was fetched stays, so give the same command "
        f"again (the model's page: {reader.source})"
    )


def _not_published(reader: KnownReader, file: str, digest: str, done: str) -> ConfigError:
    return ConfigError(
        f"{file} isn't what was published as {reader.name}: its SHA-256 is {digest} and not {reader.sha256[file]}; "
        f"{done}"
    )


def _begin(place: Path, files: list[str]) -> None:
    """Take away what an earlier revision left there and this one lacks; until all is checked no manifest stands.

    What is fetched is listed beforehand: of a fetch that is cut off nothing may stay for the next revision.
    """
    begun, manifest = place / UNFINISHED, place / MANIFEST
    before = _listed(begun) | _listed(manifest)
    place.mkdir(parents=True, exist_ok=True)
    begun.write_text(json.dumps({"files": sorted(before | set(files))}) + "\n", encoding="utf-8")
    manifest.unlink(missing_ok=True)
    for file in before - set(files):
        (place / file).unlink(missing_ok=True)


def _listed(manifest: Path) -> set[str]:
    """The files that a manifest names, inside its own folder."""
    try:
        told = json.loads(manifest.read_text(encoding="utf-8"))
        named = [*told["files"], *(f"{FOUNDATION}/{name}" for name in told.get("foundation_files", ()))]
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return set()
    return {str(name) for name in named if not Path(str(name)).is_absolute() and ".." not in Path(str(name)).parts}


def _require_commit(repository: str, revision: str, commit: str) -> None:
    if _COMMIT.fullmatch(revision) and commit != revision:
        raise ConfigError(f"the hub gave commit {commit} of {repository} where {revision} was asked for")


def _checked_files(wanted: _Wanted) -> dict[str, str]:
    return {file: _checked(wanted.place / file, stated) for file, stated in wanted.files.items()}


def _checked(path: Path, told: Any) -> str:
    """The SHA-256 of a fetched file, after it was held against what the hub states: that, or git's own hash."""
    with path.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    if told.lfs is not None:
        stated, own = str(told.lfs.sha256), digest
    else:
        content = path.read_bytes()
        stated = str(told.blob_id or "")
        own = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    if stated != own:
        path.unlink()
        raise ConfigError(
            f"{path} isn't what the hub states (its hash is {own} and not {stated}): it was deleted; give the same "
            "command again"
        )
    return digest


def _write(place: Path, reader: KnownReader, fetched: list[tuple[_Wanted, dict[str, str]]]) -> None:
    """What lies in the folder, for whoever reads with it."""
    (own, files), *foundation = fetched
    told: dict[str, Any] = {
        "name": reader.name,
        "repository": reader.repository,
        "revision": own.commit,
        "files": dict(sorted(files.items())),
    }
    for wanted, beside in foundation:
        told |= {
            "foundation": wanted.repository,
            "foundation_revision": wanted.commit,
            "foundation_files": dict(sorted(beside.items())),
        }
    (place / MANIFEST).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    (place / UNFINISHED).unlink()
