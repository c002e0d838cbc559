"""Judges for people: a judge's card, what was calibrated of one, what moves a decision model, known hub models."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragtriage.core.display import dollars, one_line, plural
from ragtriage.judges.decisions.influence import MOVED, Influence
from ragtriage.report.document import (
    GAP,
    DocumentBlock,
    DocumentColumn,
    DocumentTable,
    Heading,
    Line,
    line,
    note,
    number_columns,
    table,
    text_columns,
)
from ragtriage.report.words import DASH, two_places
from ragtriage.trust.calibration import Calibration, CascadeBand, VerdictChance, VerdictThreshold
from ragtriage.trust.chance_fits import FittedCurve
from ragtriage.trust.label_fits import FittedThreshold, LearntRate, as_toml


def influence_document(found: Influence) -> Iterator[DocumentBlock]:
    """How far a decision model's answers are moved by what must not matter, and what to do about it."""
    beside = (
        ("alone", found.alone),
        ("reversed", found.reversed),
        ("renamed", found.renamed),
        ("repeated", found.repeated),
    )
    said = ", ".join(f"{name} {_share(moved)}" for name, moved in beside)
    yield line(f"model {one_line(found.model, 80)} · {said} · orders inside a text {_share(found.orders)}")
    if found.moved > MOVED:
        yield note(f"over {_share(MOVED)}: its answers hang on what is asked beside them: try --batch-size 1")
    if found.repeated > MOVED:
        yield note("it doesn't agree with itself: judge several times (--repeat), or choose another model")
    if found.orders > MOVED:
        yield note("a text can talk it into yes: don't let it judge texts that others may have written")


def _share(moved: float) -> str:
    return two_places(moved).removeprefix("0")


def card_document(card: Mapping[str, Any]) -> Iterator[DocumentBlock]:
    """A card with all its sections."""
    yield line(f"Written by ragtriage {card['ragtriage']}, {card['made']}.")
    yield from card_sections(card)


def card_title(card: Mapping[str, Any]) -> str:
    """What stands above a card."""
    return f"Judge card: {one_line(str(card['judge']), 120)}"


def card_sections(card: Mapping[str, Any]) -> tuple[DocumentTable, ...]:
    """The sections of a card; one of which nothing is known says how to find it out."""
    told = (_identity, _agreement, _exam, _self_test, _calibration, _repeatability, _use)
    return tuple(section(card) for section in told)


def _section(
    title: str, heads: Sequence[str] = (), rows: Iterable[Sequence[str]] = (), notes: Iterable[str] = ()
) -> DocumentTable:
    return DocumentTable(text_columns(*heads), tuple(map(tuple, rows)), title=title, notes=tuple(notes))


def _identity(card: Mapping[str, Any]) -> DocumentTable:
    cannot = (f"It can't answer {kind}: {reason}." for kind, reason in card["cannot"].items())
    return _section("Fingerprint by kind of question", ("kind", "fingerprint"), card["fingerprints"].items(), cannot)


def _agreement(card: Mapping[str, Any]) -> DocumentTable:
    title = "Agreement with people"
    found = card["agreement"]
    if found is None:
        return _section(title, notes=["Unknown: `ragtriage trust agreement FILE --json` measures it."])
    rows = []
    for name, one in (found.get("agreement") or {}).items():
        main = str(one.get("main", ""))
        cells = (_measured((one.get(who) or {}).get(main)) for who in ("judge", "overlap", "length"))
        rows.append((one_line(name, 60), _number(one.get("rows")), main, *cells))
    return _section(title, ("labels", "rows", "measure", "judge", "word overlap", "length"), rows)


def _exam(card: Mapping[str, Any]) -> DocumentTable:
    title = "Exam"
    found = card.get("exam")  # a card of an earlier version has none
    if found is None:
        return _section(title, notes=["Unknown: `ragtriage trust exam --json` measures it."])
    claims = found.get("claims") or {}
    rows = [
        (what, _number((measured or {}).get("n")), _measured(measured))
        for what, measured in (
            ("faults named", found.get("named")),
            ("sound answers blamed", found.get("blamed")),
            ("sound answers blamed surely", found.get("surely_blamed")),
            ("claims' AUC", (claims.get("judge") or {}).get("AUC")),
            ("claims' balanced accuracy", (claims.get("judge") or {}).get("balanced accuracy")),
            *((f"named: {kind.replace('_', ' ')}", share) for kind, share in (found.get("kinds") or {}).items()),
        )
    ]
    notes = ["Packaged cases with one known fault or none, which nothing was trained or tuned on."]
    if missing := [
        f"{found[key]:,} {what}" for key, what in (("failed", "cases"), ("failed_claims", "claims")) if found.get(key)
    ]:
        notes.append(f"The judge failed on {' and '.join(missing)}.")
    return _section(title, ("what", "of", "share (95 %)"), rows, notes)


