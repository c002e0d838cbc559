"""What labels say of a run, as a document: corrected means, rates, thresholds, chances, and what to set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ragtriage.core.display import one_line, plural
from ragtriage.report.document import (
    GAP,
    DocumentBlock,
    DocumentColumn,
    Heading,
    Line,
    line,
    note,
    number_columns,
    table,
    text_columns,
)
from ragtriage.report.words import DASH
from ragtriage.trust.calibration import Calibration, CascadeBand, VerdictChance, VerdictThreshold
from ragtriage.trust.chance_fits import FittedCurve
from ragtriage.trust.label_fits import FittedThreshold, LearntRate
from ragtriage.trust.settings_text import as_toml

_SHOWN_AT = (0.1, 0.5, 0.9)
"""Probabilities of which it is told what a curve makes of them."""


def calibration_document(found: Calibration, run: str, labels: str, written: str | None) -> Iterator[DocumentBlock]:
    """What a file of labels says of a run's judge; `written` is the settings file that was changed, if one was."""
    about = f"{run} · judged by {found.judge} · {plural(found.labels, 'labelled component')} of {labels}"
    yield line(one_line(about, 400), tone="strong")
    for reason, count in found.unused.items():
        yield line(f"not used: {plural(count, 'label')} {reason}", tone="warning")
    yield from _means(found)
    yield from _section("How often the answer is yes", map(_rate, found.base_rates))
    yield Heading("Where a probability becomes yes or no")
    if not found.decision_thresholds:
        yield note("No labelled metric rests on one kind of question that has a probability.")
    yield from map(_threshold, found.decision_thresholds)
    yield from _section("How often a verdict is right", map(_chance, found.chances))
    if found.thresholds:
        yield Heading("From which score on a case is good")
    for limit in found.thresholds:
        about = f"{limit.metric} (good by people: {limit.target:g}): "
        if limit.threshold is None or limit.at is None:
            yield line(about, (limit.why, "quiet"))
        else:
            yield line(f"{about}{limit.at:g} by the judge. {_how_sure(limit.threshold).replace('labels', 'cases', 1)}")
    if found.bands:
        yield Heading("What a cascade may decide without a model")
    for band in found.bands:
        yield line(f"{band.kind}: ", (band.why, "quiet") if band.why else _band(band))
    yield GAP
    if not found.settings:
        yield line("Nothing to change in the settings: nothing does surely better than things as they are.")
        return
    where = f"Written to {written}:" if written else "For the settings (--write ragtriage.toml puts it in):"
    yield line(where, tone="strong")
    yield line(as_toml(found.settings), indent=2, hang=0)
    for name in found.replaced:
        out = "was taken out" if written else "has to be taken out"
        yield note(f"A table [{name}] of this judge {out}, if there was one: it would go first.")


def _section(title: str, lines: Iterable[Line]) -> Iterator[DocumentBlock]:
    """Lines below a heading; nothing where there is none."""
    told = list(lines)
    if told:
        yield Heading(title)
    yield from told


def _means(found: Calibration) -> Iterator[DocumentBlock]:
    yield Heading("Means, corrected for the judge's errors")
    rows = []
    for mean in found.means:
        one = mean.correction
        cells = (f"{one.mean:.2f}", f"{one.low:.2f}{DASH}{one.high:.2f}") if one else (DASH, "")
        rows.append((one_line(mean.title, 40), f"{mean.raw:.2f}", *cells, f"{mean.labels:,}"))
    yield table(
        (
            *text_columns("metric"),
            *number_columns("mean", "corrected"),
            DocumentColumn("95 %"),
            *number_columns("labels"),
        ),
        rows,
    )
    yield from (note(f"{mean.title}: {mean.why}") for mean in found.means if mean.why)
    if found.corrections():
        yield note("Kept with the run: show and report have them beside the means.")


def _rate(one: LearntRate) -> Line:
    about = f"{one.kind} ({one.metric}): "
    known = one.share
    if known is None or known.value is None or one.rate is None:
        return line(about, (one.why, "quiet"))
    told = f"{known.value:.2f} of what was asked ({known.low:.2f} to {known.high:.2f}, {plural(known.n, 'label')})"
    judged = f"the run was judged at {one.present:.2f}"
    if one.better:
        return line(
            f"{about}{told}; {judged}. As base rate {one.rate:g}, held back by a few labels at the shipped one."
        )
    why = one.why or "Not surely another one: left alone."
    return line(f"{about}{told}; {judged}. {why[:1].upper()}{why[1:].rstrip('.')}.")


def _threshold(one: VerdictThreshold) -> Line:
    about = f"{one.kind} ({', '.join(one.metrics)}): "
    if one.threshold is None:
        return line(about, (one.why, "quiet"))
    no = (
        f"below {one.threshold.no:g} no, between them unknown"
        if one.threshold.no < one.threshold.yes
        else "below it no"
    )
    return line(f"{about}yes from {one.threshold.yes:g}, {no}. {_how_sure(one.threshold)}")


def _chance(one: VerdictChance) -> Line:
    about = f"{one.kind} ({', '.join(one.metrics)}): "
    if one.fitted:
        return line(f"{about}{_by_curve(one.fitted)}. {_counts(one)}")
    if one.yes is None or one.no is None:
        return line(about, (one.why, "quiet"))
    told = [
        f"of its {verdict}, {share.value:.2f} are truly yes ({share.low:.2f} to {share.high:.2f}, "
        f"{plural(share.n, 'label')})"
        for verdict, share in (("yes", one.yes), ("no", one.no))
    ]
    return line(f"{about}{'; '.join(told)}. {_counts(one)}")


def _counts(one: VerdictChance) -> str:
    return "Scores and findings count with these." if one.curve else f"{one.why[:1].upper()}{one.why[1:]}."


def _by_curve(fitted: FittedCurve) -> str:
    """What probabilities become, and how sure that is."""
    told = ", ".join(f"{p:g} counts as {fitted.curve.at(p):.2f}" for p in _SHOWN_AT)
    return (
        f"a probability of {told}; log loss {fitted.loss:.2f} on cases left out of {plural(fitted.labels, 'label')}, "
        f"{fitted.now:.2f} as things are: {fitted.loss - fitted.now:+.2f} ({-fitted.gain_high:+.2f} to "
        f"{-fitted.gain_low:+.2f})"
    )


def _how_sure(threshold: FittedThreshold) -> str:
    better = "" if threshold.better else " Not surely better than things as they are: left alone."
    return (
        f"Interval {threshold.low:g} to {threshold.high:g}; balanced accuracy "
        f"{threshold.fitted:.2f} on these {threshold.labels} labels, "
        f"{threshold.held_out:.2f} on cases left out, {threshold.now:.2f} as things are: "
        f"{threshold.held_out - threshold.now:+.2f} ({threshold.gain_low:+.2f} to {threshold.gain_high:+.2f}).{better}"
    )


def _band(one: CascadeBand) -> str:
    sides = []
    for side, answer, where in ((one.no, "no", "up to"), (one.yes, "yes", "from")):
        if side is None or not side.enough:
            sides.append(f"{answer}: too few labels to tell")
        elif not side.decided:
            sides.append(f"{answer} nowhere: right too seldom")
        else:
            right = f"right {side.right:.2f} of the time (from {side.right_low:.2f})"
            sides.append(f"{answer} {where} {side.at:g}, {right}, {side.decided} labels")
    rest = "" if one.text else ". The shipped band stays"
    return "; ".join(sides) + rest
