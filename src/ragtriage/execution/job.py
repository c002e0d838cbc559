"""What a process that works on parts is told, and what it answers: values that travel."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from ragtriage.core.metric import Metric
from ragtriage.diagnosis.rules import COSTS, RULES, Costs, Rule
from ragtriage.judges.judge_config import JudgeConfig, hub_model_of
from ragtriage.judges.protocol import Judge
from ragtriage.metrics import metrics_named
from ragtriage.metrics.custom_metrics import name_in
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.manifest import CommittedPart, InputFile, Manifest, PartPlan

PYTHON = "python"
NewJudge = Callable[[], Judge]
"""Makes a judge; a function that every process can import."""
CHECKED = ("ragtriage", "onnxruntime", "numpy", "py3langid")
"""The packages that must have the same version everywhere, whoever judges: records depend on them."""
OF_MODELS = ("pydantic-ai-slim",)
OF_READERS = ("tokenizers", "torch", "transformers")
"""Those that must too where language models, or hub models, judge."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is the same for all parts of a run; every process gets it once."""

    folder: str
    """The address of the folder that the run lies in."""
    manifest: Manifest
    judge: JudgeConfig | NewJudge
    metrics: tuple[str, ...]
    """Names by which every process can load them."""
    thresholds: Mapping[str, float]
    rules: Sequence[Rule] = RULES
    costs: Costs = COSTS

    def config(self) -> EvaluationConfig:
        """The metrics, loaded, and the criteria."""
        return EvaluationConfig(metrics_named(self.metrics), self.thresholds, self.rules, self.costs)


@dataclass(frozen=True, slots=True)
class Task:
    """One part to be worked on."""

    plan: PartPlan
    file: InputFile
    attempt: str
    """In the name of the file that is written, so that no two attempts write the same."""


Ending = Literal["done", "failed", "changed", "stopped", "judge", "versions"]
"""How work on a part ended: only `done` may be committed, also if the judge stopped in the middle, which is told then;
its input `changed` meanwhile; the judge `stopped` before any case was done, or can't work at all (`judge`); this
process has other `versions`."""


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What became of a task."""

    ending: Ending
    told: str = ""
    """Why, if it isn't done, or not all of it."""
    part: CommittedPart | None = None
    """What is to be committed, if it is done."""
    warnings: tuple[str, ...] = ()
    """What the process has to say of its judge so far."""


def loadable_name(metric: Metric) -> str:
    """A name by which another process finds the metric, whatever folder it works in."""
    place = metric.origin
    if not place or not place.partition(":")[0].endswith(".py"):
        return place or metric.name
    path = place[: -len(name_in(place)) - 1]
    return f"{Path(path).resolve()}:{name_in(place)}"


def checked_versions(judge: JudgeConfig | None = None) -> dict[str, str]:
    """The versions of this process's packages that must be the same everywhere, and of Python."""
    packages = list(CHECKED)
    if judge and judge.paid:
        packages += OF_MODELS
    if judge and any(hub_model_of(name) for name in (*judge.local, judge.first)):
        packages += OF_READERS
    return versions_of([PYTHON, *packages])


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    """The versions of this process's packages, as far as they are installed; PYTHON is Python's, without its patch."""
    found = {}
    for package in packages:
        try:
            found[package] = f"{sys.version_info[0]}.{sys.version_info[1]}" if package == PYTHON else version(package)
        except PackageNotFoundError:
            continue
    return found
