"""Where a user has a judge's probabilities cut into yes, no and unknown, instead of where the judge does itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import DECOMPOSITIONS, KINDS, Kind

UNCUT: tuple[Kind, ...] = (*DECOMPOSITIONS, "similarity", "declines")
"""Kinds that are answered with texts, cosines or rules: they have no probability that could be cut."""
MARK = "+cut-"
"""What stands between a judge's own fingerprint and its cut in the fingerprint of both."""
_KEYS = ("judge", "fingerprint", "yes", "no")


@dataclass(frozen=True, slots=True)
class DecisionThreshold:
    """The probabilities at which the verdicts of one judge on one kind of question change."""

    yes: float
    """From it on the verdict is yes."""
    no: float
    """Below it the verdict is no, between the two unknown; at most `yes`."""
    judge: str = ""
    """What a user types for the judge that it was fitted for."""
    fingerprint: str = ""
    """Of that judge, for this kind of question; empty: of whatever version."""

    def marked(self, fingerprint: str) -> str:
        """The fingerprint of a judge whose verdicts are cut here."""
        return f"{fingerprint}{MARK}{self.no:g}-{self.yes:g}"


def uncut(fingerprint: str) -> str:
    """The fingerprint of the judge itself."""
    return fingerprint.partition(MARK)[0]


def cuts_from(table: Mapping[str, Any], where: str) -> dict[Kind, DecisionThreshold]:
    """The cuts of a settings file: `[cuts.supported]`, with judge, yes and no.

    Raises:
        ConfigError: a kind, key or number is wrong; says which.
    """
    return {_kind(name, where, "cuts"): _cut(value, f"{where}: [cuts.{name}]") for name, value in table.items()}


def bands_from(table: Mapping[str, Any], where: str) -> dict[Kind, str]:
    """The bands of a settings file, `supported = "0.2:0.9"` under `[bands]`; the texts aren't looked at.

    Raises:
        ConfigError: a kind isn't known, or its band isn't a text.
    """
    for name, value in table.items():
        if not isinstance(value, str):
            raise ConfigError(f'{where}: [bands] {name} is {value!r}: write it as a text, for example "0.2:0.9"')
    return {_kind(name, where, "bands"): value for name, value in table.items()}


def _kind(name: str, where: str, table: str) -> Kind:
    known = [kind for kind in KINDS if kind not in UNCUT]
    for kind in known:
        if kind == name:
            return kind
    raise ConfigError(f"{where}: [{table}]: {name!r} has no probability to cut: there are {', '.join(known)}")


def _cut(table: Any, where: str) -> DecisionThreshold:
    if not isinstance(table, dict):
        raise ConfigError(f"{where} must be a table with judge, yes and no, not {table!r}")
    for key in table:
        if key not in _KEYS:
            raise ConfigError(f"{where}: no setting is called {key!r}: there are {', '.join(_KEYS)}")
    for key in ("judge", "fingerprint"):
        if not isinstance(table.get(key, ""), str):
            raise ConfigError(f"{where}: {key} is {table[key]!r}: write a text in quotes")
    if not table.get("judge"):
        raise ConfigError(f'{where} lacks the judge that is cut, for example judge = "embedded"')
    for key in ("yes", "no"):
        value = table.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ConfigError(f"{where}: {key} is {value!r}: give a number between 0 and 1")
    if table["no"] > table["yes"]:
        raise ConfigError(f"{where}: no = {table['no']:g} lies above yes = {table['yes']:g}: it must not")
    return DecisionThreshold(float(table["yes"]), float(table["no"]), table["judge"], table.get("fingerprint", ""))
