"""What a test session says about judging, which session runs, and how a test can end but by its own assertions.

Flags go first, then the ini file, then the defaults. Loads nothing, so that the plugin may import it in every session.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from ragtriage.core.errors import RagtriageError

CONFIGS: list[pytest.Config] = []
"""The configurations of the sessions that have the plugin, the innermost last; empty where it is turned off."""
EMBEDDED = "embedded"
UNDEFINED = ("skip", "fail", "pass")
"""What may become of a test that needs an undefined score."""
_FLAGS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "judge": {"metavar": "NAME", "help": "who judges: embedded (default) or PROVIDER:MODEL"},
        "network": {"action": "store_true", "help": "models and applications at a URL may be asked"},
        "store": {"metavar": "PLACE", "help": "where runs and answers are kept [.ragtriage/]"},
        "undefined": {"choices": UNDEFINED, "help": "what becomes of a test whose score is undefined [skip]"},
    }
)
"""Option → how pytest knows its flag."""
_INI: Mapping[str, str] = MappingProxyType(
    {
        "judge": _FLAGS["judge"]["help"],
        "store": "where runs and answers are kept, from the rootdir",
        "undefined": _FLAGS["undefined"]["help"],
    }
)
"""Option → its help in the ini file."""


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
    def given(self) -> dict[str, Any]:
        """What comes before the settings, by their names."""
        return {"judge": self.judges, "jury": "majority" if len(self.judges) > 1 else None}

    @property
    def default_store(self) -> Path:
        """Where the store is if no other place is named."""
        from ragtriage.store.database import FOLDER  # noqa: PLC0415  # loaded by a test

        return self.rootdir / FOLDER


def add_options(parser: pytest.Parser) -> None:
    """Register flags and ini options."""
    group = parser.getgroup("ragtriage")
    for name, known in _FLAGS.items():
        group.addoption(f"--ragtriage-{name}", **known)
    for name, text in _INI.items():
        parser.addini(f"ragtriage_{name}", text, default="")


def undefined_of(config: pytest.Config) -> str:
    """What becomes of a test that needs an undefined score."""
    given = _given(config, "undefined") or UNDEFINED[0]
    if given not in UNDEFINED:
        raise pytest.UsageError(f"ragtriage_undefined is {given!r}: use {', '.join(UNDEFINED)}")
    return given


def options_of(config: pytest.Config) -> SuiteOptions:
    """The options of a session."""
    store = _given(config, "store")
    if store and "://" not in store:
        store = str(config.rootpath / store)
    judges = (name.strip() for name in (_given(config, "judge") or EMBEDDED).split(","))
    network = bool(config.getoption("ragtriage_network"))
    return SuiteOptions(config.rootpath, tuple(filter(None, judges)), network, store or None, session_of(config))


def session_of(config: pytest.Config) -> str:
    """What tells this session from others: pytest-xdist's id in each of its workers."""
    worker = getattr(config, "workerinput", None)
    return str(worker["testrunuid"]) if worker else config.stash.setdefault(_OWN, secrets.token_hex(16))


_OWN = pytest.StashKey[str]()


def _given(config: pytest.Config, name: str) -> str:
    return str(config.getoption(f"ragtriage_{name}") or config.getini(f"ragtriage_{name}") or "").strip()


class Undecided(Exception):
    """A score that a test needs is undefined: the test can neither pass nor fail by it.

    What becomes of the test says the option `ragtriage_undefined`; by default it is skipped with the reason.
    """


class NotJudged(RagtriageError):
    """A verdict that a test needs isn't there: the judge, the store or the application failed, and not the answer."""


class UnsureWarning(UserWarning):
    """An assertion would fail by verdicts that the judge isn't sure of, and `sure_only` lets it pass."""
