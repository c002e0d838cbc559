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
from ragtriage.judges.hub_readers.known import MANIFEST, KnownReader

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
    tell(f"fetching {reader.repository} at {wanted} to {place}")
    digests = _fetched(hub, reader.repository, wanted, (*BESIDE, *reader.files), place, reader)
    if not any(fnmatch(file, pattern) for file in digests.files for pattern in reader.files):
        raise ConfigError(
            f"{reader.repository} at {wanted} holds none of {', '.join(reader.files)}, and a pickle is never loaded: "
            f"name a revision that does{f'; {reader.note}' if reader.note else ''}",
            "revision",
        )
    foundation = None
    if reader.foundation:
        tell(f"fetching {reader.foundation} at {reader.foundation_revision} to {place / FOUNDATION}")
        foundation = _fetched(
            hub, reader.foundation, reader.foundation_revision, _OF_FOUNDATION, place / FOUNDATION, reader
        )
    for file, known in reader.sha256.items():
        if file in digests.files and digests.files[file] != known:
            raise ConfigError(
                f"{place / file} isn't what was published as {reader.name}: its SHA-256 is {digests.files[file]} and "
                f"not {known}; don't use it"
            )
    _write(place, reader, digests, foundation)
    every = [digests, *([foundation] if foundation else [])]
    return Fetched(
        place,
        digests.commit,
        sum(len(one.files) for one in every),
        sum(one.size for one in every),
        digests.commit == reader.revision,
    )


@dataclass(frozen=True, slots=True)
class _Digests:
    commit: str
    files: Mapping[str, str]
    """File → SHA-256."""
    size: int


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


def _fetched(
    hub: Any, repository: str, revision: str, patterns: tuple[str, ...], place: Path, reader: KnownReader
) -> _Digests:
    """Fetch the files of one repository, and hold each against the digest that the hub states for that commit."""
    try:
        told = hub.model_info(repository, revision=revision, files_metadata=True)
        commit = str(told.sha)
        _require_commit(repository, revision, commit)
        wanted = [one for one in told.siblings if any(fnmatch(one.rfilename, pattern) for pattern in patterns)]
        hub.snapshot_download(
            repository, revision=commit, allow_patterns=[one.rfilename for one in wanted], local_dir=place
        )
    except ConfigError:
        raise
    except Exception as error:
        why = " ".join(str(error).split())[:300] or type(error).__name__
        raise ConfigError(
            f"{repository} at {revision} couldn't be fetched: {why}; what was fetched stays, so give the same command "
            f"again (the model's page: {reader.source})"
        ) from error
    files = {one.rfilename: _checked(place / one.rfilename, one) for one in wanted}
    return _Digests(commit, files, sum((place / file).stat().st_size for file in files))


def _require_commit(repository: str, revision: str, commit: str) -> None:
    if _COMMIT.fullmatch(revision) and commit != revision:
        raise ConfigError(f"the hub gave commit {commit} of {repository} where {revision} was asked for")


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


def _write(place: Path, reader: KnownReader, own: _Digests, foundation: _Digests | None) -> None:
    """What lies in the folder, for whoever reads with it."""
    told: dict[str, Any] = {
        "name": reader.name,
        "repository": reader.repository,
        "revision": own.commit,
        "files": dict(sorted(own.files.items())),
    }
    if foundation:
        told |= {
            "foundation": reader.foundation,
            "foundation_revision": foundation.commit,
            "foundation_files": dict(sorted(foundation.files.items())),
        }
    (place / MANIFEST).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
