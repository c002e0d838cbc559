"""ragtriage: how good a RAG application's answers are, and which component to repair.

Importing this does nothing else: no environment, no network, no model, no optional package. The public names are loaded
when they are first used, so that importing stays instant.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragtriage.adapters.run_view import open_run
    from ragtriage.core.case import Case, Record, Source, Turn
    from ragtriage.core.errors import (
        ApplicationError,
        ConfigError,
        InputError,
        JudgeError,
        MissingExtraError,
        NotStoredError,
        RagtriageError,
        Stopped,
        StoreError,
    )
    from ragtriage.core.metric import Metric, metric
    from ragtriage.core.steps import Decompose, Match, OnlyWhere, only_where_not
    from ragtriage.core.verdicts import Component, Failure, Outcome, Part, Score, Undefined, Verdict, Verdicts, highest
    from ragtriage.diagnosis.findings import Evidence, Finding, diagnose
    from ragtriage.diagnosis.headline import Headline, headline
    from ragtriage.diagnosis.rules import RULES, Rule, needs_of, thresholds_with
    from ragtriage.evaluation.engine import evaluate, evaluate_sync
    from ragtriage.judges.build import judge_named
    from ragtriage.judges.embedded import EmbeddedJudge
    from ragtriage.judges.fake import FakeJudge
    from ragtriage.judges.llm.options import LLMOptions, Price
    from ragtriage.metrics import METRICS, metrics_named
    from ragtriage.metrics.aggregate import share, share_of_faults
    from ragtriage.planning.levels import Plan, plan
    from ragtriage.readers import open_cases
    from ragtriage.runs.summary import Summary, Tally
    from ragtriage.store import open_store

_HOMES = {
    "adapters.run_view": "open_run",
    "core.case": "Case Record Source Turn",
    "diagnosis.findings": "Evidence Finding diagnose",
    "diagnosis.headline": "Headline headline",
    "core.errors": "ApplicationError ConfigError InputError JudgeError MissingExtraError "
    "NotStoredError RagtriageError Stopped StoreError",
    "evaluation.engine": "evaluate evaluate_sync",
    "judges.build": "judge_named",
    "judges.embedded": "EmbeddedJudge",
    "judges.fake": "FakeJudge",
    "judges.llm.options": "LLMOptions Price",
    "core.metric": "Metric metric",
    "metrics": "METRICS metrics_named",
    "metrics.aggregate": "share share_of_faults",
    "planning.levels": "Plan plan",
    "readers": "open_cases",
    "core.steps": "Decompose Match OnlyWhere only_where_not",
    "store": "open_store",
    "runs.summary": "Summary Tally",
    "diagnosis.rules": "RULES Rule needs_of thresholds_with",
    "core.verdicts": "Component Failure Outcome Part Score Undefined Verdict Verdicts highest",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

__version__ = "0.2.0"
__all__ = [  # written out, so that type checkers and readers see it; a test compares it with what can be imported
    "METRICS",
    "RULES",
    "ApplicationError",
    "Case",
    "Component",
    "ConfigError",
    "Decompose",
    "EmbeddedJudge",
    "Evidence",
    "Failure",
    "FakeJudge",
    "Finding",
    "Headline",
    "InputError",
    "JudgeError",
    "LLMOptions",
    "Match",
    "Metric",
    "MissingExtraError",
    "NotStoredError",
    "OnlyWhere",
    "Outcome",
    "Part",
    "Plan",
    "Price",
    "RagtriageError",
    "Record",
    "Rule",
    "Score",
    "Source",
    "Stopped",
    "StoreError",
    "Summary",
    "Tally",
    "Turn",
    "Undefined",
    "Verdict",
    "Verdicts",
    "diagnose",
    "evaluate",
    "evaluate_sync",
    "headline",
    "highest",
    "judge_named",
    "metric",
    "metrics_named",
    "needs_of",
    "only_where_not",
    "open_cases",
    "open_run",
    "open_store",
    "plan",
    "share",
    "share_of_faults",
    "thresholds_with",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'ragtriage' has no attribute {name!r}")
    found = getattr(import_module(f"ragtriage.{_HOME_OF[name]}"), name)
    globals()[name] = found
    return found
