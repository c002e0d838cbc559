"""What metrics share: decompositions, each computed once per text, and how verdicts become a number."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from ragtriage.core.steps import Decompose
from ragtriage.core.verdicts import (
    Cell,
    Component,
    Failure,
    Outcome,
    Part,
    Score,
    Undefined,
    Verdict,
    chance_of,
    good_chances,
    with_chance,
)

SOURCES = Decompose("sources", "sources")
"""The sources as retrieved."""
FACTS = Decompose("sources", "facts")
"""Stand-alone facts of each source."""
CLAIMS = Decompose("response", "claims")
"""Stand-alone claims of the response; remarks about the sources are kept apart."""
SEGMENTS = Decompose("response", "segments")
"""The response cut where its citation marks stand, each segment with what it cites."""
SENTENCES = Decompose("response", "sentences")
"""The response's sentences."""
WHOLE_RESPONSE = Decompose("response", "whole")
"""The response as it is."""
QUESTIONS = Decompose("query", "questions")
"""Stand-alone sub-questions of the query."""
TRUE_CLAIMS = Decompose("reference", "claims")
"""Stand-alone claims of the reference."""
SAMPLES = Decompose("samples", "samples")
"""Further responses to the same query, as they were given."""
RELEVANT_IDS = Decompose("relevant ids", "ids")
"""The ids of the sources that should have been retrieved, each once."""
SENTENCES_OF_SOURCES = Decompose("sources", "sentences")
"""The sources' sentences."""
NEEDED_SENTENCES = Decompose("sources", "needed_sentences")
"""The sentences that a judge picks from each source as needed for the query."""


UNTOLD = "the judge could not tell for any of {}"
"""Why a score is undefined where every verdict is unknown."""
UNLIKELY_TOGETHER = "each of the verdicts that it takes is likely, all of them together aren't"
"""The explanation of a no where every single verdict is a yes."""
CONTRADICTED = "contradicted"
"""The kind of a component of which the evidence says otherwise."""
UNSUPPORTED = "unsupported"
"""The kind of a component of which the judge is sure that the evidence doesn't support it."""
NOTHING_ASKED = "the judge found no question that the response answers"
"""Why a score is undefined that compares questions written from the response."""


def parts(components: Sequence[Component], cells: Sequence[Cell], good: Literal["yes", "no"]) -> tuple[Part, ...]:
    """Pair every component with its deciding cell; shapes: both (n,)."""

    def speaks_for(cell: Cell) -> bool | None:
        if isinstance(cell, Verdict) and cell.value != "unknown":
            return cell.value == good
        return None

    def kind_of(cell: Cell) -> str:
        if not isinstance(cell, Verdict) or cell.value != "no" or good != "yes":
            return ""
        return CONTRADICTED if cell.contradicted else UNSUPPORTED if cell.sure else ""

    pairs = zip(components, cells, strict=True)
    return tuple(Part(unit, cell, speaks_for(cell), kind_of(cell)) for unit, cell in pairs)


def failure_of(cells: Sequence[Cell]) -> Undefined | None:
    """Undefined if the judge failed on one of the cells, with the first cause."""
    causes = [cell.cause for cell in cells if isinstance(cell, Failure)]
    if not causes:
        return None
    return Undefined(f"the judge failed on {len(causes)} of {len(cells)}: {causes[0]}", failed=True)


def share(components: Sequence[Component], cells: Sequence[Cell], good: Literal["yes", "no"] = "yes") -> Outcome:
    """The expected share of components whose verdict is `good`, in [0, 1]: Σp / n.

    Verdicts without a chance count as 1 or 0, which gives the share that a person counts. Unknown verdicts leave
    numerator and denominator. Undefined if the judge failed on a component, or if no verdict is left.

    Args:
        components: shape (n,), n ≥ 1.
        cells: shape (n,): the deciding verdict of each.
        good: the verdict that speaks for the answer.
    """
    failed = failure_of(cells)
    if failed:
        return failed
    judged = parts(components, cells, good)
    known = good_chances(judged, good)
    if not known:
        return Undefined(UNTOLD.format(len(cells)))
    return Score(math.fsum(known) / len(known), len(known), len(cells) - len(known), judged)


def share_of_faults(
    components: Sequence[Component], cells: Sequence[Cell], good: Literal["yes", "no"] = "yes"
) -> Outcome:
    """The expected share of components whose verdict is the other one than `good`, in [0, 1]; lower is better.

    Everything else is as in `share`.
    """
    found = share(components, cells, good)
    if not isinstance(found, Score):
        return found
    bad = good_chances(found.parts, "no" if good == "yes" else "yes")
    return replace(found, value=math.fsum(bad) / found.judged)


def mean_cosine(components: Sequence[Component], cells: Sequence[Cell], wanted: int = 0) -> Outcome:
    """The mean of what the verdicts on written questions measured, in [-1, 1]; shapes: both (n,).

    Undefined if the judge wrote no question, failed on a component, or measured none. Of the questions `wanted` those
    that weren't written count as unknown.
    """
    if not components:
        return Undefined(NOTHING_ASKED)
    cosines = cosines_of(cells)
    if isinstance(cosines, Undefined):
        return cosines
    mean = sum(cosines) / len(cosines)
    return Score(mean, len(cosines), max(wanted, len(cells)) - len(cosines), parts(components, cells, "yes"))


def cosines_of(cells: Sequence[Cell]) -> list[float] | Undefined:
    """What the verdicts on similarity measured, each in [-1, 1]; undefined if one failed, or if none measured any."""
    failed = failure_of(cells)
    if failed:
        return failed
    found = [cell.score for cell in cells if isinstance(cell, Verdict) and cell.score is not None]
    return found or Undefined("the judge gave no similarities")


def conjunction(*cells: Cell) -> Cell:
    """The cell that decides whether all hold: no > failure > unknown > yes; among equals the first.

    None (not asked) counts as no: what wasn't asked had no need to be. Where a verdict among them has a chance, the
    chance that all hold is their product.
    """
    order: list[Cell] = [cell for cell in cells if cell is None or (isinstance(cell, Verdict) and cell.value == "no")]
    order += [cell for cell in cells if isinstance(cell, Failure)]
    order += [cell for cell in cells if isinstance(cell, Verdict) and cell.value == "unknown"]
    decides = [*order, *cells][0]
    if not isinstance(decides, Verdict) or all(not isinstance(c, Verdict) or c.chance is None for c in cells):
        return decides
    chances = [0.0 if cell is None else chance_of(cell) for cell in cells]
    known = [chance for chance in chances if chance is not None]
    if len(known) < len(cells) or (decides.value == "no" and decides.chance is None):
        return decides
    whole = with_chance(replace(decides, score=None), math.prod(known))
    return whole if whole.value == decides.value else replace(whole, explanation=UNLIKELY_TOGETHER)


def negated(cell: Cell) -> Cell:
    """The verdict on the opposite; what is unknown or failed stays so."""
    if not isinstance(cell, Verdict) or cell.value == "unknown":
        return cell
    turned = replace(
        cell, value="no" if cell.value == "yes" else "yes", score=None if cell.score is None else 1 - cell.score
    )
    return turned if cell.chance is None else with_chance(turned, 1.0 - cell.chance)
