"""A judge's card: what it is, what it was measured on, and what isn't known of it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.questions import KINDS
from ragtriage.core.validation import validated
from ragtriage.judges.protocol import Judge
from ragtriage.runs.repeats import RepeatSummary
from ragtriage.runs.run import FINISHED, RunInfo

FORMAT = "ragtriage judge card 1"
_LANGUAGE = "en"


def fingerprints_of(judge: Judge) -> dict[str, str]:
    """Kind of question → what tells the judge's answers to it from another's; only kinds that it answers."""
    return {kind: judge.fingerprint(kind) for kind in KINDS if judge.unsupported_reason(kind, _LANGUAGE) is None}


def card_of(
    judge: Judge,
    *,
    version: str,
    made: str,
    runs: Sequence[RunInfo],
    repeats: tuple[int, RepeatSummary] | None,
    agreement: Mapping[str, Any] | None,
    self_test: Mapping[str, Any] | None,
    exam: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """All that is known of a judge, as JSON; None stands where nothing is known.

    `runs` are by this judge and no other; `repeats` is the number of a repeated evaluation by it, and how far its
    trials agree. `agreement`, `self_test` and `exam` are what these commands printed as JSON.
    """
    own = fingerprints_of(judge)
    for command, figures in (("agreement", agreement), ("test", self_test)):
        if figures is not None:
            _check_same_judge(figures, own, judge.name(), command)
    reasons = {kind: judge.unsupported_reason(kind, _LANGUAGE) for kind in KINDS}
    return {
        "format": FORMAT,
        "judge": judge.name(),
        "ragtriage": version,
        "made": made,
        "fingerprints": own,
        "cannot": {kind: reason for kind, reason in reasons.items() if reason is not None},
        "agreement": None if agreement is None else _figures(agreement),
        "self_test": None if self_test is None else _figures(self_test),
        "exam": None if exam is None else _exam_of(exam, own, judge.name()),
        "calibration": [
            {"run": info.number, "metric": metric, **found}
            for info in runs
            for metric, found in info.configuration.get("corrections", {}).items()
        ]
        or None,
        "repeatability": {"run": repeats[0], **_figures(repeats[1].as_json())} if repeats else None,
        "use": _use([info for info in runs if info.state == FINISHED]),
    }


def same_judge(info: RunInfo, judge: Judge) -> bool:
    """Whether a run was judged by this very judge: by its fingerprints of all kinds of questions."""
    return all(info.fingerprints.get(kind) == judge.fingerprint(kind) for kind in KINDS)


def read_figures(path: Path) -> dict[str, Any]:
    """One JSON object that a command of `ragtriage trust` printed."""
    try:
        return validated(dict[str, Any], json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise InputError(f"{path} can't be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path} holds no JSON object ({error}): give what the command printed with --json") from error


def read_card(path: Path, fingerprints: Mapping[str, str]) -> dict[str, Any]:
    """A card, for a run with these fingerprints."""
    card = read_figures(path)
    own = card.get("fingerprints")
    if card.get("format") != FORMAT or not isinstance(own, dict):
        raise InputError(f"{path} is no judge card: write one with `ragtriage trust card`")
    if kind := _differing(own, fingerprints):
        raise ConfigError(
            f"{path} is the card of another judge: for {kind!r} it has the fingerprint {own[kind]}, and the run "
            f"has {fingerprints.get(kind)}"
        )
    return card


def _differing(own: Mapping[str, str], others: Mapping[str, str]) -> str | None:
    return next((kind for kind, fingerprint in own.items() if others.get(kind) != fingerprint), None)


def _check_same_judge(figures: Mapping[str, Any], own: Mapping[str, str], name: str, command: str) -> None:
    """Refuse figures of another judge."""
    theirs = figures.get("fingerprints")
    theirs = theirs if isinstance(theirs, Mapping) else {}
    if kind := _differing(own, theirs):
        raise ConfigError(
            f"these figures are another judge's ({figures.get('judge')}): for {kind!r} it has the fingerprint "
            f"{theirs.get(kind)}, and {name} has {own[kind]}: give what `ragtriage trust {command} --json` printed "
            "for this very judge, with the same settings"
        )


def _exam_of(figures: Mapping[str, Any], own: Mapping[str, str], name: str) -> dict[str, Any]:
    """This very judge's figures of an exam, beside how many cases it has."""
    entries = figures.get("judges")
    taken = [one for one in entries if isinstance(one, Mapping)] if isinstance(entries, list) else []
    found = next((one for one in taken if one.get("fingerprints") == dict(own)), None)
    if found is None:
        there = ", ".join(str(one.get("judge")) for one in taken) or "no judge"
        raise ConfigError(
            f"the exam holds no figures of {name} with its present settings, but of {there}: give what "
            "`ragtriage trust exam --json` printed for this very judge"
        )
    if found.get("stopped"):
        raise ConfigError(
            f"{name} was stopped in the exam ({found['stopped']}): give the same `ragtriage trust exam` again"
        )
    counts = {name: figures.get(name) for name in ("cases", "faulty", "sound")}
    return {**counts, **_figures(found)}


def _use(runs: Sequence[RunInfo]) -> dict[str, Any] | None:
    """What finished runs took, all together."""
    cases = sum(info.done + info.failed for info in runs)
    if not cases:
        return None
    sums = ("seconds", "requests", "tokens_in", "tokens_out", "cost")
    numbers = {name: sum(getattr(info, name) for info in runs) for name in sums}
    return {"runs": [info.number for info in runs], "cases": cases, **numbers}


def _figures(value: Any) -> Any:
    """Numbers and names without lists: those hold cases, and a card carries no texts of cases."""
    if isinstance(value, Mapping):
        return {key: _figures(one) for key, one in value.items() if not isinstance(one, list | tuple)}
    return value
