"""What labels say, as documents: how far a judge and people agree, on files or on your own labels; a calibration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ragtriage.core.display import plural
from ragtriage.core.statistics import IntervalEstimate
from ragtriage.report.document import GAP, Block, Column, Heading, Line, line, note, number_columns, table, text_columns
from ragtriage.report.words import DASH, title_of
from ragtriage.text.sanitize import one_line
from ragtriage.trust.agreement import Agreement
from ragtriage.trust.calibration import Calibration, CascadeBand, VerdictChance, VerdictThreshold, as_toml
from ragtriage.trust.label_files import Label
from ragtriage.trust.label_fits import FittedThreshold, LearntRate
from ragtriage.trust.label_session import JudgeComparison, compare_with_judge

PICKED = "These were picked where trouble is likely: they say nothing about how often the judge is right."
_COUNTED = ("pair accuracy", "of about the same length", "shown in red, right", "faults shown in red")
"""Measures that say what they are a share of."""
_SHORT = {"balanced accuracy at the best cut": "  at the best cut", "of about the same length": "  same length"}
_MEANINGS = {
    "AUC": "AUC: the chance that a row labelled 1 scores higher than one labelled 0; 0.5 is a coin",
    "balanced accuracy at the best cut": "best cut: the one that suits these rows best, which flatters",
    "balanced accuracy": "balanced accuracy, accuracy, kappa: of verdicts as they come; unknown counts as wrong",
    "shown in red, right": "shown in red: where the judge is sure of a fault",
    "pair accuracy": "pair accuracy: over pairs where people take a side; a tied score counts half",
}


def agreement_document(found: Sequence[Agreement], judge: str, file: str) -> Iterator[Block]:
    """A table for all rows, and one for each part of them, with what words and length alone get beside it."""
    yield line(f"Does {one_line(judge, 60)} agree with the people of {one_line(file, 120)}?", tone="strong")
    for one in found:
        labels = "" if one.scale == "preference" else f", mean label {one.mean_label:.2f}"
        rows, groups = plural(one.rows, "row"), plural(one.groups, "group")
        yield Heading(f"{one_line(one.name, 60)}: {rows} in {groups}{labels}")
        yield table((*text_columns("", "judge"), *number_columns("words", "length")), _measures(one))
        yield from (line(f"→ {said}") for said in _sentences(one))
    shown = {name for one in found for name in one.judge}
    yield GAP
    yield from (note(meaning) for name, meaning in _MEANINGS.items() if name in shown)
    yield note("in brackets: the 95 % interval, drawing groups of rows again (bootstrap)")


def _measures(one: Agreement) -> Iterator[tuple[str, ...]]:
    for name, measured in one.judge.items():
        counted = f" of {measured.n:,}" if name in _COUNTED else ""
        baselines = (_number(other.get(name)) for other in (one.overlap, one.length))
        yield _SHORT.get(name, name), _interval(measured) + counted, *baselines


def _sentences(one: Agreement) -> list[str]:
    by = "" if one.ahead_of_overlap.value is None else f"{one.main} {one.ahead_of_overlap.value:+.2f}"
    if one.ahead_of_overlap.low is not None and one.ahead_of_overlap.high is not None:
        by += f" [{one.ahead_of_overlap.low:+.2f}, {one.ahead_of_overlap.high:+.2f}]"
    said = {
        "yes": f"The judge beats word overlap: {by}.",
        "not shown": f"These rows don't show that the judge beats word overlap: {by}.",
        "no": f"The judge doesn't beat word overlap ({by}): here it has measured nothing that counting words doesn't.",
        "unknown": "There is no word overlap to compare the judge with: one kind of label only, or no such form.",
    }
    lines = [said[one.beats_overlap]]
    length, main = one.length.get(one.main), one.judge.get(one.main)
    if length and main and length.value is not None and main.value is not None and length.value >= main.value:
        lines.append("Length alone does as well: look at rows of about the same length.")
    if one.without_score:
        have = "has" if one.without_score == 1 else "have"
        lines.append(
            f"{plural(one.without_score, 'row')} {have} no score and count{'s' * (one.without_score == 1)} as wrong."
        )
        if one.reason:
            lines.append(f"Mostly because: {one_line(one.reason, 200)}")
    if one.unknown:
        lines.append(f"Of {plural(one.unknown, 'row')} the judge couldn't tell; they count as wrong.")
    if one.groups < 20:
        lines.append(f"Only {plural(one.groups, 'group')}: the intervals are rough, and too narrow.")
    return lines


def _interval(measured: IntervalEstimate) -> str:
    if measured.value is None:
        return "undefined"
    ends = "" if measured.low is None or measured.high is None else f" [{measured.low:.2f}, {measured.high:.2f}]"
    return f"{measured.value:.2f}{ends}"


def _number(measured: IntervalEstimate | None) -> str:
    if measured is None:
        return ""
    return "undef." if measured.value is None else f"{measured.value:.2f}"


def labels_document(labels: Sequence[Label], path: str) -> Iterator[Block]:
    """How often a person and the judge agree on the same items, and where they don't."""
    whole = compare_with_judge(labels)
    yield line(f"You and the judge agree on {_agreed(whole)}.", tone="strong")
    if any(one.pick != "random" for one in labels):
        yield line(PICKED, tone="warning")
    if whole.skipped:
        yield line(f"You skipped {whole.skipped:,}.")
    if whole.unknown:
        yield line(f"Of {plural(whole.unknown, 'item')} the judge couldn't tell: they aren't counted.")
    by_metric: dict[str, list[Label]] = {}
    for one in labels:
        by_metric.setdefault(one.metric, []).append(one)
    if len(by_metric) > 1:
        rows = ((title_of(name), _agreed(compare_with_judge(own))) for name, own in by_metric.items())
        yield table(text_columns("", "", wrap=True), rows, heads=False)
    if whole.disagreements:
        yield Heading("Where you differ")
    for one in whole.disagreements:
        score = "" if one.score is None else f" ({one.score:.2f})"
        verdict = f"you: {'yes' if one.label else 'no'}, the judge: {one.verdict}{score}"
        yield line(f"{one_line(one.case, 40)} · {title_of(one.metric)}: {verdict}")
        yield line(one_line(one.text, 300), tone="quiet", indent=2, hang=0)
    yield GAP
    yield note(f"labels: {path}")


