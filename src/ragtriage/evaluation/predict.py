"""Labelled rows in, predictions out: how a judge is measured from outside, by the path that an evaluation takes.

Tasks and fields are those of a labelled row (`claim`, `sources`, `query`, `text`, `question`, `a`, `b`, `truth`,
`response`); fields that tell where a row comes from are never read.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

from ragtriage.core import questions as ask
from ragtriage.core.errors import InputError
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Component, Failure, Verdict
from ragtriage.judges.protocol import Judge
from ragtriage.planning.relations import NOTHING

PredictionTask = Literal["supported", "essential", "relevant", "answered", "similar", "same-answer"]
TASKS: tuple[PredictionTask, ...] = get_args(PredictionTask)
PredictionRow = Mapping[str, Any]
BATCH = 256
"""Rows that are asked about together: enough for full batches, little enough for a bounded memory."""
_QUESTION_MARK = "Question:"
"""What stands before the last message of a conversation in a row's `question`."""


def _text(row: PredictionRow, *names: str) -> str:
    """The first of these fields that is there."""
    for name in names:
        if name in row:
            if not isinstance(row[name], str):
                raise InputError(f"`{name}` must be a text, not {type(row[name]).__name__}")
            return str(row[name])
    raise InputError(f"the row has no `{names[0]}`")


def _texts(row: PredictionRow, *names: str) -> tuple[str, ...]:
    """The first of these fields as a list of texts; a single text is a list of one."""
    value = next((row[name] for name in names if name in row), None)
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Sequence) or not all(isinstance(one, str) for one in value):
        raise InputError(f"`{names[0]}` must be a list of texts")
    return tuple(value)


def decompositions_of(task: PredictionTask, row: PredictionRow) -> tuple[Question, ...]:
    """What must be broken into components before the row's questions can be written."""
    if task == "supported":
        claim = _text(row, "claim")
        return (ask.sentences(claim), ask.claims(claim, str(row.get("query") or "")))
    if task == "similar" and "response" in row:
        return (ask.sentences(_text(row, "response")),)
    return ()


def questions_of(
    task: PredictionTask, row: PredictionRow, parts: Sequence[Sequence[Component]] = ()
) -> tuple[Question, ...]:
    """The row's questions; `parts` is what `decompositions_of` gave, in its order.

    None at all if there is nothing to judge: a response without a claim, or of a single sentence for `similar`.
    """
    match task:
        case "supported":
            return _supported(row, parts)
        case "essential" | "relevant":
            write = ask.essential if task == "essential" else ask.relevant
            return (
                write(
                    _text(row, "query", "question"),
                    _text(row, "text"),
                    str(row.get("response") or row.get("context") or ""),
                ),
            )
        case "answered":
            whole = _text(row, "question", "query")
            _, mark, question = whole.rpartition(_QUESTION_MARK)
            return (ask.answered(question.strip(), _texts(row, "sources"), whole.strip() if mark else ""),)
        case "same-answer":
            return (ask.same_answer(_text(row, "query", "question"), _texts(row, "truth"), _text(row, "response")),)
        case "similar":
            if "response" not in row:
                return (ask.similarity(_text(row, "a"), (_text(row, "b"),)),)
            sentences = tuple(part.text for part in parts[0])
            return tuple(ask.similarity(s, sentences, i) for i, s in enumerate(sentences)) if len(sentences) > 1 else ()


def _supported(row: PredictionRow, parts: Sequence[Sequence[Component]]) -> tuple[Question, ...]:
    """One question a claim: the text if it is one sentence, else what it was broken into; none about a remark."""
    claim, sources, query = _text(row, "claim"), _texts(row, "sources"), str(row.get("query") or "")
    sentences, claims = parts
    if not claim.strip():
        return ()
    if len(sentences) <= 1 and not (claims and all(one.remark for one in claims)):
        return (ask.supported(claim, sources, query),)
    return tuple(ask.supported(one.text, sources, query, claim) for one in claims if not one.remark)


def prediction_of(task: PredictionTask, answers: Sequence[Answer]) -> dict[str, Any]:
    """The prediction for one row: `verdict`, `confidence`, `score`, the probability of yes, and whether it is `sure`.

    The least supported claim decides for `supported`, the closest pair for `similar`. A failure gives a score of None
    and an `error`. A text without a claim has nothing that isn't supported; one sentence repeats nothing.
    """
    failed = next((answer for answer in answers if isinstance(answer, Failure)), None)
    if failed is not None:
        return {"verdict": None, "confidence": None, "score": None, "error": failed.cause}
    verdicts = [answer for answer in answers if isinstance(answer, Verdict)]
    pick: Callable[..., Verdict] = min if task == "supported" else max
    untold = Verdict("yes", 1.0) if task == "supported" else Verdict("no", 0.0)
    verdict = pick(verdicts, key=probability_of_yes) if verdicts else untold
    return {
        "verdict": verdict.value,
        "confidence": verdict.confidence,
        "score": probability_of_yes(verdict),
        "sure": verdict.sure,
    }


def probability_of_yes(verdict: Verdict) -> float:
    """The probability of yes.

    A similarity's score is a cosine, so confidence is read first; a judge that gives neither is taken at its word.
    """
    if verdict.confidence is not None and verdict.value != "unknown":
        return verdict.confidence if verdict.value == "yes" else 1.0 - verdict.confidence
    if verdict.score is not None:
        return verdict.score
    return {"yes": 1.0, "no": 0.0, "unknown": 0.5}[verdict.value]


async def predict(judge: Judge, task: PredictionTask, rows: Sequence[PredictionRow]) -> list[dict[str, Any]]:
    """Ask a judge about rows, all at once; one prediction a row, in order, with the row's `id`.

    A row that can't be read gets an `error` and the others go on.
    """
    failed: dict[int, Failure] = {}

    def written(write: Callable[[int, PredictionRow], tuple[Question, ...]]) -> list[tuple[Question, ...]]:
        found: list[tuple[Question, ...]] = []
        for i, row in enumerate(rows):
            try:
                found.append(() if i in failed else write(i, row))
            except InputError as error:
                failed[i] = Failure(str(error))
                found.append(())
        return found

    parts = await _asked(judge, written(lambda _, row: decompositions_of(task, row)))
    failed |= {i: answer for i, answers in enumerate(parts) for answer in answers if isinstance(answer, Failure)}
    second = written(lambda i, row: questions_of(task, row, [a for a in parts[i] if isinstance(a, tuple)]))
    answered = await _asked(judge, second)
    return [
        {"id": row.get("id"), **prediction_of(task, [failed[i]] if i in failed else answered[i])}
        for i, row in enumerate(rows)
    ]


async def _asked(judge: Judge, questions: Sequence[Sequence[Question]]) -> list[list[Answer]]:
    """The answers in the shape of the questions; what has no text is no without asking, as in an evaluation."""
    flat = [question for some in questions for question in some]
    answers: list[Answer] = [NOTHING if _blank(q) else Failure("the judge gave no answer") for q in flat]
    places = [i for i, question in enumerate(flat) if not _blank(question)]
    async for at, answer in judge.ask([flat[i] for i in places]):
        answers[places[at]] = answer
    left = iter(answers)
    return [[next(left) for _ in some] for some in questions]


def _blank(question: Question) -> bool:
    """Whether there is no text that could support, answer or hold anything."""
    if question.kind in {"supported", "answered"}:
        return not any(text.strip() for text in question.evidence)
    return question.kind in {"essential", "relevant", "same_answer"} and not question.subject.strip()
