"""How a test can end otherwise than by its own assertions."""

from __future__ import annotations

from ragtriage.core.errors import RagtriageError


class Undecided(Exception):
    """A score that a test needs is undefined: the test can neither pass nor fail by it.

    What becomes of the test says the option `ragtriage_undefined`; by default it is skipped with the reason.
    """


class NotJudged(RagtriageError):
    """A verdict that a test needs isn't there: the judge, the store or the application failed, and not the answer."""


class UnsureWarning(UserWarning):
    """An assertion would fail by verdicts that the judge isn't sure of, and `sure_only` lets it pass."""
