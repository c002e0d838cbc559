"""Judges for people: a judge's card, what was calibrated of one, and the hub models that are known."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragtriage.core.display import dollars, one_line, plural
from ragtriage.report.document import DocumentBlock, DocumentTable, line, text_columns
from ragtriage.report.words import DASH


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
    return _section(title, ("labels", "rows", "measure", "judge", "word overlap", "length"), rows, [_whose(found)])


def _whose(found: Mapping[str, Any]) -> str:
    """Which judge a file says that it is of, where it holds no fingerprint to go by."""
    if found.get("fingerprints"):
        return "Of this very judge, by its fingerprints."
    name = one_line(str(found.get("judge") or "an unknown judge"), 120)
    return f"By its file, of {name}. It holds no fingerprint, so nothing shows that this judge gave the answers."


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
    return _section(title, heads, rows, [_whose(found)])


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
        (name, *(_number(one.get(key)) for key in ("spread", "case_spread", "flips", "verdict_flips")))
        for name, one in (found.get("metrics") or {}).items()
    ]
    heads = ("metric", "spread of the mean", "spread of a case", "cases that flip", "verdicts that flip")
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
