"""What a test session says about judging: flags first, then the ini file, then the defaults."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

import pytest

from ragtriage.store.database import FOLDER

EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """How one test session judges."""

    rootdir: Path
    judges: tuple[str, ...] = (EMBEDDED,)
    """Several are a jury."""
    network: bool = False
    """Whether a model or an application at a URL may be asked."""
    store: str | None = None
    """Where answers and runs are kept; None for the default place, without which a session can do."""
    session: str = ""
    """The same in all processes of one session, and in no other one."""

    @property
    def default_store(self) -> Path:
        """Where the store is if no other place is named."""
        return self.rootdir / FOLDER


def options_of(config: pytest.Config) -> SuiteOptions:
    """The options of a session."""
    judges = _given(config, "ragtriage_judge") or EMBEDDED
    store = _given(config, "ragtriage_store")
    if store and "://" not in store:
        store = str(config.rootpath / store)
    return SuiteOptions(
        config.rootpath,
        tuple(filter(None, (name.strip() for name in judges.split(",")))),
        bool(config.getoption("ragtriage_network")),
        store or None,
        session_of(config),
    )


def session_of(config: pytest.Config) -> str:
    """What tells this session from others: pytest-xdist's id in each of its workers."""
    worker = getattr(config, "workerinput", None)
    return str(worker["testrunuid"]) if worker else config.stash.setdefault(_OWN, secrets.token_hex(16))


_OWN = pytest.StashKey[str]()


def _given(config: pytest.Config, name: str) -> str:
    return str(config.getoption(name) or config.getini(name) or "").strip()
