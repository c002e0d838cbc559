"""The exceptions that a caller may want to tell apart.

RagtriageError
├── InputError            a file, a row or a field can't be used; says which and what to do
├── ConfigError           a flag, a setting or a metric name is wrong; raised before anything is asked
│   └── MissingExtraError an optional package is needed; says what to install
├── ApplicationError      the application under test can't be asked at all
├── JudgeError            a judge can't work at all (one failed question is a `Failure`, not an exception)
│   └── Stopped           a judge stopped on purpose before it was done; the same evaluation can be continued
└── StoreError            a run can't be read or written
    ├── NotStoredError    a store, a run or a case isn't there, so giving the same command again doesn't help
    └── NotPermittedError the role of a server's user doesn't let him do this
"""


class RagtriageError(Exception):
    """The root: everything that this package raises on purpose."""


class InputError(RagtriageError):
    """A file, a row or a field can't be used."""


class ConfigError(RagtriageError):
    """A flag, a setting or a metric name is wrong.

    Args:
        message: what is wrong and what to do.
        settings: the settings that it is about, as `ragtriage.toml` and Python call them; the command line adds their
            flags.
    """

    def __init__(self, message: str, *settings: str) -> None:
        super().__init__(message)
        self.settings = settings


def how_to_install(extra: str) -> str:
    """The command that installs an extra; no package index has ragtriage."""
    return f"in a copy of ragtriage's repository, pip install '.[{extra}]'"


class MissingExtraError(ConfigError):
    """An optional package is needed but isn't installed.

    Args:
        what: what needs it, for example `"Parquet files"`.
        extra: the name of the extra that brings it.
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} need the extra {extra!r}: {how_to_install(extra)}")
        self.extra = extra


class ApplicationError(RagtriageError):
    """The application under test can't be asked at all: every query would fail alike."""


class JudgeError(RagtriageError):
    """A judge can't work at all: every question would fail alike."""


class Stopped(JudgeError):
    """A judge stopped on purpose (a budget, a limit, a user, a ticket that isn't due); what was answered is kept."""


class StoreError(RagtriageError):
    """A run can't be read or written."""


class NotStoredError(StoreError):
    """A store, a run, or what was asked of a run isn't there: a wrong name, not a store that can't be used."""


class NotPermittedError(StoreError):
    """What was asked of a server's store isn't permitted to who is connected; its owner can give him another role."""
