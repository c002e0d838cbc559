"""What an evaluation computes and by what it is read, as it is stored with a run."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, Self

from ragtriage.core.case import Record
from ragtriage.core.metric import Metric
from ragtriage.core.steps import Match, Step
from ragtriage.core.validation import as_builtins
from ragtriage.diagnosis.findings import Assessment, Finding, assess
from ragtriage.diagnosis.headline import Headline, headline
from ragtriage.diagnosis.rules import COSTS, RULES, Costs, Rule, needs_of
from ragtriage.metrics import metric_named
from ragtriage.metrics.custom_metrics import definition_of, metric_by_name_alone, metric_from
from ragtriage.planning.levels import plan
from ragtriage.runs.case_row import CaseHeading
from ragtriage.runs.run import RunInfo
from ragtriage.runs.selection import RowSelection

COUNTING = "counting"
"""Under which a run's stored configuration says how the verdicts count, where that was set."""
EMBEDDINGS = "embeddings"
"""Under which a run's stored configuration says which provider's model measured repetition, where one did."""
ARITHMETIC = "arithmetic"
"""Under which a run's stored configuration says by how many kinds of processor arithmetic its cases were judged, where
it is more than one."""
WARNINGS = "warnings"
"""Under which a run's stored configuration has what the judge's replies show that a reader should know."""
ANSWERING = "answering"
"""Under which a run's stored configuration has the models that the replies of each judge's model name."""
CORRECTIONS = "corrections"
"""Under which a run's stored configuration has the means that were corrected by labels."""


@dataclass(frozen=True, slots=True)
class EvaluationConfig:
    """Metrics, and the thresholds and rules by which their scores become findings."""

    metrics: tuple[Metric, ...]
    thresholds: Mapping[str, float]
    """Metric name → where a score is just good enough. Thresholds and rules can be changed after a run, for free."""
    rules: Sequence[Rule] = RULES
    costs: Costs = COSTS
    """From which probability on a fault is shown."""
    application_price: float | None = None
    """What the application's model takes for a million prompt tokens, in US dollars; None if that isn't known."""

    @property
    def diagnosis_steps(self) -> tuple[Step, ...]:
        """The steps that the rules need beside those of the metrics."""
        names = {m.name for m in self.metrics}
        return needs_of(rule for rule in self.rules if names >= set(rule.when))

    def counts_like(self, other: Self) -> bool:
        """Whether the same records give the same numbers and findings."""
        return self.digest() == other.digest()

    def digest(self, *also: object) -> str:
        """Of all that numbers and findings of the same records depend on, and what else is given; 32 digits."""
        rules = [as_builtins(asdict(rule)) for rule in self.rules]
        names = [m.name for m in self.metrics]
        whole = [*also, version("ragtriage"), dict(self.thresholds), rules, asdict(self.costs), names]
        return hashlib.blake2b(json.dumps(whole, default=str, sort_keys=True).encode(), digest_size=16).hexdigest()

    @property
    def measures_repetition(self) -> bool:
        """Whether texts are compared by their embeddings."""
        steps = plan(self.metrics, self.diagnosis_steps).steps
        return any(isinstance(step, Match) and step.relation == "similar" for step in steps)

    def embeddings_of(self, model: str) -> str:
        """The provider's model that measures repetition, of a judge that has this one; empty where none does."""
        return model if self.measures_repetition else ""

    def diagnose(self, record: Record) -> tuple[Finding, ...]:
        """The findings on one case."""
        return self.assess(record).findings

    def assess(self, record: Record) -> Assessment:
        """The findings on one case, and how likely every rule is to hold."""
        return assess(record, self.thresholds, self.rules, self.metrics, self.costs)

    def headline(self, record: Record, findings: Sequence[Finding]) -> Headline:
        """How one case is headed."""
        return headline(record, findings, self.thresholds, self.rules, self.metrics)

    def heading(self, record: Record, assessed: Assessment) -> CaseHeading:
        """What is stored beside a case, so that lists of cases needn't read it."""
        head = self.headline(record, assessed.findings)
        rules = tuple(finding.rule for finding in assessed.findings)
        return CaseHeading(head.kind, head.component, rules, head.sure)


def to_stored(config: EvaluationConfig, selection: RowSelection, mapping: Mapping[str, str]) -> dict[str, Any]:
    """What is stored with a run so that it can be shown as it was judged."""
    return {
        "thresholds": dict(config.thresholds),
        "rules": [asdict(rule) for rule in config.rules if rule.origin == "yours"],
        **({"costs": asdict(config.costs)} if config.costs != COSTS else {}),
        **({} if config.application_price is None else {"application_price": config.application_price}),
        "metrics": [definition_of(m) for m in config.metrics if not metric_named(m.name)],
        "selection": asdict(selection),
        "mapping": dict(mapping),
    }


def answering_before(runs: Iterable[RunInfo]) -> dict[str, str]:
    """A judge's model → the model that its replies named last, of runs with the newest first."""
    found: dict[str, str] = {}
    for info in runs:
        found = {**info.configuration.get(ANSWERING, {}), **found}
    return found


def config_of(info: RunInfo, thresholds: Mapping[str, float] | None = None) -> EvaluationConfig:
    """The configuration that a stored run was judged by.

    Custom metrics are shown as they were defined then; their files aren't loaded.
    """
    stored = info.configuration
    custom = {definition["name"]: metric_from(definition) for definition in stored.get("metrics", ())}
    metrics = tuple(metric_named(name) or custom.get(name) or metric_by_name_alone(name) for name in info.metrics)
    rules = tuple(Rule(**rule) for rule in stored.get("rules", ()))
    costs = Costs(**stored.get("costs", {}))
    price = stored.get("application_price")
    return EvaluationConfig(
        metrics, {**stored.get("thresholds", {}), **(thresholds or {})}, RULES + rules, costs, price
    )
