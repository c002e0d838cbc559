"""An exam for judges: packaged cases with one known fault or none, and what a judge makes of them.

Nothing was trained, tuned or chosen on these cases, and nothing may be: they tell users what each of their judges sees.
"""

import asyncio
import json
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ragtriage.core import questions as ask
from ragtriage.core.amount import Amount
from ragtriage.core.case import WINDOW, Case, Record, Source
from ragtriage.core.statistics import IntervalEstimate, wilson
from ragtriage.core.validation import as_builtins
from ragtriage.core.verdicts import Answer, Failure, Missing, Undefined, Verdict, Verdicts
from ragtriage.diagnosis.findings import diagnose
from ragtriage.diagnosis.rules import BLAMING, RULES, needs_of, thresholds_with
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.evaluation.estimate import estimate_evaluation
from ragtriage.evaluation.predict import probability_of_yes
from ragtriage.judges.protocol import Estimate, Judge
from ragtriage.judges.wrappers.cached import AnswerMemory
from ragtriage.metrics import THELMA
from ragtriage.trust.agreement import Agreement, ComparedRow, Prediction, agreement_of
from ragtriage.trust.pair_scoring import CostEstimate
from ragtriage.trust.wording import row_scores

BATCH = 256
"""Questions that are asked together."""
CASES = Path(__file__).with_name("exam_cases.jsonl")
FAULTS = Path(__file__).with_name("exam_faults.toml")


@dataclass(frozen=True, slots=True)
class LabelledClaim:
    """One claim of a response."""

    text: str
    """As it stands in the response."""
    supported: bool
    """Whether the sources support it."""


@dataclass(frozen=True, slots=True)
class ExamCase:
    """One case of the exam with what is known about it."""

    case: Case
    fault: str | None
    """Its one fault, a name of `naming_rules`; None if it is sound."""
    claims: tuple[LabelledClaim, ...]
    """None where the response claims nothing, as one that declines."""
    why: str
    """What is wrong with it, or why nothing is."""

    def questions(self) -> list[ask.Question]:
        """Whether the sources support each of the claims, just as an evaluation asks it."""
        sources = [source.text for source in self.case.known_sources]
        return [ask.supported(one.text, sources, self.case.query, self.case.response or "") for one in self.claims]


@cache
def exam_cases() -> tuple[ExamCase, ...]:
    """The cases, in the order of their file."""
    rows = map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
    return tuple(
        ExamCase(
            Case(row["id"], row["query"], tuple(map(Source, row["sources"])), row["response"]),
            row["fault"],
            tuple(LabelledClaim(**claim) for claim in row["claims"]),
            row["why"],
        )
        for row in rows
    )


@cache
def naming_rules() -> Mapping[str, tuple[str, ...]]:
    """A kind of fault → the rules of the diagnosis of which any names it; the reasons stand in the file."""
    table = tomllib.loads(FAULTS.read_text(encoding="utf-8"))["fault"]
    return {name: tuple(row["rules"]) for row in table for name in row["names"]}


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What a judge found on one case."""

    id: str
    fault: str | None
    rules: tuple[str, ...]
    """Those that hold, of any kind."""
    named: bool
    """Whether one of them names the fault; False for a sound case."""
    blamed: bool
    """Whether one of them is a failure or a lack of quality; waste and a right refusal blame nobody."""
    surely: bool
    """Whether one of those is sure."""
    failed: bool
    """Whether the judge failed on the case: it isn't counted, and the same command asks again."""
    unknown: int
    """Verdicts that the judge couldn't tell."""


