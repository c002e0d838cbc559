"""A test of every case: the decorator that makes it, the case as it sees it, and what can be asserted of it.

A case's texts are there at once, its verdicts when they are asked for. Messages show why an assertion doesn't hold.
"""

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ragtriage.core.case import Case, Record, Source
from ragtriage.core.display import one_line, sanitize, told_apart
from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Metric
from ragtriage.core.verdicts import Outcome, Part, Score, Undefined, Verdict, bad_chance, is_doubtful
from ragtriage.diagnosis.findings import Finding
from ragtriage.diagnosis.rules import is_bad
from ragtriage.testing.case_list import CaseList, case_from, declared
from ragtriage.testing.options import NotJudged, Undecided, UnsureWarning
from ragtriage.testing.suite import GROUNDED, MADE_IN_TESTS, Batch, Suite, current

Test = TypeVar("Test", bound=Callable[..., Any])


def cases(
    given: str | Path | Sequence[Any], *, tags: Mapping[str, Any] | None = None, app: str | None = None
) -> Callable[[Test], Test]:
    """Run a test once for every case, which it gets as its argument `case`, a `JudgedCase`.

    Args:
        given: a file, beside the test's own or in pytest's rootdir; or cases: `Case`, dict or `LLMTestCase` each.
        tags: only the cases with these values of their tags; several values as a list.
        app: the file holds questions, which this application answers: `my_app.py:answer`, `module:function` or a URL.

    Raises:
        InputError: the file isn't there, or a row can't be used, when the module is collected.
        ConfigError: `app` with cases that are no file.
    """

    def decorate(test: Test) -> Test:
        code = getattr(test, "__code__", None)
        home = Path(code.co_filename if code else ".").resolve()
        found = declared(given, home, getattr(test, "__qualname__", "test"), app=app)
        chosen = [JudgedCase(found, position) for position in found.positions(tags)]
        params = [pytest.param(case, id=found.labels[case.position]) for case in chosen]
        marked: Test = pytest.mark.parametrize("case", params)(test)
        return marked

    return decorate


LONGEST_REASON = 400
"""Characters of why a score isn't there."""


class JudgedCase:
    """One case of a list, by its position."""

    def __init__(self, cases: CaseList, position: int) -> None:
        self.cases = cases
        self.position = position

    def __repr__(self) -> str:
        return f"<JudgedCase {self.id!r}>"

    @property
    def id(self) -> str:
        """Its id in the file, or one made from its content."""
        return self.cases.cases[self.position].id

    @cached_property
    def case(self) -> Case:
        """All that is known of it before it is judged. Where an application answers, it is asked."""
        return self.known(())[0].case if self.cases.app else self.cases.cases[self.position]

    @property
    def query(self) -> str:
        """What the user asked."""
        return self.cases.cases[self.position].query

    @property
    def response(self) -> str | None:
        """What the application answered; None if it gave no answer."""
        return self.case.response

    @property
    def sources(self) -> tuple[Source, ...]:
        """What was retrieved."""
        return self.case.known_sources

    @property
    def scores(self) -> "Scores":
        """Its scores by metric; see `Scores`."""
        return Scores(self)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the diagnosis says, by the metrics of the settings. Raises as `Scores`, but for what is undefined."""
        __tracebackhide__ = True
        return self.known(self._suite.metrics.default)[1]

    @property
    def record(self) -> Record:
        """Everything that was found out, with the metrics of the settings at least. Raises as `findings`."""
        __tracebackhide__ = True
        return self.known(self._suite.metrics.default)[0]

    def outcome(self, name: str) -> tuple[Metric, Outcome]:
        """A metric and what it gives; NotJudged where the judge failed."""
        __tracebackhide__ = True
        metric = self._suite.metrics.named(name)
        outcome = self.known([metric.name])[0].outcomes.get(metric.name)
        if outcome is None or (isinstance(outcome, Undefined) and outcome.failed):
            raise NotJudged(f"{metric.name} of case {one_line(self.id, 80)!r}: {_why(outcome)}")
        return metric, outcome

    def undecided(self, metric: Metric, outcome: Undefined) -> Exception:
        """What to raise where a score is undefined.

        That a whole file has no such score is no accident of one case, so its tests fail.
        """
        if self._never_defined(metric.name):
            return AssertionError(f"{metric.name} is undefined on all cases of {self.cases.name}: {_why(outcome)}")
        return Undecided(f"{metric.name} is undefined: {_why(outcome)}")

    def known(self, names: Collection[str]) -> tuple[Record, tuple[Finding, ...]]:
        """The record with these metrics, and its findings."""
        __tracebackhide__ = True
        return self._batch.record(self.id, names)

    def computed(self) -> Collection[str]:
        """The names of the metrics that are computed anyway."""
        return [m.name for m in self._batch.config().metrics]

    def _never_defined(self, name: str) -> bool:
        return self._batch.never_defined(name)

    @property
    def _batch(self) -> Batch:
        return self._suite.batch(self.cases)

    @property
    def _suite(self) -> Suite:
        return current()


class CaseMadeInTest(JudgedCase):
    """A case that a test made: judged by itself, at once, and remembered."""

    def __init__(self, case: Case) -> None:
        super().__init__(CaseList(("made",), MADE_IN_TESTS, (case,), (case.id,)), 0)
        self._names: frozenset[str] = frozenset()
        self._record: Record | None = None

    def known(self, names: Collection[str]) -> tuple[Record, tuple[Finding, ...]]:
        """The record with these metrics, and its findings; judged again if it lacks one."""
        __tracebackhide__ = True
        suite = self._suite
        wanted = self._names | {suite.metrics.named(name).name for name in names}
        if self._record is None or wanted != self._names:
            self._names = wanted or frozenset(suite.metrics.default)
            self._record = suite.judge(self.case, self._names)
        config = suite.metrics.config(self._names)
        return self._record, suite.results.looked_at(MADE_IN_TESTS, self._record, config)

    def computed(self) -> Collection[str]:
        """The names of the metrics that were asked for."""
        return self._names

    def _never_defined(self, name: str) -> bool:  # noqa: ARG002  # one case is no file
        return False


class Scores(Mapping[str, float]):
    """A case's scores by metric. A score that isn't computed yet is judged when it is asked for.

    An undefined score raises `Undecided`, so that it never compares; a judge's failure raises `NotJudged`. Iterating
    gives the names of those that are computed and defined.
    """

    def __init__(self, case: JudgedCase) -> None:
        self._case = case

    def __getitem__(self, name: str) -> float:
        __tracebackhide__ = True
        metric, outcome = self._case.outcome(name)
        if isinstance(outcome, Score):
            return outcome.value
        raise self._case.undecided(metric, outcome)

    def __contains__(self, name: object) -> bool:
        return name in self._defined()

    def __iter__(self) -> Iterator[str]:
        return iter(self._defined())

    def __len__(self) -> int:
        return len(self._defined())

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{name}: {value:.2f}" for name, value in self._defined().items()) + "}"

    def _defined(self) -> dict[str, float]:
        outcomes = self._case.known(self._case.computed())[0].outcomes
        return {name: outcome.value for name, outcome in outcomes.items() if isinstance(outcome, Score)}


def _why(outcome: Outcome | None) -> str:
    return one_line(outcome.reason if isinstance(outcome, Undefined) else "it wasn't judged", LONGEST_REASON)


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
    limit = current().metrics.thresholds[GROUNDED] if threshold is None else threshold
    assert_score(case, sure_only=sure_only, **{GROUNDED: limit})


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
