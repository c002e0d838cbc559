"""Why a score is what it is: which components counted, which didn't, and how likely each speaks for the answer."""

from dataclasses import dataclass

from ragtriage.core.case import Record
from ragtriage.core.display import one_line
from ragtriage.core.verdicts import Part, Score, Verdict, bad_chance
from ragtriage.report.words import full_title, two_places
from ragtriage.runs.evaluation_config import EvaluationConfig

MOST = 60
"""Components that are listed for one score."""


@dataclass(frozen=True, slots=True)
class Reason:
    """One component of a score."""

    text: str
    counts: str
    """`for`, `against` or `left out`."""
    likely: str
    """How likely it speaks for the answer, `83 %`; empty where nobody can tell."""
    note: str


@dataclass(frozen=True, slots=True)
class ScoreReasons:
    """A score and its components."""

    title: str
    shown: str
    said: str
    """What was counted, in words, or why it is undefined."""
    reasons: tuple[Reason, ...]
    left_out: int


def reasons_of(record: Record, config: EvaluationConfig) -> list[ScoreReasons]:
    """What the scores of a case rest on."""
    found = []
    for name, outcome in record.outcomes.items():
        title = full_title(name, config.metrics)
        if not isinstance(outcome, Score):
            found.append(ScoreReasons(title, "", f"undefined: {one_line(outcome.reason, 200)}", (), 0))
            continue
        parts = outcome.parts
        said = f"{outcome.judged:,} judged" + (f", {outcome.unknown:,} left out" if outcome.unknown else "")
        reasons = tuple(map(_reason, parts[:MOST]))
        found.append(ScoreReasons(title, two_places(outcome.value), said, reasons, len(parts) - len(reasons)))
    return found


def _reason(part: Part) -> Reason:
    cell = part.cell
    counts = "left out" if part.good is None else "for" if part.good else "against"
    likely = "" if part.good is None or not isinstance(cell, Verdict) else f"{100 * (1 - bad_chance(part)):.0f} %"
    note = cell.explanation if isinstance(cell, Verdict) else getattr(cell, "cause", "")
    return Reason(one_line(part.component.text, 300), counts, likely, one_line(note, 300))
