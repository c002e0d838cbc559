"""A calibration in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from ragtriage.report.plain import one_line
from ragtriage.report.terminal_style import heading, say, signs_of, table
from ragtriage.report.words import plural
from ragtriage.trust.calibration.calibrate import Calibration, CascadeBand, VerdictCutoff
from ragtriage.trust.calibration.cutoffs import FittedCutoff
from ragtriage.trust.settings_text import told

if TYPE_CHECKING:
    from rich.console import Console


def print_calibration(console: Console, found: Calibration, run: str, labels: str, written: str | None) -> None:
    """Print what labels say.

    Args:
        console: where to.
        found: the calibration.
        run: which run it is about.
        labels: the file of labels.
        written: the settings file that was to be changed; None if none was.
    """
    dot = signs_of(console).dot
    said = f"{run} {dot} judged by {found.judge} {dot} {plural(found.labels, 'labelled component')} of {labels}"
    say(console, Text(one_line(said, 400), style="bold"), 0, 2)
    for reason, count in found.unused.items():
        say(console, Text(f"not used: {plural(count, 'label')} {reason}", style="yellow"), 0, 2)
    _print_means(console, found)
    _print_cuts(console, found)
    _print_thresholds(console, found)
    _print_bands(console, found)
    _print_settings(console, found, written)


def _print_means(console: Console, found: Calibration) -> None:
    heading(console, "Means, corrected for the judge's errors")
    dash = signs_of(console).dash
    grid = table()
    for name in ("metric", "mean", "corrected", "95 %", "labels"):
        grid.add_column(name, justify="left" if name in {"metric", "95 %"} else "right", no_wrap=True)
    for mean in found.means:
        one = mean.correction
        cells = (f"{one.mean:.2f}", f"{one.low:.2f}{dash}{one.high:.2f}") if one else (dash, "")
        grid.add_row(Text(one_line(mean.title, 40)), f"{mean.raw:.2f}", *cells, f"{mean.labels:,}")
    console.print(grid)
    for mean in found.means:
        if mean.why:
            say(console, Text(f"{mean.title}: {mean.why}", style="dim"), 0, 2)
    if found.corrections():
        say(console, Text("Kept with the run: show and report have them beside the means.", style="dim"), 0, 2)


def _print_cuts(console: Console, found: Calibration) -> None:
    heading(console, "Where a probability becomes yes or no")
    if not found.cuts:
        say(
            console, Text("No labelled metric rests on one kind of question that has a probability.", style="dim"), 0, 2
        )
    for one in found.cuts:
        say(console, _cut_told(one), 0, 2)


def _cut_told(one: VerdictCutoff) -> Text:
    said = Text(f"{one.kind} ({', '.join(one.metrics)}): ")
    if one.cut is None:
        return said.append(one.why, style="dim")
    no = f"below {one.cut.no:g} no, between them unknown" if one.cut.no < one.cut.yes else "below it no"
    return said.append(f"yes from {one.cut.yes:g}, {no}. {_how_sure(one.cut)}")


def _how_sure(cut: FittedCutoff) -> str:
    better = "" if cut.better else " Not surely better than things as they are: left alone."
    return (
        f"Interval {cut.low:g} to {cut.high:g}; balanced accuracy {cut.fitted:.2f} on these {cut.labels} labels, "
        f"{cut.held_out:.2f} on cases left out, {cut.now:.2f} as things are: "
        f"{cut.held_out - cut.now:+.2f} ({cut.gain_low:+.2f} to {cut.gain_high:+.2f}).{better}"
    )


def _print_thresholds(console: Console, found: Calibration) -> None:
    if not found.thresholds:
        return
    heading(console, "From which score on a case is good")
    for one in found.thresholds:
        said = Text(f"{one.metric} (good by people: {one.target:g}): ")
        if one.cut is None or one.at is None:
            said.append(one.why, style="dim")
        else:
            said.append(f"{one.at:g} by the judge. {_how_sure(one.cut).replace('labels', 'cases', 1)}")
        say(console, said, 0, 2)


def _print_bands(console: Console, found: Calibration) -> None:
    if not found.bands:
        return
    heading(console, "What a cascade may decide without a model")
    for one in found.bands:
        said = Text(f"{one.kind}: ")
        say(console, said.append(one.why, style="dim") if one.why else said.append(_band_told(one)), 0, 2)


def _band_told(one: CascadeBand) -> str:
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


def _print_settings(console: Console, found: Calibration, written: str | None) -> None:
    console.print()
    if not found.settings:
        say(
            console,
            Text("Nothing to change in the settings: nothing does surely better than things as they are."),
            0,
            2,
        )
        return
    where = f"Written to {written}:" if written else "For the settings (--write ragtriage.toml puts it in):"
    say(console, Text(where, style="bold"), 0, 2)
    say(console, Text(told(found.settings)), 2)
