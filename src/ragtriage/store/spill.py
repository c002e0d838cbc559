"""Answers that the store couldn't take, in a file elsewhere until it can."""

from __future__ import annotations

import json
import os
import secrets
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ragtriage.core.files import private_folder
from ragtriage.core.verdicts import Answer
from ragtriage.judges.wrappers import CachedAnswer
from ragtriage.runs.codec import decode_answer, encode_answer

_MEMORY_DISK = Path("/dev/shm")  # noqa: S108  # where all disks are full; the folder in it is the user's alone


@dataclass(frozen=True, slots=True)
class Spilled:
    """What stands in the files of one store."""

    answers: tuple[CachedAnswer, ...] = ()
    spent: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    """The number of a run → what was spent on it, by column."""
    files: tuple[Path, ...] = ()


class SpillFile:
    """A file for what one store can't take, written as a whole every time.

    It stands beside the store if there is room, else in the user's folder for state, in that for temporary files, or in
    memory. Only the user can read it, since it holds texts.

    Args:
        where: the store's address.
        beside: the store's folder; None if it has none.
    """

    def __init__(self, where: str, beside: Path | None) -> None:
        self._stem = f"ragtriage-unsaved-{blake2b(where.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}-"
        self._name = f"{self._stem}{secrets.token_hex(8)}.jsonl"
        self._beside = beside
        self.path: Path | None = None
        """Where it stands; None if nothing was written."""

    def write(self, answers: Iterable[CachedAnswer], spent: Mapping[int, Mapping[str, float]]) -> Path | None:
        """Write everything in place of what was written before.

        Returns:
            The file; None if no folder has room.
        """
        lines = [json.dumps({"run": run, "spent": dict(values)}) for run, values in spent.items()]
        lines += [json.dumps(_encoded(entry)) for entry in answers]
        content = "".join(f"{line}\n" for line in lines).encode()
        for folder in self._folders():
            with suppress(OSError):
                path = folder / self._name
                _write_whole(path, content)
                if self.path != path:
                    self.remove()
                self.path = path
                return path
        return self.path

    def remove(self) -> None:
        """Delete it, if there is one."""
        if self.path:
            delete_files([self.path])
            self.path = None

    def read_all(self) -> Spilled:
        """What earlier commands left for the same store; damaged lines are left out."""
        answers: list[CachedAnswer] = []
        spent: dict[int, dict[str, float]] = {}
        files = [path for folder in self._folders() for path in _own_files(folder, self._stem)]
        for path in files:
            for line in _lines(path):
                with suppress(ValueError, KeyError, TypeError, AttributeError):
                    read = json.loads(line)
                    if "spent" in read:
                        known = spent.setdefault(int(read["run"]), {})
                        known |= {name: max(value, known.get(name, 0)) for name, value in read["spent"].items()}
                    else:
                        answers.append(_decoded(read))
        return Spilled(tuple(answers), spent, tuple(files))

    def _folders(self) -> Iterator[Path]:
        if self._beside and self._beside.is_dir():  # a store that was deleted isn't made again
            yield self._beside
        with suppress(RuntimeError):  # a user without a home
            yield Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "ragtriage"
        own = f"ragtriage-{os.getuid()}" if hasattr(os, "getuid") else "ragtriage"
        yield Path(tempfile.gettempdir()) / own
        if _MEMORY_DISK.is_dir():
            yield _MEMORY_DISK / own


def delete_files(files: Sequence[Path]) -> None:
    """Delete files as far as that is possible."""
    for path in files:
        with suppress(OSError):
            path.unlink()


def _encoded(entry: CachedAnswer) -> dict[str, Any]:
    return {
        "key": entry.key.hex(),
        "kind": entry.kind,
        "fingerprint": entry.fingerprint,
        "trial": entry.trial,
        "batch": entry.batch,
        "body": encode_answer(entry.answer),
    }


def _decoded(read: Mapping[str, Any]) -> CachedAnswer:
    answer: Answer = decode_answer(read["body"])
    return CachedAnswer(
        bytes.fromhex(read["key"]), read["kind"], read["fingerprint"], answer, read["trial"], read["batch"]
    )


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, all of it or nothing."""
    private_folder(path.parent)
    _require_own(path.parent)
    part = path.with_suffix(".part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())  # some file systems notice only now that they are full
        part.replace(path)
    except OSError:
        delete_files([part])
        raise


def _require_own(folder: Path) -> None:
    """Refuse a folder of somebody else's, who could put a link or answers there."""
    found = folder.lstat()
    if hasattr(os, "getuid") and (found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode)):
        raise PermissionError(folder)


def _own_files(folder: Path, stem: str) -> list[Path]:
    """The files of this user whose names begin so."""
    own = os.getuid() if hasattr(os, "getuid") else None
    found = []
    with suppress(OSError):
        for path in sorted(folder.glob(f"{stem}*.jsonl")):
            about = path.lstat()
            if stat.S_ISREG(about.st_mode) and own in (None, about.st_uid):
                found.append(path)
    return found


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
