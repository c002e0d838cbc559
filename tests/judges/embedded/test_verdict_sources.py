"""A table, constant, pattern or model file that verdicts follow from changes only together with a version."""

import inspect
import re

import pytest
from record_golden_verdicts import check_sources
from verdict_sources import (
    TABLES_WITHOUT_VERDICTS,
    canonical,
    changed_sources,
    judging_modules,
    named,
    recorded_sources,
    verdict_sources,
)

from ragtriage.judges.embedded.versions import VERSIONS

WHAT_TO_DO = (
    "{names} changed since the golden verdicts were recorded: raise the version of the kinds that use it in "
    "ragtriage/judges/embedded/versions.py, then run python tests/judges/embedded/record_golden_verdicts.py (with "
    "--same-verdicts instead of a raised version if no question is answered another way)"
)


def test_sources_are_those_under_which_verdicts_were_recorded() -> None:
    changed = changed_sources(recorded_sources(), verdict_sources())

    assert not changed, WHAT_TO_DO.format(names=named(changed))


@pytest.mark.parametrize(
    "name",
    ["words.toml opposites", "words.toml months", "text.claims._FEWEST", "text.sentences._STOP", "encoder.onnx",
     "coefficients.json", "reader.onnx", "judges.embedded.cross_encoder.CUTS", "judges.embedded.featurizer.DECLINED"],
)  # fmt: skip
def test_tables_constants_patterns_and_models_are_sources(name: str) -> None:
    assert name in verdict_sources()


def test_a_source_that_says_something_else_is_changed() -> None:
    recorded = {"a": "1", "b": "2", "c": "3"}

    assert changed_sources(recorded, recorded) == []
    assert changed_sources(recorded, recorded | {"a": "4"}) == ["a"]
    assert changed_sources(recorded, recorded | {"a": "2", "b": "1"}) == ["a", "b"]
    assert changed_sources(recorded, {"a": "1", "b": "2"}) == ["c"]
    assert changed_sources(recorded, recorded | {"d": "3"}) == ["d"]


def test_another_name_changes_nothing() -> None:
    assert changed_sources({"sentences._NEAR": "1000", "b": "2"}, {"lists.NEAR": "1000", "b": "2"}) == []


def test_equal_values_are_equal_text_and_others_are_not() -> None:
    assert canonical(frozenset("abc")) == canonical({"c", "b", "a"})
    assert canonical(re.compile("a", re.IGNORECASE)) != canonical(re.compile("a"))
    assert canonical((0.5, ["x"])) != canonical((0.6, ["x"]))
    assert canonical(("a", "b")) != canonical(("b", "a"))
    assert canonical({"a": len}) == canonical({"a": max})
    with pytest.raises(TypeError, match="add its form"):
        canonical(object())


def test_changed_sources_are_not_recorded_without_a_raised_version() -> None:
    versions = {kind: version.number for kind, version in VERSIONS.items()}
    row = {"kind": "declines", "version": versions["declines"]}

    with pytest.raises(ValueError, match=r"words\.toml stop.*Raise the version"):
        check_sources(["words.toml stop"], [row], versions)
    check_sources(["words.toml stop"], [row], versions | {"declines": versions["declines"] + 1})
    check_sources([], [row], versions)


def test_the_judge_reads_none_of_the_tables_that_are_left_out() -> None:
    names = "|".join(name.removesuffix(".toml").upper() for name in TABLES_WITHOUT_VERDICTS)
    readers = [
        module.__name__
        for module in judging_modules()
        if re.search(rf"import .*\b(?:{names})\b|ragtriage\.text\.citations", inspect.getsource(module))
    ]

    assert readers == []
