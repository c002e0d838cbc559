"""Metrics of one's own are found where they are named; definitions survive being stored and tell what has changed."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from examples import examples
from ragtriage import METRICS, ConfigError, Metric, Undefined, metrics_named
from ragtriage.core.steps import Decompose, Match
from ragtriage.diagnosis.rules import RULES, needs_of
from ragtriage.metrics.custom_metrics import (
    definition_of,
    metric_by_name_alone,
    metric_from,
    names_in,
    needs_in,
    resolved_in,
    version_of,
)
from ragtriage.metrics.thelma import groundedness

GOOD = '''
from ragtriage import Decompose, Match, metric, share

SUPPORTED = Match(Decompose("response", "claims"), "supported", "sources")


@metric(title="One", fault="not one", support=SUPPORTED)
def one(support):
    """The first."""
    return share(support.components, support.best())


@metric(title="Two", name="second", better="lower", support=SUPPORTED)
def two(support):
    """The second."""
    return share(support.components, support.best(), good="no")


def three(support):
    """No metric."""
'''

Writing = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Writing:
    """Writes a file into the present folder."""
    monkeypatch.chdir(tmp_path)

    def written(text: str, name: str = "mine.py") -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text, encoding="utf-8")
        return path

    return written


def names(*given: str) -> list[str]:
    return [m.name for m in metrics_named(given)]


def refused(*given: str) -> str:
    with pytest.raises(ConfigError) as caught:
        metrics_named(given)
    return str(caught.value)


def test_a_file_is_named_with_the_metric_in_it_and_mixed_with_names_groups_and_exclusions(write: Writing) -> None:
    write(GOOD)
    (found,) = metrics_named(["mine.py:one"])
    assert (found.name, found.title, found.fault, found.about) == ("one", "One", "not one", "The first.")
    assert found.origin == "mine.py:one"

    write(GOOD)
    assert names("mine.py:one", "groundedness", "mine.py:second") == ["groundedness", "one", "second"]
    assert names("thelma", "-groundedness", "mine.py:one")[-2:] == ["self_distinctness", "one"]
    assert names("groundedness", "mine.py:one", "mine.py:one") == ["groundedness", "one"]
    assert names("groundedness", "mine.py:one", "-one") == ["groundedness"]
    assert names("groundedness", "mine.py:one", "-mine.py:one") == ["groundedness"]


def test_what_lies_beside_is_found_and_hides_nothing_and_what_is_taken_out_is_not_run(write: Writing) -> None:
    write("raise SystemExit('it was run')")
    assert names("groundedness", "-mine.py:one") == ["groundedness"]

    write(GOOD, "own_package_a/metrics.py")
    assert names("own_package_a.metrics:one") == ["one"]
    assert str(Path.cwd()) not in sys.path

    write("WORD = 'beside'", "folder/helper_beside.py")
    write("raise ImportError('this hides the installed one')", "folder/json.py")
    write("import json\nfrom helper_beside import WORD\n" + GOOD.replace('"One"', "WORD"), "folder/mine.py")
    assert metrics_named(["folder/mine.py:one"])[0].title == "beside"


def test_the_same_file_is_run_once_and_a_changed_one_again(write: Writing) -> None:
    path = write(GOOD)
    first, again = (metrics_named(["mine.py:one"])[0] for _ in range(2))
    write(GOOD.replace("not one", "changed"))
    (changed,) = metrics_named([f"{path}:one"])

    assert first.compute is again.compute
    assert changed.fault == "changed"


@pytest.mark.parametrize("row", examples("custom_metrics"))
def test_what_is_wrong_is_said_with_its_place(write: Writing, row: dict[str, str]) -> None:
    write(row.get("file", GOOD.replace(row.get("instead of", ""), row.get("stands", ""))))

    assert row["says"] in refused(row["named"])


def test_a_module_that_raises_and_two_metrics_of_one_name_are_told(write: Writing) -> None:
    write("import json\n\nraise ValueError('odd')", "own_module_b.py")
    assert "own_module_b:one can't be loaded: own_module_b.py, line 3: ValueError: odd" in refused("own_module_b:one")

    write(GOOD)
    write(GOOD.replace("not one", "other"), "other.py")
    assert "mine.py:one and other.py:one: two metrics have one name" in refused("mine.py:one", "other.py:one")


def test_names_and_places_are_known_without_loading() -> None:
    assert names_in(["thelma", "-fact_precision", "nowhere.py:a", "package.module:b"]) == {"a", "b"}

    for given, meant in {
        "mine.py:one": "/settings/mine.py:one",
        "-mine.py:one": "-/settings/mine.py:one",
        "/else/mine.py:one": "/else/mine.py:one",
        "package.module:one": "package.module:one",
        "groundedness": "groundedness",
    }.items():
        assert resolved_in(given, Path("/settings")) == meant


# -- definitions

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


def test_a_metric_that_is_not_loaded_shows_its_name_and_does_not_compute() -> None:
    back = metric_from(definition_of(groundedness))
    assert isinstance(back.compute(support=None), Undefined)

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