@dataclass(frozen=True, slots=True)
class ExamResult:
    """What a judge made of the exam."""

    cases: tuple[CaseResult, ...]
    """In the order of the file."""
    claims: Agreement | None
    """Verdicts on the labelled claims; None where there are none."""
    seconds: float
    """From the first question to the last answer, models loaded meanwhile included."""

    @property
    def faulty(self) -> tuple[CaseResult, ...]:
        """The cases with a fault, without those on which the judge failed."""
        return tuple(one for one in self.cases if one.fault and not one.failed)

    @property
    def sound(self) -> tuple[CaseResult, ...]:
        """The sound cases, without those on which the judge failed."""
        return tuple(one for one in self.cases if not one.fault and not one.failed)

    @property
    def named(self) -> IntervalEstimate:
        """The share of the faults that were named, with Wilson's interval; undefined over none."""
        return wilson(sum(one.named for one in self.faulty), len(self.faulty))

    @property
    def blamed(self) -> IntervalEstimate:
        """The share of the sound cases that were blamed, with Wilson's interval; undefined over none."""
        return wilson(sum(one.blamed for one in self.sound), len(self.sound))

    @property
    def surely_blamed(self) -> IntervalEstimate:
        """The share of the sound cases on which a finding that is sure blames the answer."""
        return wilson(sum(one.surely for one in self.sound), len(self.sound))

    @property
    def failed(self) -> int:
        """Cases on which the judge failed."""
        return sum(one.failed for one in self.cases)

    @property
    def failed_claims(self) -> int:
        """Labelled claims on which the judge failed."""
        return self.claims.failed if self.claims else 0

    @property
    def unknown(self) -> int:
        """Verdicts on cases that the judge couldn't tell."""
        return sum(one.unknown for one in self.cases)

    def by_kind(self) -> dict[str, IntervalEstimate]:
        """A kind of fault → the share of its cases that were named; kinds without a case are left out."""
        found = {}
        for kind in naming_rules():
            some = [one for one in self.faulty if one.fault == kind]
            if some:
                found[kind] = wilson(sum(one.named for one in some), len(some))
        return found

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines; lists of cases are by id, with the rules that held."""
        missed = [one for one in self.faulty if not one.named]
        blamed = [one for one in self.sound if one.blamed]
        return {
            "named": as_builtins(self.named),
            "blamed": as_builtins(self.blamed),
            "surely_blamed": as_builtins(self.surely_blamed),
            "kinds": {kind: as_builtins(share) for kind, share in self.by_kind().items()},
            "claims": self.claims.as_json() if self.claims else None,
            "failed": self.failed,
            "failed_claims": self.failed_claims,
            "unknown": self.unknown,
            "seconds": self.seconds,
            "missed": [{"id": one.id, "fault": one.fault, "rules": list(one.rules)} for one in missed],
            "sound_blamed": [{"id": one.id, "surely": one.surely, "rules": list(one.rules)} for one in blamed],
        }


@dataclass(frozen=True, slots=True)
class Examinee:
    """One judge that was to take the exam, and how it went."""

    judge: str
    """What a person types to choose it."""
    fingerprints: Mapping[str, str]
    """Kind of question → what tells the judge's answers to it from another's."""
    result: ExamResult | None
    """None where it was stopped: a part of the cases can't be held against all of them."""
    stopped: str
    """Why it was; empty if it wasn't."""
    spent: Amount
    """By this command: answers that were kept from before cost nothing again."""
    priced: bool
    """Whether the prices are known; also True of a judge that costs nothing."""

    @property
    def incomplete(self) -> bool:
        """Whether the same command may find more."""
        return self.result is None or bool(self.result.failed or self.result.failed_claims)

    @property
    def cost(self) -> float | None:
        """In US dollars; None if the price isn't known."""
        return self.spent.cost if self.priced else None

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines; without figures where it was stopped."""
        return {
            "judge": self.judge,
            "fingerprints": dict(self.fingerprints),
            "stopped": self.stopped or None,
            **(self.result.as_json() if self.result else {}),
            **{name: getattr(self.spent, name) for name in ("requests", "tokens_in", "tokens_out")},
            "cost": self.cost,
        }


def examine(judge: Judge, *, window: int = WINDOW, advance: Callable[[], None] = lambda: None) -> ExamResult:
    """Ask a judge about every case, and about every labelled claim by itself.

    Scores and findings are those of the package as it is shipped, whatever the user's thresholds and rules, so that
    figures can be compared.
    """
    cases = exam_cases()
    began = time.monotonic()
    known = {one.case.id: one for one in cases}
    found: dict[str, CaseResult] = {}
    thresholds = thresholds_with({})
    asked = [one.case for one in cases]
    for record in evaluate_sync(asked, judge, metrics=THELMA, also=needs_of(RULES), window=window):
        found[record.case.id] = _case_result(record, known[record.case.id].fault, thresholds)
        advance()
    claims = _claims_agreement(cases, judge)
    return ExamResult(tuple(found[case.id] for case in asked), claims, time.monotonic() - began)


def cost_of_exam(judge: Judge, memory: AnswerMemory | None = None) -> CostEstimate:
    """What `examine` would take, without what is in memory.

    Labelled claims that the evaluation asks about too are counted twice.
    """
    cases = exam_cases()
    asked = [one.case for one in cases]
    taken = estimate_evaluation(asked, judge, metrics=THELMA, also=needs_of(RULES), memory=memory)
    questions = [question for one in cases for question in one.questions()]
    batches = (questions[start : start + BATCH] for start in range(0, len(questions), BATCH))
    claims = sum((judge.estimate(batch) for batch in batches), Estimate())
    count = sum(taken.questions.values()) + len(questions)
    return CostEstimate(count, taken.least + claims, taken.most + claims)


def _case_result(record: Record, fault: str | None, thresholds: Mapping[str, float]) -> CaseResult:
    findings = diagnose(record, thresholds)
    rules = tuple(finding.rule for finding in findings)
    blaming = [finding for finding in findings if finding.kind in BLAMING]
    cells = [cell for step in record.steps.values() if isinstance(step, Verdicts) for row in step.cells for cell in row]
    failed = (
        any(isinstance(cell, Failure) for cell in cells)
        or any(isinstance(step, Missing) and step.failed for step in record.steps.values())
        or any(isinstance(outcome, Undefined) and outcome.failed for outcome in record.outcomes.values())
    )
    return CaseResult(
        record.case.id,
        fault,
        rules,
        fault is not None and not set(naming_rules()[fault]).isdisjoint(rules),
        bool(blaming),
        any(finding.sure for finding in blaming),
        failed,
        sum(isinstance(cell, Verdict) and cell.value == "unknown" for cell in cells),
    )


def _claims_agreement(cases: Sequence[ExamCase], judge: Judge) -> Agreement | None:
    """The judge's verdicts on exactly these claims, held against their labels; those of one case are one group."""
    asked = [(one, claim) for one in cases for claim in one.claims]
    if not asked:
        return None
    answers = asyncio.run(_answers([question for one in cases for question in one.questions()], judge))
    rows = []
    for (one, claim), answer in zip(asked, answers, strict=True):
        sources = [source.text for source in one.case.known_sources]
        overlap, length = row_scores("supported", {"claim": claim.text, "sources": sources})
        rows.append(ComparedRow(one.case.id, float(claim.supported), _prediction(answer), overlap, length))
    return agreement_of("claims", rows, "yes or no")


async def _answers(questions: Sequence[ask.Question], judge: Judge) -> list[Answer | None]:
    answers: list[Answer | None] = [None] * len(questions)
    for start in range(0, len(questions), BATCH):
        async for position, answer in judge.ask(questions[start : start + BATCH]):
            answers[start + position] = answer
    return answers


def _prediction(answer: Answer | None) -> Prediction:
    if isinstance(answer, Verdict):
        return Prediction(probability_of_yes(answer), answer.value, answer.sure)
    cause = answer.cause if isinstance(answer, Failure) else "the judge gave no verdict"
    return Prediction(None, reason=cause, failed=True)
