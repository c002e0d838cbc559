"""A request to a decision model, and what is read from its answers, change only together with a version."""

from pathlib import Path

import pytest
from record_golden_decisions import GROUPS, recorded, today

from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import KINDS
from ragtriage.judges.decisions.models import DECIDED, OWN, read_words


def test_requests_and_verdicts_are_those_that_were_recorded() -> None:
    assert today() == recorded(), (
        "raise VERSION in ragtriage/judges/decisions/judge.py, so that stored answers are asked again, and run "
        "`python tests/judges/decisions/record_golden_decisions.py`"
    )


def test_every_kind_with_a_verdict_is_asked() -> None:
    asked = {question.kind for group in GROUPS.values() for question in group}

    assert asked == set(DECIDED)
    assert set(DECIDED) < set(KINDS)


def test_words_of_ones_own_stand_in_place_of_the_projects_and_are_in_the_digest(tmp_path: Path) -> None:
    (tmp_path / OWN).write_text('[declines]\ntrue = "It says no."\n', "utf-8")
    own, plain = read_words(tmp_path), read_words()

    assert own.tables["declines"]["true"] == "It says no."
    assert own.tables["declines"]["false"] == plain.tables["declines"]["false"]
    assert own.digest("declines") != plain.digest("declines")
    assert own.digest("supported") == plain.digest("supported")
    assert read_words(guidance="A pass is a ticket.").digest("supported") != plain.digest("supported")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[declined]", "there is no table"),
        ("[declines]\nfalls = 'x'", "holds texts instructions, true, false and nothing else"),
        ("[declines]\ntrue = 1", "holds texts"),
        ("[declines]\ninstructions = 'Is it {this}?'", "braces around something else"),
        ("[declines]\ninstructions = 'Is it {?'", "write a brace of your own twice"),
        ("declines = ", "can't be read"),
    ],
)
def test_words_that_cannot_be_used_are_refused_with_the_file_and_the_table(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / OWN).write_text(text, "utf-8")

    with pytest.raises(ConfigError, match=message) as told:
        read_words(tmp_path)
    assert OWN in str(told.value)
