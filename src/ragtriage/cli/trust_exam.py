"""`ragtriage trust exam`: any judges on the same packaged cases with known faults, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ragtriage.cli.console import Advance, exit_if, print_found, progress
from ragtriage.cli.flags import command
from ragtriage.cli.judge import NOTHING_SENT, JudgeFlags, Judging, spending
from ragtriage.config import judge_config
from ragtriage.core.errors import ConfigError, JudgeError
from ragtriage.core.validation import settings_of
from ragtriage.judges.budget import Ledger
from ragtriage.judges.judge_config import is_local
from ragtriage.judges.llm.models import takes_base_url
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.protocol import Estimate
from ragtriage.judges.session import JudgeSession
from ragtriage.report.exam_document import exam_document, exam_plan_document
from ragtriage.trust.exam import Examinee, ExamResult, cost_of_exam, exam_cases, examine
from ragtriage.trust.judge_card import fingerprints_of
from ragtriage.trust.pair_scoring import CostEstimate

_OF_MODELS = frozenset({one.name for one in settings_of(LLMOptions)} | {"batch_api", "wait", "protocol"})
"""Settings that mean nothing to a judge on this machine."""
_OF_ADDRESS = frozenset({"base_url", "headers"})


@command("trust exam")
def exam(*, dry_run: bool = False, as_json: bool = False, judge_flags: JudgeFlags) -> None:
    """Ask judges about the same packaged cases: which faults does each name, and which sound answers does it blame?

    Every --judge takes the exam by itself, unless --jury or --cascade makes one judge of them. Exit codes: 0; 2 usage
    or input; 3 incomplete (a judge failed, or was stopped).
    """
    examinees = _judgings(judge_flags, asks=not dry_run)
    cases = exam_cases()
    if dry_run:
        costs = []
        for judging in examinees:
            left, _, saved = _costs(judging)
            costs.append((judging.judge.name(), left, saved))
        print_found(
            lambda: {"judges": [_cost_json(*one) for one in costs]},
            lambda: exam_plan_document(costs),
            as_json=as_json,
        )
        return
    ledger = examinees[0].session.ledger
    with progress(
        len(cases) * len(examinees),
        0,
        note=lambda: spending(ledger) if ledger.requests else "",
        word="examining",
    ) as advance:
        examined = [_examined(judging, advance) for judging in examinees]
    faulty = sum(one.fault is not None for one in cases)
    print_found(
        lambda: {
            "cases": len(cases),
            "faulty": faulty,
            "sound": len(cases) - faulty,
            "judges": [one.as_json() for one in examined],
        },
        lambda: exam_document(examined, cases),
        as_json=as_json,
    )
    exit_if(incomplete=any(one.incomplete for one in examined))


def _judgings(flags: JudgeFlags, *, asks: bool) -> list[Judging]:
    """The judges, each with what is meant for it; all of them under one budget."""
    settings = flags.settings()
    configs = [judge_config(settings, given) for given in _given_to_each(flags.given())]
    options = next((config.options for config in configs if config.paid), LLMOptions())
    ledger = Ledger(budget=options.budget, max_requests=options.max_requests)
    offline = None if asks else NOTHING_SENT
    store = flags.store_address(settings)
    return [Judging(settings, JudgeSession.of(one, offline=offline, ledger=ledger), store) for one in configs]


def _given_to_each(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What is given for each judge that takes the exam by itself; one for a jury or a cascade.

    An option of models isn't given to a judge on this machine that stands beside a model, and an address only to the
    models that can be asked there; alone, each is refused as in other commands.
    """
    names: tuple[str, ...] = given.get("judge", ())
    if len(names) < 2 or given.get("jury") or given.get("cascade"):
        return [dict(given)]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"the judge {name} is named twice: name it once")
    some_local, some_models = any(map(is_local, names)), not all(map(is_local, names))
    some_addressed = any(map(takes_base_url, names))

    def left_out(name: str) -> frozenset[str]:
        if is_local(name):
            return _OF_MODELS if some_models else frozenset()
        of_others = frozenset({"base_rates"}) if some_local else frozenset()
        return of_others | _OF_ADDRESS if some_addressed and not takes_base_url(name) else of_others

    return [
        {key: value for key, value in given.items() if key not in left_out(name)} | {"judge": (name,)} for name in names
    ]


def _without_batches(judging: Judging) -> Judging:
    """The same to be planned: a batch takes the same requests, but wants a place for its tickets."""
    config = judging.session.config
    if not config.batch_api:
        return judging
    return replace(judging, session=JudgeSession.of(replace(config, batch_api=False, wait=False), offline=NOTHING_SENT))


def _costs(judging: Judging) -> tuple[CostEstimate, CostEstimate, int]:
    """What is left of the exam, what all of it takes, and about how many requests the answers in the store save."""
    planning = _without_batches(judging)
    with planning.planned() as (judge, memory):
        left = cost_of_exam(judge, memory)
    whole = cost_of_exam(planning.judge)
    return left, whole, max(0, whole.least.requests - left.least.requests)


def _cost_json(judge: str, left: CostEstimate, saved: int) -> dict[str, Any]:
    bounds = {"least": left.least.as_json(), "most": left.most.as_json()}
    return {"judge": judge, "questions": left.questions, "requests_saved": saved, **bounds}


def _examined(judging: Judging, advance: Advance) -> Examinee:
    """One judge's exam. One that is stopped keeps its answers, and the others go on."""
    session, before = judging.session, judging.session.ledger.spent
    result: ExamResult | None = None
    stopped, saved, whole = "", 0, Estimate()
    if session.config.paid:
        _, all_of_it, saved = _costs(judging)
        whole = all_of_it.least
    try:
        with judging.opened() as judge:
            result = examine(judge, window=session.config.window, advance=advance)
    except JudgeError as error:
        stopped = str(error)
    unopened = judging.judge
    return Examinee(
        unopened.name(),
        fingerprints_of(unopened),
        result,
        stopped,
        session.ledger.spent - before,
        all(one.price is not None for one in session.models.values()),
        saved,
        whole,
    )
