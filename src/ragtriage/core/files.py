"""Files and folders of this machine and of object stores: private to their owner, and written as a whole or not at all.

Most of them hold customers' texts. So a file is made with the mode 0600 and a folder with 0700, whatever the umask, and
from the first moment on. What is there already keeps its mode. Windows knows no such modes: there, the folder's rights
count.

An address is a path, or a URL of what pyarrow's filesystems know: `s3://`, `gs://`, `hdfs://`. What stands behind the
`?` of a URL are the filesystem's options, for example `s3://bucket/run?region=eu-central-1`.
"""

import fnmatch
import io
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EISDIR
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, TextIO
from urllib.request import url2pathname

from ragtriage.core.errors import InputError, MissingExtraError, StoreError

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
ORDINARY_FILE = 0o666
"""What a file that holds no text of a case is made with; the umask takes away from it, as everywhere."""


def state_folder() -> Path:
    """Where this user's files stand that no folder of work holds: by `XDG_STATE_HOME`, else where the system wants it.

    Where the user has no home, nothing can be written there.
    """
    if given := os.environ.get("XDG_STATE_HOME"):
        return Path(given) / "ragtriage"
    try:
        home = Path.home()
    except RuntimeError:
        home = Path(os.devnull)
    of_system = {"darwin": "Library/Application Support", "win32": "AppData/Local"}
    return home / of_system.get(sys.platform, ".local/state") / "ragtriage"


def private_folder(path: Path) -> None:
    """Make a folder that only its owner may enter, and so those above it that aren't there; one that is there stays."""
    for folder in reversed((path, *path.parents)):
        if not folder.is_dir():
            folder.mkdir(PRIVATE_FOLDER, exist_ok=True)


def private_file(path: Path) -> None:
    """Make an empty file that only its owner may read and write; one that is there stays as it is."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, PRIVATE_FILE))


def open_private(path: Path) -> BinaryIO:
    """Open a file to write bytes to; if it has to be made, only its owner may read and write it."""
    private_file(path)
    return path.open("wb")


@contextmanager
def atomic_path(path: Path, mode: int = PRIVATE_FILE) -> Iterator[Path]:
    """Where to write a file, made empty, that takes the place of another when the block has ended without an error.

    Folders are made if they aren't there. The `mode` is a new file's; one that is replaced hands its own on.
    """
    if not path.name or path.is_dir():
        raise IsADirectoryError(EISDIR, "it is a folder", str(path))
    private_folder(path.parent)
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)  # a killed process left it, perhaps with another mode
    kept = _mode_of(path)
    os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode if kept is None else PRIVATE_FILE))
    try:
        yield beside
        if kept is not None:
            beside.chmod(kept)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _mode_of(path: Path) -> int | None:
    try:
        found = path.stat().st_mode
    except FileNotFoundError:
        return None
    return stat.S_IMODE(found) & 0o777 if stat.S_ISREG(found) else None


@contextmanager
def atomic_write(
    path: Path, errors: str = "strict", *, newline: str | None = None, mode: int = PRIVATE_FILE
) -> Iterator[TextIO]:
    """A file to write text to, in UTF-8; what stood there before stays until the block has ended without an error.

    `errors` says what becomes of half a surrogate pair, which no UTF-8 can hold: see `codecs.register_error`. All else
    is as for `atomic_path`.
    """
    with atomic_path(path, mode) as beside, beside.open("w", encoding="utf-8", errors=errors, newline=newline) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def why_unreadable(error: OSError | UnicodeDecodeError) -> str:
    """Why a file can't be read, for a message that names it."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} (0x{error.object[error.start]:02x}) is not UTF-8: save it as UTF-8"
    return error.strerror or str(error)


REMOTE = "://"
FILESYSTEMS = frozenset({"s3", "gs", "gcs", "hdfs", "viewfs", "abfs", "abfss", "file"})
"""The kinds of URLs that pyarrow's filesystems know."""
_FILE = "file://"
_GLOB = re.compile(r"[*\[]")
_LOCAL_GLOB = re.compile(r"[*?\[]")
_BUFFER = 1 << 16
_PORTION = 1 << 20


