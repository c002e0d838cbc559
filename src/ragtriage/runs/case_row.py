"""A record as the columns of one row, and back, and what makes two rows the same: wherever a run is kept."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from ragtriage.core.case import Case, Record, Source, Turn
from ragtriage.core.verdicts import Known, Outcome, Score, Undefined
from ragtriage.metrics import metric_named
from ragtriage.runs.codec import DELETED, custom_parts, decode_steps, encode_steps, with_custom_parts

SIZE = 16
"""Bytes of a digest: 128 bits, so that chance never makes two texts one."""


def digest(text: str) -> bytes:
    """The digest of a text, 16 bytes; any text has one, also one with lone surrogates."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


def content_hash(case: Case) -> bytes:
    """The digest of everything in a case, its id and tags included, 16 bytes."""
    mark = [] if case.citation_mark is None else [case.citation_mark]  # rows without one stay what they were
    content = [
        case.id,
        case.query,
        None if case.sources is None else [[source.text, source.id] for source in case.sources],
        case.response,
        case.reference,
        [[turn.role, turn.text] for turn in case.history],
        case.samples,
        case.relevant_ids,
        dict(case.tags),
        case.weight,
        case.time,
        case.trace_id,
        *mark,
    ]
    return digest(json.dumps(content, default=str))


class RowsHash:
    """The digest of a file's rows in their order, gathered one row at a time."""

    def __init__(self) -> None:
        self.rows = 0
        self._hash = hashlib.blake2b(digest_size=SIZE)

    def add(self, case: Case) -> bytes:
        """Take one row in, and return its `content_hash`."""
        content = content_hash(case)
        self._hash.update(content)
        self.rows += 1
        return content

    def hexdigest(self) -> str:
        """The digest of all rows so far, 32 hexadecimal digits."""
        return self._hash.hexdigest()


ROLES = ("query", "response", "reference", "source", "history", "sample", "citation mark", "unrecorded")
"""`unrecorded` holds the name of a field that wasn't recorded: the sources, where they aren't just none."""
HEAD = 60
"""Characters of the query that are kept beside a heading."""


@dataclass(frozen=True, slots=True)
class CaseText:
    """One text of a case."""

    role: str
    ordinal: int
    label: str | None
    """A source's id, a turn's role."""
    hash: bytes | None
    """16 bytes; None if the text was deleted."""
    text: str | None = None
    """None where it wasn't asked for, or was deleted."""


@dataclass(frozen=True, slots=True)
class CaseHeading:
    """What the diagnosis says of one case under the run's own criteria, so that lists of cases needn't read records."""

    kind: str
    """How the case is headed: see `ragtriage.diagnosis.headline`."""
    component: str
    """Under which it is counted."""
    rules: tuple[str, ...]
    """The rules of its findings, the most pressing first."""
    sure: bool


@dataclass(frozen=True, slots=True)
class Columns:
    """What is read of cases beside ids, tags and the like."""

    scores: bool = False
    steps: bool = False
    """Steps are read with their texts."""
    texts: Sequence[str] | None = None
    """The roles whose texts are read; of the others only the digests are. None: none is."""
    headings: bool = False
    digests: bool = True
    """Whether the texts that aren't read are there by their digests; where not, they may be left out."""
    reasons: bool = True
    """Whether it is read why a score is undefined, which may quote the case; where not, it may be left out."""


FACTS = Columns()
SCORED = Columns(scores=True)
WHOLE = Columns(scores=True, steps=True, texts=ROLES)
COPIED = Columns(scores=True, steps=True, texts=ROLES, headings=True)


