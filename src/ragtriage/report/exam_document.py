"""Judges that took the same exam, side by side: a line each, what each made of the claims, and faults by kind.

And what asking judges would take, an exam or pairs, a line each.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from ragtriage.core.display import dollars, one_line, plural
from ragtriage.core.statistics import IntervalEstimate
from ragtriage.report.document import (
    GAP,
    DocumentBlock,
    DocumentColumn,
    Heading,
    line,
    note,
    number_columns,
    table,
    text_columns,
)
from ragtriage.report.plan_document import FREE, money
from ragtriage.report.words import DASH
from ragtriage.trust.exam import ExamCase, Examinee, ExamResult, naming_rules
from ragtriage.trust.pair_scoring import CostEstimate

LISTED = 5
"""Sound cases that are listed of a judge; --json has all."""
UNMEASURED = "–"
"""Where there is no figure."""
NOT_KNOWN = "not\nknown"
"""In place of a price that isn't."""
NOTES = (
    "named: a finding says what is wrong. blamed: a finding says that a sound answer is bad; surely: without a doubt.",
    "Below shares: 95 % intervals by Wilson; below AUC and accuracy: by drawing cases again (bootstrap).",
    "AUC: the chance that a supported claim scores higher than one that isn't; 0.5 is a coin.",
    "balanced accuracy: of verdicts as they come; unknown counts as wrong. word overlap: the AUC of shared words.",
    "Tokens, price, seconds: of this call. Answers of a model that were kept from before cost nothing again.",
    "The cases are fictional, by a writer who hadn't seen the code. Nothing is trained or tuned on them.",
)


def exam_document(examined: Sequence[Examinee], cases: Sequence[ExamCase]) -> Iterator[DocumentBlock]:
    """What each judge named, blamed and took; faults by kind; the sound answers that were blamed."""
    faulty = sum(one.fault is not None for one in cases)
    yield line(
        f"Exam: {plural(faulty, 'case')} with one fault, {len(cases) - faulty:,} sound ones, "
        f"{plural(sum(len(one.claims) for one in cases), 'labelled claim')}",
        tone="strong",
    )
    heads = ("faults\nnamed", "sound\nblamed", "surely", "claims'\nAUC", "tokens", "price", "seconds")
    yield table((*_judge_column(), *number_columns(*heads, wrap=True)), map(_row, examined))
    sat = [(one.judge, one.result) for one in examined if one.result]
    yield from (line(f"{one_line(one.judge, 60)}: {said}", tone="warning") for one in examined for said in _gaps(one))
    if sat:
        yield Heading("Claims, asked about one by one")
        measures = ("AUC", "balanced\naccuracy", "unknown", "word\noverlap")
        yield table((*_judge_column(), *number_columns(*measures, wrap=True)), [_claims_row(*one) for one in sat])
        yield Heading("Faults named, by kind")
        yield from _by_kind(sat)
        yield from _blamed(sat)
    yield GAP
    yield from map(note, NOTES)


def _judge_column() -> tuple[DocumentColumn, ...]:
    return text_columns("judge", wrap=True)


def _named(judge: str) -> str:
    """A judge's name on two lines: models of one provider differ behind the colon, and nothing of it is to be cut."""
    return one_line(judge, 60).replace(":", ":\n", 1)


def _row(one: Examinee) -> tuple[str, ...]:
    found, figures = one.result, [UNMEASURED] * 4
    if found:
        auc = _measured(found.claims.judge.get("AUC")) if found.claims else UNMEASURED
        figures = [_counted(found.named), _counted(found.blamed), _count(found.surely_blamed), auc]
    tokens = one.spent.tokens_in + one.spent.tokens_out
    seconds = f"{found.seconds:,.0f}" if found else UNMEASURED
    return _named(one.judge), *figures, f"{tokens:,}" if tokens else UNMEASURED, _price(one), seconds


def _price(one: Examinee) -> str:
    return NOT_KNOWN if one.cost is None else dollars(one.cost)


