"""Which files and folders others than their owner may read, write or enter."""

import stat
from collections.abc import Iterable
from pathlib import Path


def wide(folder: Path, given: Iterable[Path] = ()) -> list[str]:
    """Everything below a folder, but what was given and what Python compiled, that is open to more than its owner."""
    left = set(given)
    below = (path for path in sorted(folder.rglob("*")) if path not in left and "__pycache__" not in path.parts)
    return [f"{path.relative_to(folder)} {mode:o}" for path in below if (mode := mode_of(path)) & 0o077]


def mode_of(path: Path) -> int:
    """The permissions of a file or folder."""
    return stat.S_IMODE(path.stat().st_mode)