@dataclass(frozen=True, slots=True)
class CaseRow:
    """One case of a run; fields that weren't asked for have their default."""

    position: int
    """Its place in the run, from 0, in the order of the input."""
    id: str
    id_digest: bytes = b""
    content: bytes | None = None
    """`ragtriage.runs.case_row.content_hash`; None where the texts were deleted."""
    row: int | None = None
    """Its row in what it was read from, from 1; None where it stands in a table."""
    failed: bool = False
    language: str = "en"
    seconds: float = 0.0
    weight: float = 1.0
    time: str | None = None
    trace_id: str | None = None
    relevant_ids: Sequence[str] | None = None
    tags: Mapping[str, Any] = field(default_factory=dict)
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    """By metric, without their parts."""
    steps: bytes = b""
    """See `ragtriage.runs.codec.encode_steps`."""
    heading: CaseHeading | None = None
    texts: Sequence[CaseText] = ()

    @classmethod
    def of(cls, record: Record, position: int, row: int | None = None, heading: CaseHeading | None = None) -> Self:
        """The row of a record."""
        case = record.case
        return cls(
            position=position,
            id=case.id,
            id_digest=digest(case.id),
            content=content_hash(case),
            row=row,
            failed=any(getattr(outcome, "failed", False) for outcome in record.outcomes.values()),
            language=record.language,
            seconds=record.seconds,
            weight=case.weight,
            time=case.time,
            trace_id=case.trace_id,
            relevant_ids=case.relevant_ids,
            tags=dict(case.tags),
            outcomes=record.outcomes,
            steps=encode_steps(case, {**record.steps, **custom_parts(record.outcomes)}),
            heading=heading,
            texts=tuple(texts_of(case)),
        )

    def case(self) -> Case:
        """The case; a text that was deleted reads as `DELETED`."""
        by_role: dict[str, list[tuple[str | None, str]]] = {}
        for one in self.texts:
            by_role.setdefault(one.role, []).append((one.label, DELETED if one.text is None else one.text))

        def only(role: str) -> str | None:
            return by_role[role][0][1] if role in by_role else None

        return Case(
            id=self.id,
            query=only("query") or "",
            sources=None
            if "unrecorded" in by_role
            else tuple(Source(text, label) for label, text in by_role.get("source", ())),
            response=only("response"),
            reference=only("reference"),
            history=tuple(Turn(label or "", text) for label, text in by_role.get("history", ())),
            samples=tuple(text for _, text in by_role.get("sample", ())),
            relevant_ids=None if self.relevant_ids is None else tuple(self.relevant_ids),
            tags=self.tags,
            weight=self.weight,
            time=self.time,
            trace_id=self.trace_id,
            citation_mark=only("citation mark"),
        )

    def record(self) -> Record:
        """The record; the parts of its scores are found again in the steps."""
        case = self.case()
        steps = decode_steps(case, self.steps)
        found = with_custom_parts(self.outcomes, steps)
        whole = {name: _with_parts(name, outcome, steps) for name, outcome in found.items()}
        return Record(case, steps, whole, self.language, self.seconds)

    @property
    def head(self) -> str | None:
        """How the query begins, for lists of cases; None if it was deleted."""
        query = next((one.text for one in self.texts if one.role == "query"), None)
        return None if query is None else head_of(query)

    def by_role(self) -> Mapping[str, Sequence[CaseText]]:
        """Its texts by what they are for it."""
        found: dict[str, list[CaseText]] = {}
        for one in self.texts:
            found.setdefault(one.role, []).append(one)
        return found


def head_of(query: str) -> str:
    """How a query begins."""
    return " ".join(query[: 2 * HEAD].split())[:HEAD]


def outcome_columns(outcome: Outcome) -> tuple[float | None, str | None, bool, int | None, int | None]:
    """A score, or why there is none: value, reason, whether it failed, judged, unknown."""
    if isinstance(outcome, Undefined):
        return None, outcome.reason, outcome.failed, None, None
    return outcome.value, None, False, outcome.judged, outcome.unknown


def outcome_from(value: float | None, reason: str | None, failed: bool, judged: Any, unknown: Any) -> Outcome:  # noqa: FBT001  # a column
    """Undo `outcome_columns`."""
    return Undefined(reason or "", failed) if value is None else Score(value, judged, unknown)


def texts_of(case: Case) -> Iterator[CaseText]:
    """Every text of a case; one that was deleted has no digest."""
    by_role: Mapping[str, Sequence[tuple[str | None, str | None]]] = {
        "query": [(None, case.query)],
        "response": [(None, case.response)],
        "reference": [(None, case.reference)],
        "source": [(source.id, source.text) for source in case.known_sources],
        "history": [(turn.role, turn.text) for turn in case.history],
        "sample": [(None, sample) for sample in case.samples],
        "citation mark": [(None, case.citation_mark)],
        "unrecorded": [(None, "sources" if case.sources is None else None)],
    }
    for role, labelled in by_role.items():
        for i, (label, text) in enumerate(labelled):
            if text == DELETED:
                yield CaseText(role, i, label, None)
            elif text is not None:
                yield CaseText(role, i, label, digest(text), text)


def _with_parts(name: str, outcome: Outcome, steps: Mapping[str, Known]) -> Outcome:
    """The stored score with the parts that today's metric finds for it; without them if it would differ today."""
    metric = metric_named(name)
    if metric is None or isinstance(outcome, Undefined):
        return outcome
    try:
        again = metric(steps)
    except (KeyError, ValueError):
        return outcome  # the metric needs other steps today than when the run was made
    if isinstance(again, Score) and (again.value, again.judged) == (outcome.value, outcome.judged):
        return replace(outcome, parts=again.parts)
    return outcome
