"""A metric's definition survives being stored, and tells when the metric has changed."""

import json
from pathlib import Path

import pytest

from ragtriage import METRICS, Metric, Undefined, metrics_named
from ragtriage.core.steps import Decompose, Match
from ragtriage.diagnosis.rules import RULES, needs_of
from ragtriage.metrics.custom_metrics import definition_of, metric_by_name_alone, metric_from, needs_in, version_of
from ragtriage.metrics.thelma import groundedness

FILE = '''
from ragtriage import Decompose, Match, metric, share

POLITE = Match(Decompose("response", "whole"), "holds", "criterion", criterion="It is polite.")


@metric(title="Polite", better="lower", range=(-1, 1), fault="rude", polite=POLITE)
def politeness(polite):
    """Whether it is polite."""
    return share(polite.components, polite.best())
'''


@pytest.mark.parametrize("m", METRICS, ids=lambda m: m.name)
def test_a_definition_comes_back_as_it_was(m: Metric) -> None:
    stored = json.loads(json.dumps(definition_of(m)))
    back = metric_from(stored)

    assert (back.name, back.title, back.better, back.range) == (m.name, m.title, m.better, m.range)
    assert (back.fault, back.kinds, back.about, back.origin) == (m.fault, m.kinds, m.about, m.origin)
    assert back.needs == needs_in(stored) == m.needs


@pytest.mark.parametrize("step", needs_of(RULES), ids=str)
def test_steps_with_conditions_come_back_too(step: Match) -> None:
    one = Metric("x", "X", {"step": step}, groundedness.compute)

    assert needs_in(json.loads(json.dumps(definition_of(one)))) == {"step": step}


def test_a_metric_that_was_read_back_does_not_compute() -> None:
    back = metric_from(definition_of(groundedness))

    assert isinstance(back.compute(support=None), Undefined)


def test_a_metric_of_which_only_the_name_is_known_shows_its_name() -> None:
    found = metric_by_name_alone("forgotten")

    assert (found.name, found.title, found.better, found.range) == ("forgotten", "forgotten", "higher", (0.0, 1.0))
    assert found({}) == Undefined("forgotten isn't loaded here: evaluate with --metrics to compute it")


def loaded(path: Path, text: str) -> Metric:
    path.write_text(text, encoding="utf-8")
    return metrics_named([f"{path}:politeness"])[0]


def test_the_version_is_that_of_the_file(tmp_path: Path) -> None:
    first = loaded(tmp_path / "a.py", FILE)
    here = version_of(first)
    moved = version_of(loaded(tmp_path / "b.py", FILE))
    changed = version_of(loaded(tmp_path / "a.py", FILE.replace("best()", "best()[:1]")))
    criterion = version_of(loaded(tmp_path / "a.py", FILE.replace("It is polite.", "It is rude.")))

    assert moved == here
    assert len({here, changed, criterion}) == 3


def test_a_metric_without_a_file_has_a_version_too() -> None:
    names: dict = {"Decompose": Decompose}
    versions = set()
    for body in ("return 1", "return 2", "return 1"):
        exec(compile(f"def f(x):\n    {body}", "<notebook>", "exec"), names)  # as a notebook does it
        versions.add(version_of(Metric("f", "F", {"x": Decompose("response", "claims")}, names["f"])))

    assert len(versions) == 2
