"""The claims of a response with what was found out about each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragtriage.core.record import Record
from ragtriage.core.verdicts import Span, Verdict
from ragtriage.diagnosis.findings import claims_from_conversation
from ragtriage.metrics.aggregate import CLAIMS
from ragtriage.metrics.thelma import REPEATED, groundedness, response_precision
from ragtriage.report.coverage import State, VerdictReport, judged, verdict_report
from ragtriage.report.marks import Look
from ragtriage.text.sanitize import one_line

MOST_CLAIMS = 150
"""Claims listed for one case; of more, the pressing ones come first."""
CONVERSED = "the conversation before the query supports it"
SUPPORT = groundedness.needs["support"]
NEEDED = response_precision.needs["needed"]


@dataclass(frozen=True, slots=True)
class ClaimReport:
    """One claim, or a remark, of the response."""

    number: int
    """From 1, in the order of the text; remarks are numbered along."""
    text: str
    span: Span | None
    look: Look
    support: VerdictReport
    needed: VerdictReport
    repeated: bool
    """Whether it stands in a sentence that says again what another says."""
    confidence: float | None
    """Of the verdict on its support."""

    @property
    def notable(self) -> bool:
        """Whether a reader should look at it even though it may be visible in the text."""
        return self.look in ("unsupported", "check", "unknown") or self.span is None


def claim_reports(record: Record) -> tuple[ClaimReport, ...]:
    """The claims in the order of the text, empty where the response wasn't broken into claims."""
    support, needed = record.verdicts(SUPPORT), record.verdicts(NEEDED)
    listed, either = record.components(CLAIMS), support or needed
    if listed is None:
        listed = either.components if either else ()
    repeats = [span for span, _ in repeats_of(record)]
    conversed = claims_from_conversation(record)
    supported, wanted = (iter(one.best() if one else ()) for one in (support, needed))
    found = []
    for number, component in enumerate(listed, 1):
        cell, need = (None, None) if component.remark else (next(supported, None), next(wanted, None))
        about, use, span = verdict_report(cell), verdict_report(need), component.span
        if component.text in conversed:
            about = replace(about, note=f"{CONVERSED}; {about.note}" if about.note else CONVERSED)
        found.append(
            ClaimReport(
                number,
                one_line(component.text, 600),
                span,
                look_of(about.state, use.state, remark=component.remark),
                about,
                use,
                span is not None and any(span[0] < end and start < span[1] for start, end in repeats),
                cell.confidence if isinstance(cell, Verdict) else None,
            )
        )
    return tuple(found)


def repeats_of(record: Record) -> tuple[tuple[Span, str], ...]:
    """The sentences that say again what another says: where they stand, and the judge's words."""
    return tuple(
        (component.span, verdict_report(cell).note)
        for component, cell in judged(record, REPEATED)
        if component.span and isinstance(cell, Verdict) and cell.value == "yes"
    )


def look_of(support: State, needed: State, *, remark: bool = False) -> Look:
    """How a claim is shown.

    Red (`unsupported`) only where the judge is sure; a no that it isn't sure of is *check this*. Whether a claim was
    needed is shown only on one that nothing worse is said about.
    """
    if remark:
        return "remark"
    match support:
        case "no":
            return "unsupported"
        case "check":
            return "check"
        case "unknown" | "failed":
            return "unknown"
        case "yes" | "not asked":
            if needed in ("no", "check"):
                return "extraneous"
            return "supported" if support == "yes" else "plain"