@dataclass(frozen=True, slots=True)
class Stamp:
    """What changes when a file does."""

    size: int
    version: str
    """The ETag of an object store, else the modification time."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder in which files are written as a whole; one of this machine is private to its owner.

    Every method but `names` raises a `StoreError` where the folder can't be used.
    """

    address: str
    """Absolute where it is on this machine."""

    def at(self, name: str) -> str:
        """The address of a file in it; `name` may contain slashes."""
        base, sign, options = self.address.partition("?") if REMOTE in self.address else (self.address, "", "")
        return f"{base.rstrip('/')}/{name}{sign}{options}"

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if there is none."""
        system, path = _located(self.at(name))
        try:
            with system.open_input_stream(path) as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"{self.at(name)} can't be read: {_said(error)}") from error

    def write(self, name: str, content: bytes) -> None:
        """Write a file as a whole."""
        self.write_from(name, io.BytesIO(content))

    def names(self, below: str = "") -> list[str]:
        """The names of the files in it, or in a folder below it, sorted; none where it isn't there."""
        system, path = _located(self.at(below))
        pa_fs = _pyarrow_fs()
        try:
            found = system.get_file_info(pa_fs.FileSelector(path.rstrip("/"), allow_not_found=True))
        except OSError as error:
            raise StoreError(f"{self.at(below)} can't be listed: {_said(error)}") from error
        return sorted(info.base_name for info in found if info.type == pa_fs.FileType.File)

    def delete(self, name: str) -> None:
        """Delete a file; one that is gone already is fine."""
        system, path = _located(self.at(name))
        try:
            system.delete_file(path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(f"{self.at(name)} can't be deleted: {_said(error)}") from error

    def write_from(self, name: str, content: BinaryIO) -> None:
        """Write a file as a whole, from a stream, a portion at a time."""
        try:
            if REMOTE in self.address:
                system, path = _located(self.at(name))
                with system.open_output_stream(path) as stream:
                    shutil.copyfileobj(content, stream, _PORTION)
                return
            private_folder(Path(self.at(name)).parent)
            with atomic_path(Path(self.at(name))) as beside, beside.open("wb") as file:
                shutil.copyfileobj(content, file, _PORTION)
        except OSError as error:
            raise StoreError(f"{self.at(name)} can't be written: {_said(error)}") from error

    def modified(self, name: str) -> float | None:
        """When a file was written, in seconds by the clock of what keeps it; None if there is none."""
        system, path = _located(self.at(name))
        try:
            (info,) = system.get_file_info([path])
        except OSError as error:
            raise StoreError(f"{self.at(name)} can't be looked at: {_said(error)}") from error
        return info.mtime_ns / 1e9 if info.type == _pyarrow_fs().FileType.File and info.mtime_ns is not None else None


def folder_at(address: str) -> Folder:
    """The folder with an address; nothing is made or looked at."""
    if address.lower().startswith(_FILE):
        host, slash, path = address[len(_FILE) :].partition("/")
        if host not in {"", "localhost"} or not slash:
            raise InputError(f"{address}: write file:///, then the whole path, or the path alone")
        return Folder(str(Path(url2pathname(f"/{path}")).absolute()))
    return Folder(address if REMOTE in address else str(Path(address).absolute()))


def open_input(address: str) -> BinaryIO:
    """The bytes of a file, which can be read from any place."""
    if REMOTE not in address:
        return Path(address).open("rb", buffering=_BUFFER)
    system, path = _located(address)
    return system.open_input_file(path)  # type: ignore[no-any-return]  # pyarrow's files have the methods


def stamp_of(address: str) -> Stamp | None:
    """The size and version of a file as it is now; None if there is none."""
    if REMOTE not in address:
        try:
            found = Path(address).stat()
        except FileNotFoundError:
            return None
        return Stamp(found.st_size, str(found.st_mtime_ns))
    system, path = _located(address)
    (info,) = system.get_file_info([path])
    if info.type != _pyarrow_fs().FileType.File:
        return None
    return Stamp(info.size, _etag(system, path) or str(info.mtime_ns))


def listed(pattern: str) -> Iterator[tuple[str, str]]:
    """The files that a path, folder, prefix or glob means: (address, name as the user knows it), sorted."""
    found = _remote(pattern) if REMOTE in pattern else _local(pattern)
    if not found:
        kind = "no file fits this pattern" if _LOCAL_GLOB.search(pattern) else "there is no such file or folder"
        if REMOTE not in pattern and Path(pattern).is_dir():
            kind = f"the folder holds no {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]} file"
        raise InputError(f"{pattern}: {kind}")
    yield from sorted(found)


SUFFIXES = (".parquet", ".pq", ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".gz")
"""What is taken of a folder."""


def _local(pattern: str) -> list[tuple[str, str]]:
    path = Path(pattern)
    if path.is_file():
        return [(str(path.absolute()), pattern)]
    if path.is_dir():
        inner = (one for one in path.rglob("*") if one.is_file() and _taken(one.relative_to(path).as_posix()))
        return [(str(one.absolute()), str(one)) for one in inner]
    if not _LOCAL_GLOB.search(pattern):
        return []
    fixed = next((p for p in path.parents if not _LOCAL_GLOB.search(str(p))), Path())
    found = fixed.glob(str(path.relative_to(fixed)))
    inner = (one for one in found if one.is_file() and not one.name.startswith("."))
    return [(str(one.absolute()), str(one)) for one in inner]


def _remote(pattern: str) -> list[tuple[str, str]]:
    url, sign, options = pattern.partition("?")
    scheme, _, rest = url.partition(REMOTE)
    glob = _GLOB.search(rest)
    if glob and "/" not in rest[: glob.start()]:
        bucket, slash, _ = rest.partition("/")
        raise InputError(
            f"{pattern}: a pattern can't stand for {'several buckets' if slash else 'a bucket'} ({bucket}): give the "
            "name of one, and the pattern behind it"
        )
    fixed = rest[: rest.rindex("/", 0, glob.start())] if glob else rest.rstrip("/")
    system, path = _located(f"{scheme}{REMOTE}{fixed}{sign}{options}")
    pa_fs = _pyarrow_fs()
    selector = pa_fs.FileSelector(path, recursive=True, allow_not_found=True)
    try:
        (whole,) = system.get_file_info([path])
        if whole.type == pa_fs.FileType.File:
            return [(pattern, url)]
        infos = [info for info in system.get_file_info(selector) if info.type == pa_fs.FileType.File]
    except OSError as error:
        raise InputError(f"{pattern}: can't be listed: {_said(error)}") from error
    wanted = path + rest[len(fixed) :] if glob else ""
    if glob:
        found = [info.path for info in infos if _fits(info.path, wanted)]
    else:
        found = [info.path for info in infos if _taken(info.path.removeprefix(path).lstrip("/"))]
    start = rest[: len(rest) - len(rest.lstrip("/"))] if scheme == "hdfs" else ""
    return [(f"{scheme}{REMOTE}{start}{one}{sign}{options}", f"{scheme}{REMOTE}{start}{one}") for one in found]


def _fits(path: str, pattern: str) -> bool:
    """Whether a path fits, where `*` stays within a folder and `**` doesn't."""
    if "**" in pattern:
        return fnmatch.fnmatchcase(path, pattern.replace("**/", "*"))
    return path.count("/") == pattern.count("/") and fnmatch.fnmatchcase(path, pattern)


def _taken(relative: str) -> bool:
    hidden = any(part.startswith((".", "_")) for part in relative.split("/"))
    return not hidden and relative.lower().endswith(SUFFIXES)


def _etag(system: Any, path: str) -> str | None:
    with system.open_input_stream(path) as stream:
        found: dict[str, bytes] = stream.metadata() or {}
    return next((value.decode() for name, value in found.items() if name.lower() == "etag"), None)


def _located(address: str) -> tuple[Any, str]:
    if REMOTE not in address:
        return _pyarrow_fs().LocalFileSystem(), address
    scheme, _, rest = address.partition(REMOTE)
    url, sign, options = rest.partition("?")
    bucket = url.split("/", 1)[0]
    if scheme == "s3":
        sign, options = "?", "&".join(filter(None, (options, *_s3_options(options))))
    system = _system(f"{scheme}{REMOTE}{bucket}/{sign}{options}")
    return system, url if scheme != "hdfs" else "/" + url.split("/", 1)[-1]


def _s3_options(given: str) -> Iterator[str]:
    """What the usual variables say and pyarrow doesn't read: another server than Amazon's, and the region."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint and "endpoint_override=" not in given:
        kind, sign, host = endpoint.rstrip("/").rpartition(REMOTE)
        yield f"endpoint_override={host}&scheme={kind if sign else 'https'}"
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region and "region=" not in given:
        yield f"region={region}"


@cache
def _system(address: str) -> Any:
    """One filesystem for a bucket, whose connections are kept."""
    try:
        system, _ = _pyarrow_fs().FileSystem.from_uri(address)
    except (OSError, ValueError) as error:
        raise InputError(f"{address}: no filesystem can be opened for this address: {_said(error)}") from error
    return system


def _pyarrow_fs() -> Any:
    try:
        import pyarrow.fs  # noqa: PLC0415  # an extra
    except ImportError:
        raise MissingExtraError("Runs in folders", "parquet") from None
    return pyarrow.fs


def _said(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)