def _agreed(found: JudgeComparison) -> str:
    """`17 of 20 (64–95 %)`."""
    share = found.share
    if share.low is None or share.high is None:
        return "0 of 0"
    return f"{found.agree} of {found.of} ({100 * share.low:.0f}{DASH}{100 * share.high:.0f} %)"


def calibration_document(found: Calibration, run: str, labels: str, written: str | None) -> Iterator[Block]:
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


def _section(title: str, lines: Iterable[Line]) -> Iterator[Block]:
    """Lines below a heading; nothing where there is none."""
    told = list(lines)
    if told:
        yield Heading(title)
    yield from told


def _means(found: Calibration) -> Iterator[Block]:
    yield Heading("Means, corrected for the judge's errors")
    rows = []
    for mean in found.means:
        one = mean.correction
        cells = (f"{one.mean:.2f}", f"{one.low:.2f}{DASH}{one.high:.2f}") if one else (DASH, "")
        rows.append((one_line(mean.title, 40), f"{mean.raw:.2f}", *cells, f"{mean.labels:,}"))
    yield table(
        (*text_columns("metric"), *number_columns("mean", "corrected"), Column("95 %"), *number_columns("labels")), rows
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
    if one.yes is None or one.no is None:
        return line(about, (one.why, "quiet"))
    told = [
        f"of its {verdict}, {share.value:.2f} are truly yes ({share.low:.2f} to {share.high:.2f}, "
        f"{plural(share.n, 'label')})"
        for verdict, share in (("yes", one.yes), ("no", one.no))
    ]
    return line(f"{about}{'; '.join(told)}. Scores and findings count with these.")


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
