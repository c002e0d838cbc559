"""What became of scores that were sent to other tools, as a document and as JSON."""

from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.core.display import one_line, plural
from ragtriage.monitor.outputs.entries import EntryKind
from ragtriage.monitor.outputs.send_run import SentScores
from ragtriage.monitor.outputs.sending import Delivered
from ragtriage.report.document import DocumentBlock, line

KINDS: Mapping[EntryKind, tuple[str, str]] = {
    "score": ("score", "scores"),
    "source": ("verdict on a source", "verdicts on sources"),
    "conversation": ("mean of a conversation", "means of conversations"),
}
"""What is sent, one and many."""


def delivery_document(sent: SentScores, run: str | None = None) -> Iterator[DocumentBlock]:
    """A line for each destination, and below it what isn't there and why; `run` as it is typed, if it is one run's."""
    for path, written in sent.files.items():
        yield line((one_line(path, 120), "strong"), f"  {plural(written.records, 'score')} written")
        for reason, count in written.left_out.items():
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
    return {
        "without_trace": sent.without_trace,
        "files": [{"path": p, "records": w.records, "left_out": dict(w.left_out)} for p, w in sent.files.items()],
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
