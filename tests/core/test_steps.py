"""A step that nobody could answer as it is meant is refused where it is made, with what is possible instead."""

from typing import Any, get_args

import pytest

from examples import examples
from ragtriage import ConfigError, Decompose, Match
from ragtriage.core.steps import TARGETS_OF, UNITS_OF, Field, Relation, Target, Unit


@pytest.mark.parametrize("row", examples("steps", "decompose"))
def test_a_text_is_only_broken_into_what_it_can_be(row: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=row["told"]):
        Decompose(row["of"], row["into"])


@pytest.mark.parametrize("row", examples("steps", "match"))
def test_a_relation_is_only_asked_of_and_against_what_it_reads(row: dict[str, Any]) -> None:
    components = Decompose(row["of"], row["into"])
    with pytest.raises(ConfigError, match=row["told"]):
        Match(components, row["relation"], row["against"])


def test_the_tables_know_every_word() -> None:
    assert set(UNITS_OF) == set(get_args(Field))
    assert {unit for units in UNITS_OF.values() for unit in units} == set(get_args(Unit))
    assert set(TARGETS_OF) == set(get_args(Relation))
    assert {target for targets in TARGETS_OF.values() for target in targets} == set(get_args(Target))
