"""From what a user types after `--judge` to a judge."""

from __future__ import annotations

from ragtriage.errors import ConfigError
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.protocol import Judge


def judge_named(name: str, *, any_language: bool = False) -> Judge:
    """The judge of this name.

    Args:
        name: `embedded`.
        any_language: lift the limit to the languages that it was measured on.

    Raises:
        ConfigError: there is no such judge.
    """
    if name == "embedded":
        return EmbeddedJudge(any_language=any_language)
    raise ConfigError(f"there is no judge {name!r}: use embedded")
