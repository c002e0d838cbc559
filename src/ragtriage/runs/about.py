"""What a run's owner says of it: its name, a note, and the commit that was checked out when it began."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from ragtriage.core.display import one_line

ABOUT = "about"
"""Under which a run's stored configuration has it; what it is known again by doesn't depend on it."""
LONGEST_NAME = 60
"""Characters of a name that are shown."""
_PATIENCE = 2.0
"""Seconds that git may take; in a very large repository a run does without its commit."""


@dataclass(frozen=True, slots=True)
class About:
    """What is said of a run; each is empty where there is nothing."""

    name: str = ""
    note: str = ""
    commit: str = ""
    """The first characters of its digest, with a + where files that git knows were changed since."""

    @classmethod
    def of(cls, configuration: Mapping[str, Any]) -> About:
        """What a run's stored configuration says."""
        said = configuration.get(ABOUT, {})
        return cls(**{one.name: str(said.get(one.name, "")) for one in fields(cls)})

    def stored(self) -> dict[str, dict[str, str]]:
        """What is stored in a run's configuration; nothing where nothing is said."""
        said = {key: value for key, value in asdict(self).items() if value}
        return {ABOUT: said} if said else {}

    def over(self, before: About) -> About:
        """What is said of a run that is continued: a new name and note go first, the first commit stays."""
        return replace(
            before,
            name=self.name or before.name,
            note=self.note or before.note,
            commit=before.commit or self.commit,
        )

    @property
    def facts(self) -> tuple[str, str]:
        """Name and commit, each on one line; empty where there is none."""
        return one_line(self.name, LONGEST_NAME), f"commit {one_line(self.commit, 20)}" if self.commit else ""


NOTHING_SAID = About()


def commit_in(folder: Path) -> str:
    """The commit that is checked out in a folder: `1a2b3c4d5e`, with a + where tracked files are changed.

    Empty where there is no repository, no commit or no git, and where git takes too long.
    """
    # without a lock and without starting a file monitor
    command = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false"]
    command += ["describe", "--always", "--abbrev=10", "--dirty=+", "--exclude=*"]
    try:
        found = subprocess.run(  # noqa: S603  # a fixed command
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE, check=True
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()
