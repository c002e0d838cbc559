"""A step that nobody could answer as it is meant is refused where it is made, with what is possible instead."""

from typing import Any, get_args

import pytest

from ragtriage import ConfigError, Decompose, Match
from ragtriage.core.steps import TARGETS_OF, UNITS_OF, Field, Relation, Target, Unit

CLAIMS = Decompose("response", "claims")


@pytest.mark.parametrize(
    ("of", "into", "told"),
    [
        ("samples", "claims", "'samples' can be broken into 'samples'$"),
        ("sources", "segments", "'sources' can be broken into 'sources', 'facts', 'sentences', 'needed_sentences'$"),
        ("response", "ids", "'response' can be broken into 'claims'"),
        ("answer", "claims", "there is no such field; there are 'query', 'sources', 'response'"),
    ],
)
def test_a_text_is_only_broken_into_what_it_can_be(of: Any, into: Any, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Decompose(of, into)


@pytest.mark.parametrize(
    ("components", "relation", "against", "told"),
    [
        (CLAIMS, "essential", "reference", "'essential' can be asked against 'query'$"),
        (Decompose("response", "whole"), "same_answer", "query", "can be asked against 'response', 'reference'$"),
        (CLAIMS, "retrieved", "each source", "'retrieved' is asked of ids.relevant ids., not of claims.response."),
        (
            CLAIMS,
            "same_answer",
            "reference",
            "asked of whole.response., whole.reference., samples.samples., not of claims",
        ),
        (CLAIMS, "supported", "cited sources", "'cited sources' is asked of segments.response., not of claims"),
        (CLAIMS, "answered", "sources", "'answered' is asked of questions.query."),
        (Decompose("query", "whole"), "declines", "query", "'declines' is asked of whole.response."),
        (Decompose("response", "segments"), "supported", "true segments", "a condition has to say which"),
        (CLAIMS, "supported", "other components", "'supported' can be asked against 'sources', 'each source'"),
        (Decompose("relevant ids", "ids"), "relevant", "query", "of ids only 'retrieved' can be asked"),
        (CLAIMS, "true", "sources", "there is no such relation; there are 'essential', 'relevant'"),
    ],
)
def test_a_relation_is_only_asked_of_and_against_what_it_reads(
    components: Decompose, relation: Any, against: Any, told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        Match(components, relation, against)


def test_the_tables_know_every_word() -> None:
    assert set(UNITS_OF) == set(get_args(Field))
    assert {unit for units in UNITS_OF.values() for unit in units} == set(get_args(Unit))
    assert set(TARGETS_OF) == set(get_args(Relation))
    assert {target for targets in TARGETS_OF.values() for target in targets} == set(get_args(Target))