def _counted(share: IntervalEstimate) -> str:
    """`44 of 62`, and below it the interval of the share."""
    return f"{_count(share)} of {share.n:,}\n{_ends(share)}" if share.n else UNMEASURED


def _count(share: IntervalEstimate) -> str:
    return UNMEASURED if share.value is None else f"{round(share.value * share.n):,}"


def _ends(share: IntervalEstimate) -> str:
    return "" if share.low is None or share.high is None else f"{share.low:.2f}{DASH}{share.high:.2f}"


def _measured(measured: IntervalEstimate | None) -> str:
    if measured is None or measured.value is None:
        return UNMEASURED
    return f"{measured.value:.2f}\n{_ends(measured)}".rstrip()


def _gaps(one: Examinee) -> Iterator[str]:
    """What keeps the figures from being whole."""
    if one.stopped:
        yield f"stopped: {one_line(one.stopped, 300)}"
    if found := one.result:
        if found.failed or found.failed_claims:
            yield (
                f"the judge failed on {plural(found.failed, 'case')}, which aren't counted, and on "
                f"{plural(found.failed_claims, 'claim')}, which count as wrong: give the same command again"
            )
        if found.unknown:
            yield f"it couldn't tell {plural(found.unknown, 'verdict')} on the cases"


def _claims_row(judge: str, found: ExamResult) -> tuple[str, ...]:
    claims = found.claims
    if claims is None:
        return _named(judge), *(UNMEASURED,) * 4
    measured = (claims.judge.get(name) for name in ("AUC", "balanced accuracy"))
    words = claims.overlap.get("AUC")
    return _named(judge), *map(_measured, measured), f"{claims.unknown:,}", _measured(words)


def _by_kind(sat: Sequence[tuple[str, ExamResult]]) -> Iterator[DocumentBlock]:
    shares = [found.by_kind() for _, found in sat]
    rows = [
        (kind.replace("_", " "), *(_of(share.get(kind)) for share in shares))
        for kind in naming_rules()
        if any(kind in share for share in shares)
    ]
    names = [_named(judge) for judge, _ in sat]
    yield table((*text_columns(""), *number_columns(*names, wrap=True)), rows)
    sizes = Counter(one.fault for _, found in sat[:1] for one in found.faulty).values()
    if sizes:
        yield note(f"A kind has {min(sizes)} to {max(sizes)} cases: read these as counts, not as rates.")


def _of(share: IntervalEstimate | None) -> str:
    return f"{_count(share)} of {share.n:,}" if share else UNMEASURED


def _blamed(sat: Sequence[tuple[str, ExamResult]]) -> Iterator[DocumentBlock]:
    told = [(judge, [one for one in found.sound if one.blamed]) for judge, found in sat]
    if any(some for _, some in told):
        yield Heading("Sound answers that were blamed")
    for judge, some in told:
        if some:
            more = f" and {len(some) - LISTED:,} more (--json)" if len(some) > LISTED else ""
            blamed = "; ".join(f"{one.id} ({', '.join(one.rules)})" for one in some[:LISTED])
            yield line(f"{one_line(judge, 60)}: {blamed}{more}")


def costs_document(costs: Sequence[tuple[str, CostEstimate]], remark: str) -> Iterator[DocumentBlock]:
    """What it would take each judge: (its name, the cost); the remark says what is counted more than once."""
    heads = ("questions", "requests", "tokens", "price")
    yield table((*_judge_column(), *number_columns(*heads, wrap=True)), [_cost_row(*one) for one in costs])
    yield note(f"At least and at most. {remark}")
    if not any(cost.most.requests for _, cost in costs):
        yield line(FREE)


def _cost_row(judge: str, cost: CostEstimate) -> tuple[str, ...]:
    least, most = cost.least, cost.most
    tokens = (f"{one.tokens_in + one.tokens_out:,}" for one in (least, most))
    unpriced = least.price is None or most.price is None
    price = NOT_KNOWN if unpriced else _span(money(least.price), money(most.price))
    requests = _span(f"{least.requests:,}", f"{most.requests:,}")
    return _named(judge), f"{cost.questions:,}", requests, _span(*tokens), price


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low}\nto {high}"
