"""What can be asserted of a case, with messages that show why it doesn't hold."""

import warnings
from collections.abc import Iterator
from typing import Any

from ragtriage.core.display import one_line, sanitize, told_apart
from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Metric
from ragtriage.core.verdicts import Part, Score, Undefined, Verdict, bad_chance, is_doubtful
from ragtriage.diagnosis.rules import is_bad
from ragtriage.testing.case_list import case_from
from ragtriage.testing.judged_case import CaseMadeInTest, JudgedCase
from ragtriage.testing.options import UnsureWarning
from ragtriage.testing.suite import GROUNDED, current

LONGEST_MESSAGE = 2_000
"""Characters of a message."""
MOST_PARTS = 8
"""Bad components that a message quotes."""
LONGEST_QUOTE = 300
LONGEST_QUERY = 120


def judge(case: Any) -> JudgedCase:
    """A case that a test makes, to be judged at once when a verdict is asked for; its answers are remembered.

    Args:
        case: a `Case`, a dict with `query`, `sources` and `response`, or DeepEval's `LLMTestCase`. A `JudgedCase` is
            given back as it is.

    Raises:
        InputError: it is none of these, or a field can't be used.
    """
    __tracebackhide__ = True
    return case if isinstance(case, JudgedCase) else CaseMadeInTest(case_from(case, "the case", current().settings))


def assert_grounded(case: Any, threshold: float | None = None, *, sure_only: bool = False) -> None:
    """Assert that the sources support what the response claims.

    Args:
        case: a `JudgedCase`, or what `judge` takes.
        threshold: the lowest share of supported claims, in [0, 1]; by default that of the settings.
        sure_only: let it pass, with an `UnsureWarning`, where only verdicts that the judge isn't sure of speak against
            it.

    Raises:
        AssertionError: too few claims are supported; quotes the others.
        Undecided: groundedness is undefined, as where the response claims nothing.
        NotJudged: the judge failed.
    """
    __tracebackhide__ = True
    if threshold is None:
        judged = judge(case)
        metric, _ = judged.outcome(GROUNDED)
        threshold = judged.threshold(metric)
        assert_score(judged, sure_only=sure_only, **({} if threshold is None else {GROUNDED: threshold}))
        return
    assert_score(case, sure_only=sure_only, **{GROUNDED: threshold})


def assert_score(case: Any, *, sure_only: bool = False, **limits: float) -> None:
    """Assert that scores reach their limits; where lower is better, that they don't exceed them.

    Args:
        case: a `JudgedCase`, or what `judge` takes.
        sure_only: see `assert_grounded`.
        **limits: metric → its limit. A metric with a value is written `**{"retrieval_recall(k=5)": 0.8}`.

    Raises:
        AssertionError: a score doesn't reach its limit; quotes the components that are to blame.
        Undecided: no score misses its limit, but one is undefined.
        NotJudged: the judge failed.
        ConfigError: there is no such metric, a limit is out of its range, or none was given.
    """
    __tracebackhide__ = True
    judged = judge(case)
    if not limits:
        raise ConfigError("assert_score needs a metric and its limit: assert_score(case, groundedness=0.8)")
    suite = current()
    for name, limit in limits.items():
        _check(suite.metrics.named(name), limit)
    judged.known([suite.metrics.named(name).name for name in limits])  # all at once
    undecided: Exception | None = None
    for name, limit in limits.items():
        metric, outcome = judged.outcome(name)
        if isinstance(outcome, Undefined):
            undecided = undecided or judged.undecided(metric, outcome)
        elif is_bad(outcome.value, limit, metric.better):
            unsure = _hangs_on_unsure(metric, outcome, limit)
            message = _message(judged, metric, outcome, limit, unsure=unsure)
            if not (unsure and sure_only):
                raise AssertionError(message)
            warnings.warn(message, UnsureWarning, stacklevel=2)
    if undecided is not None:
        raise undecided


def _check(metric: Metric, limit: float) -> None:
    low, high = metric.range
    if not low <= limit <= high:
        raise ConfigError(f"{metric.name}={limit!r}: give a number between {low:g} and {high:g}")


def _hangs_on_unsure(metric: Metric, score: Score, limit: float) -> bool:
    """Whether the score would reach its limit if every verdict that the judge isn't sure of spoke for the answer."""
    unsure = [part for part in score.parts if not _sure(part)]
    if not unsure or not score.judged:
        return False
    turned = sum(bad_chance(part) for part in unsure) / score.judged
    best = score.value + turned if metric.better == "higher" else score.value - turned
    return not is_bad(best, limit, metric.better)


def _sure(part: Part) -> bool:
    """Whether the verdict on a component is hardly the wrong one."""
    return not isinstance(part.cell, Verdict) or not is_doubtful(part)


def _message(case: JudgedCase, metric: Metric, score: Score, limit: float, *, unsure: bool) -> str:
    word = "below" if metric.better == "higher" else "above"
    doubt = " (not sure)" if unsure else ""
    lines = [f"{metric.name} {told_apart(score.value, limit)} is {word} {limit:.2f}{doubt}", *_quotes(metric, score)]
    lines.append(f"  case {one_line(case.id, LONGEST_QUERY)}: {one_line(case.query, LONGEST_QUERY)}")
    text = "\n".join(lines)
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"


def _quotes(metric: Metric, score: Score) -> Iterator[str]:
    """The components that lower the score, the surest first: the bad ones, and good ones that are in doubt."""
    lower = [part for part in score.parts if part.good is False or (part.good and not _sure(part))]
    bad = sorted(lower, key=lambda part: (part.good is not False, not _sure(part)))
    for part in bad[:MOST_PARTS]:
        fault = metric.fault_of(part)
        perhaps = "" if part.good is False and _sure(part) else "perhaps "
        sign = "?" if part.good else "✗"
        yield f"  {sign} “{one_line(part.component.text, LONGEST_QUOTE)}” {perhaps}{fault}".rstrip()
        if isinstance(part.cell, Verdict) and part.cell.explanation:
            yield f"    {one_line(sanitize(part.cell.explanation), LONGEST_QUOTE)}"
    if len(bad) > MOST_PARTS:
        yield f"  and {len(bad) - MOST_PARTS} more"
    if score.unknown:
        yield f"  {score.unknown} more the judge can't tell"
