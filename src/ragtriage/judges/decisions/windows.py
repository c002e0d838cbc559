"""Questions about texts that are too large for one request, as questions about overlapping windows of them."""

from collections.abc import Sequence
from dataclasses import replace

from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Verdict
from ragtriage.text.sentences import split_sentences

ESCAPED = 0.9
"""Share of the room that texts may take: in JSON some characters take two bytes."""
OVERLAP = 1
"""Sentences that a window has in common with the one before it."""


def in_windows(question: Question, room: int) -> tuple[Question, ...]:
    """The question about each window of its texts; none if what is too large are no sources.

    Two windows together take `room` bytes at most.
    """
    largest = int(room * ESCAPED / 2)
    if largest <= 0:
        return ()
    if question.kind == "supported" or (question.kind == "answered" and not question.query):
        return tuple(replace(question, evidence=(text,)) for text in _windows(question.evidence, largest))
    if question.kind in {"essential", "relevant"} and not question.context:
        return tuple(replace(question, subject=text, evidence=()) for text in _windows([question.subject], largest))
    return ()


def together(question: Question, windows: Sequence[Question], answers: Sequence[Answer]) -> Question | None:
    """The question about the two best windows at once; None where it is about one text, or there is one window."""
    if not question.evidence or question.kind not in {"supported", "answered"} or len(windows) < 2:
        return None
    best = sorted(range(len(windows)), key=lambda at: _chance(answers[at]), reverse=True)[:2]
    return replace(question, evidence=tuple(text for at in sorted(best) for text in windows[at].evidence))


def likeliest(answers: Sequence[Answer]) -> Answer:
    """The answer with the highest probability of yes; a failure only if there is nothing else."""
    return max(answers, key=_chance)


def _chance(answer: Answer) -> float:
    return (answer.score or 0.0) if isinstance(answer, Verdict) else -1.0


def _windows(texts: Sequence[str], largest: int) -> list[str]:
    """Stretches of whole sentences, each of so many bytes at most; a longer sentence is cut."""
    found: list[str] = []
    for text in texts:
        pieces = [piece for one in split_sentences(text) for piece in _cut(one.text, largest)]
        start = 0
        while start < len(pieces):
            end, size = start, 0
            while end < len(pieces) and (end == start or size + _bytes(pieces[end]) + 1 <= largest):
                size += _bytes(pieces[end]) + 1
                end += 1
            found.append(" ".join(pieces[start:end]))
            start = end if end == len(pieces) else max(start + 1, end - OVERLAP)
    return found


def _cut(sentence: str, largest: int) -> list[str]:
    """A sentence in overlapping parts that fit, counted in characters of up to four bytes where it isn't plain."""
    most = largest if sentence.isascii() else max(1, largest // 4)
    if len(sentence) <= most:
        return [sentence]
    return [sentence[at : at + most] for at in range(0, len(sentence), max(1, most - most // 10))]


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
