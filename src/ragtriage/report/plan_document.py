"""What an evaluation would take, and what became of scores that were sent, as documents."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any

from ragtriage.core.display import one_line, plural
from ragtriage.evaluation.estimate import EvaluationEstimate
from ragtriage.judges.judge_config import Protocol
from ragtriage.judges.protocol import Estimate
from ragtriage.monitor.outputs.entries import EntryKind
from ragtriage.monitor.outputs.send_run import SentScores
from ragtriage.monitor.outputs.sending import Delivered
from ragtriage.report.document import (
    GAP,
    DocumentBlock,
    DocumentCell,
    DocumentColumn,
    StyledText,
    line,
    note,
    number_columns,
    table,
    text_columns,
)
from ragtriage.report.words import DASH

KINDS: Mapping[EntryKind, tuple[str, str]] = {
    "score": ("score", "scores"),
    "source": ("verdict on a source", "verdicts on sources"),
    "conversation": ("mean of a conversation", "means of conversations"),
}
"""What is sent, one and many."""


def delivery_document(sent: SentScores, run: str | None = None) -> Iterator[DocumentBlock]:
    """A line for each destination, and below it what isn't there and why; `run` as it is typed, if it is one run's."""
    if sent.file:
        yield line((one_line(sent.file.path, 120), "strong"), f"  {plural(sent.file.records, 'score')} written")
        for reason, count in sent.file.left_out.items():
            yield line(f"left out: {count:,}, {reason}", indent=2)
    for one in sent.tools:
        yield line((one.title, "strong"), f" {one_line(one.address, 120)}  {sent_words(one)}")
        yield from (line(text, indent=2) for text in _missing(one))
        if one.left:
            again = f"ragtriage send {run} --{one.name} {one.address}" if run else "the same command again"
            yield line(f"to send what is left: {again}", indent=2)
    if sent.without_trace:
        yield line(f"{plural(sent.without_trace, 'case')} without a trace id: nothing of them can be sent")


def sent_words(one: Delivered) -> str:
    """What was sent, in words."""
    told = [plural(one.sent[kind], *words) for kind, words in KINDS.items() if one.sent[kind]]
    now = f"{', '.join(told)} sent" if told else "nothing sent"
    return f"{now}, {one.before:,} there before" if one.before else now


def _missing(one: Delivered) -> Iterator[str]:
    if one.undefined:
        yield f"undefined: {one.undefined:,}, not sent, as it takes numbers only"
    yield from (f"left out: {count:,}, {reason}" for reason, count in one.left_out.items())
    for reason, count in one.refused.items():
        said = one.said.get(reason)
        yield f"refused: {count:,}, {reason}" + (f"; the first: {said}" if said else "")
    if one.left:
        yield f"left in the outbox: {one.left:,}, {one.why}"


def delivery_json(sent: SentScores) -> dict[str, Any]:
    """The same as one value.

    Its keys: `without_trace` (cases), `files` and `destinations`, lists of objects; of a destination `name`,
    `address`, `sent` (kind → count), `before`, `undefined`, `left_out` and `refused` (reason → count), `left`
    and `why`.
    """
    file = sent.file
    return {
        "without_trace": sent.without_trace,
        "files": [{"path": file.path, "records": file.records, "left_out": dict(file.left_out)}] if file else [],
        "destinations": [
            {
                "name": one.name,
                "address": one.address,
                "sent": {kind: one.sent[kind] for kind in KINDS},
                "before": one.before,
                "undefined": one.undefined,
                "left_out": dict(one.left_out),
                "refused": dict(one.refused),
                "left": one.left,
                "why": one.why or None,
            }
            for one in sent.tools
        ],
    }


UNPRICED = "not known: give --price IN:OUT"
BY_RULES = "Numbers of claims and facts are counted by rules; a model may find more."
SENT_AGAIN = "Requests that fail and are sent again come on top."
CACHING: Mapping[Protocol, str] = {
    "shared": "Prompt caching makes it hardly cheaper: a text is sent once for all that is asked about it.",
    "paper": "The paper's protocol sends the sources again with every claim, so where the provider caches the "
    "beginning of prompts it can cost less.",
}
FREE = "No request is needed: this judge is free and asks nobody else."


def plan_document(
    estimate: EvaluationEstimate,
    *,
    input: str,  # noqa: A002  # as in Header
    judge: str,
    notes: Sequence[str] = (),
    asked: Protocol | None = "shared",
    rate: str = "",
) -> Iterator[DocumentBlock]:
    """Requests, tokens, price and time of an evaluation, and what would make it cheaper.

    `asked` is how language models are asked; None if none is, so that no reply has a text.
    `rate` is what the price of a decision model rests on.
    """
    facts = [f" of {one_line(input, 120)}", plural(estimate.cases, "case"), one_line(judge, 120)]
    if estimate.trials > 1:
        facts.append(f"{estimate.trials} times")
    yield line(("plan", "strong"), " · ".join(facts))
    yield GAP
    if estimate.most.requests:
        columns = (*text_columns(""), *number_columns("at least", "at most"), DocumentColumn(wrap=True))
        yield table(columns, _estimates(estimate, rate))
    elif estimate.remembered and not estimate.questions:
        yield line(f"No request is needed: every question{_of_sample(estimate)} was answered before.")
    else:
        yield line(f"{FREE} It would answer at most {plural(sum(estimate.questions.values()), 'question')}.")
    if estimate.remembered:
        before = "1 question was" if estimate.remembered == 1 else f"{estimate.remembered:,} questions were"
        yield line(f"left out: {before} answered before")
    if estimate.sampling and estimate.sampling.error is not None:
        percent = f"{100 * estimate.sampling.error:.1f}"
        yield line(f"estimated{_of_sample(estimate)}, to within {percent} % (95 % interval); --exact looks at all")
    for step, names in estimate.shared.items():
        yield note(f"shared: {step} by {', '.join(names)}")
    about_requests = " ".join([BY_RULES, SENT_AGAIN, CACHING[asked]]) if asked else SENT_AGAIN
    said = (about_requests, *notes) if estimate.most.requests else notes
    yield from (replace(note(one), hang=0) for one in said)


def _of_sample(estimate: EvaluationEstimate) -> str:
    if not estimate.sampling:
        return ""
    return f" from {estimate.sampling.cases:,} of {plural(estimate.cases, 'case')}"


def _estimates(estimate: EvaluationEstimate, rate: str) -> Iterator[tuple[DocumentCell, ...]]:
    least, most = estimate.least, estimate.most
    counts: tuple[tuple[str, Callable[[Estimate], int]], ...] = (
        ("requests", lambda one: one.requests),
        ("prompt tokens", lambda one: one.tokens_in),
        ("reply tokens", lambda one: one.tokens_out),
    )
    for label, count in counts[: None if most.tokens_out else -1]:
        yield label, f"{count(least):,}", f"{count(most):,}"
    if most.price is None:
        yield "price", DASH, DASH, StyledText(rate or UNPRICED, "quiet")
    else:
        yield "price", money(least.price), money(most.price), StyledText(rate, "quiet")
    pace = f"at {estimate.concurrency:,} in flight, {estimate.seconds_per_request:g} s a request"
    yield "time", *map(duration, estimate.seconds), StyledText(pace, "quiet")


def requests_and_price(estimate: EvaluationEstimate) -> str:
    """Requests and price on one line: `4,000 to 5,500 requests, $1.10 to $1.62`."""
    least, most = estimate.least, estimate.most
    if not most.requests:
        return "no request"
    requests = f"{least.requests:,} to " if least.requests != most.requests else ""
    said = f"{requests}{plural(most.requests, 'request')}"
    if not most.price:
        return said
    low, high = money(least.price), money(most.price)
    return f"{said}, {high if low == high else f'{low} to {high}'}"


def money(price: float | None) -> str:
    """A price in US dollars, rounded up so that nothing costs more than it says."""
    if price is None:
        return UNPRICED
    if price <= 0:
        return "free"
    digits = 2 if price >= 0.1 else 4
    return f"${ceil(round(price * 10**digits, 6)) / 10**digits:,.{digits}f}"


def duration(seconds: float) -> str:
    """A time in words, rounded up: `9 s`, `8 min`, `1 h 20 min`."""
    if seconds <= 90:
        return f"{ceil(seconds)} s"
    minutes = ceil(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60:,} h {minutes % 60} min"