def _self_test(card: Mapping[str, Any]) -> DocumentTable:
    title = "Self-test by perturbation"
    found = card["self_test"]
    if found is None:
        return _section(title, notes=["Unknown: `ragtriage trust test FILE --json` measures it."])
    rows = [
        (
            name,
            _number(one.get("pairs")),
            _measured({**one, "value": one.get("agreement")}),
            *(_number(one.get(key)) for key in ("length", "overlap")),
        )
        for name, one in (found.get("metrics") or {}).items()
    ]
    heads = ("metric", "pairs", "agreement", "length alone", "word overlap alone")
    return _section(title, heads, rows)


def _calibration(card: Mapping[str, Any]) -> DocumentTable:
    title = "Calibration"
    found = card["calibration"]
    if not found:
        unknown = "Unknown: `ragtriage trust label` and `ragtriage trust calibrate` find it out on a run of yours."
        return _section(title, notes=[unknown])
    rows = [
        (
            str(one["run"]),
            one["metric"],
            f"{one['raw']:.2f}",
            f"{one['mean']:.2f}",
            f"{one['low']:.2f}{DASH}{one['high']:.2f}",
            str(one["labels"]),
        )
        for one in found
    ]
    return _section(title, ("run", "metric", "mean", "corrected", "95 %", "labels"), rows)


def _repeatability(card: Mapping[str, Any]) -> DocumentTable:
    title = "Repeatability"
    found = card["repeatability"]
    if found is None:
        notes = ["Unknown: `ragtriage evaluate FILE --repeat 3` measures it."]
        if str(card["judge"]).startswith("embedded") and "," not in str(card["judge"]):
            notes.append("The embedded judge gives the same question the same answer every time, by construction.")
        return _section(title, notes=notes)
    rows = [
        (name, *(_number(one.get(key)) for key in ("spread", "case_spread", "flips")))
        for name, one in (found.get("metrics") or {}).items()
    ]
    heads = ("metric", "spread of the mean", "spread of a case", "cases that flip")
    return _section(title, heads, rows, [f"From the repeated evaluation that began with run {found['run']}."])


def _use(card: Mapping[str, Any]) -> DocumentTable:
    found = card["use"]
    unknown = ["Unknown: the store holds no finished run by this judge."]
    return _section("Cost and speed", notes=unknown if found is None else _used(found))


def _used(found: Mapping[str, Any]) -> Iterator[str]:
    cases, seconds = found["cases"], found["seconds"]
    yield (
        f"{plural(cases, 'case')} in {plural(len(found['runs']), 'run')}: {seconds / cases:.2g} seconds a case, "
        f"answers that were known before included."
    )
    if not found["requests"]:
        yield "No request was sent: it runs on this machine, or all answers were known."
        return
    tokens = f"{found['tokens_in'] / cases:,.0f} tokens in and {found['tokens_out'] / cases:,.0f} out"
    price = f"{dollars(found['cost'] / cases)} a case" if found["cost"] else "the price isn't known"
    yield f"A case took {found['requests'] / cases:.2g} requests, {tokens}; {price}."


def _measured(value: Any) -> str:
    if not isinstance(value, Mapping):
        return _number(value)
    low, high = value.get("low"), value.get("high")
    interval = "" if low is None or high is None else f" ({low:.2f}{DASH}{high:.2f})"
    return _number(value.get("value")) + interval


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return DASH if value is None else one_line(str(value), 40)
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


_SHOWN_AT = (0.1, 0.5, 0.9)
"""Probabilities of which it is told what a curve makes of them."""


def calibration_document(found: Calibration, run: str, labels: str, written: str | None) -> Iterator[DocumentBlock]:
    """What a file of labels says of a run's judge; `written` is the settings file that was changed, if one was."""
    about = f"{run} · judged by {found.judge} · {plural(found.labels, 'labelled component')} of {labels}"
    yield line(one_line(about, 400), tone="strong")
    for reason, count in found.unused.items():
        yield line(f"not used: {plural(count, 'label')} {reason}", tone="warning")
    yield from _means(found)
    yield from _fitted_section("How often the answer is yes", map(_rate, found.base_rates))
    yield Heading("Where a probability becomes yes or no")
    if not found.decision_thresholds:
        yield note("No labelled metric rests on one kind of question that has a probability.")
    yield from map(_threshold, found.decision_thresholds)
    yield from _fitted_section("How often a verdict is right", map(_chance, found.chances))
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
    for name in found.replaced if not written else ():
        yield note(f"A table [{name}] of this judge has to be taken out, if there is one: it would go first.")


def _fitted_section(title: str, lines: Iterable[Line]) -> Iterator[DocumentBlock]:
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
        if side is None:
            sides.append(f"{answer}: too few labels to tell")
        elif not side.decided:
            sides.append(f"{answer} nowhere: right too seldom")
        else:
            right = f"right {side.right:.2f} of the time (from {side.right_low:.2f})"
            sides.append(f"{answer} {where} {side.at:g}, {right}, {side.decided} labels")
    rest = "" if one.text else ". The shipped band stays"
    return "; ".join(sides) + rest
