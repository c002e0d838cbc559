"""Phrasings and query templates by a language model: what it writes is verified, and paid for once."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from ferry_schema import SCHEMA, TEMPLATES, template

from ragtriage.core.errors import ConfigError
from ragtriage.judges.budget import Ledger
from ragtriage.judges.build import build_writer
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.llm.channel import Channel
from ragtriage.judges.llm.options import LLMOptions, Prompt, Reply, RequestRejected
from ragtriage.judges.llm.text_writer import Writer
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers.cached import InMemory
from ragtriage.testset.generation.llm_writing import phrase_by_model, write_templates
from ragtriage.testset.generation.phrasing.criteria import criteria_named

SHIP = template("ship.length", "ship.name")
GOOD = {
    "short": "How long is [ship.name]?",
    "question": "What is the length of the ship [ship.name]?",
    "directive": "Give me the length of [ship.name].",
    "as a pirate would ask": "Arr, what be the length of [ship.name]?",
}
Says = Callable[[str, int], list[str]]
"""What a criterion is like, and how often it was asked for → texts."""


class Pen:
    """A transport that writes texts to every criterion of a prompt, and remembers the prompts."""

    def __init__(self, says: Says) -> None:
        self.prompts: list[Prompt] = []
        self._says = says

    async def send(self, prompt: Prompt) -> Reply:
        """See `Send`."""
        self.prompts.append(prompt)
        members = prompt.schema["required"]
        asked = dict(re.findall(r"^(c\d+): (.*)$", prompt.user, re.MULTILINE))
        texts = {one: self._says(asked.get(one, prompt.user), len(self.prompts)) for one in members}
        return Reply(json.dumps(texts), tokens_in=prompt.tokens, tokens_out=20, price=0.01)


def writer_of(pen: object, memory: InMemory | None = None, **limits: int) -> Writer:
    ledger = Ledger(**limits)
    ask = partial(Channel(LLMOptions(), ledger).ask, pen.send)  # type: ignore[arg-type]
    return Writer("fake:model", ask, memory or InMemory())


def known(says: str, times: int) -> list[str]:  # the pen gives both
    """The good text of a criterion, found by what it is like."""
    by_says = {one.says: GOOD[one.name] for one in criteria_named(["short", "question", "directive"])}
    return [by_says.get(says.strip('"'), GOOD["as a pirate would ask"])]


def test_what_a_model_writes_is_kept_under_its_name() -> None:
    pen = Pen(known)
    wanted = criteria_named(["short", "directive"], ["as a pirate would ask"])
    found = phrase_by_model(writer_of(pen), SCHEMA, [SHIP], wanted)

    assert [(one.criterion, one.text, one.made_by) for one in found.texts] == [
        (name, GOOD[name], "fake:model") for name in ("short", "directive", "as a pirate would ask")
    ]
    assert len(pen.prompts) == 1
    assert (found.refused, found.without, found.stopped, found.failed) == ((), (), "", 0)


def test_the_model_is_told_the_sql_the_words_and_the_placeholders_and_no_value() -> None:
    pen = Pen(known)
    phrase_by_model(writer_of(pen), SCHEMA, [SHIP], criteria_named(["short"]), values={"ship.name": ["Sea Cloud"]})

    asked = pen.prompts[0].user
    assert json.dumps(SHIP.sql) in asked
    assert '"[ship.name]"' in asked
    assert '"ship.num_of_cabin": "num of cabin"' in asked
    assert '"How long is the ship [ship.name]?"' in asked
    assert "Sea Cloud" not in asked + pen.prompts[0].system


def test_sql_without_a_shape_can_be_phrased_too() -> None:
    found = phrase_by_model(writer_of(Pen(known)), SCHEMA, [replace(SHIP, shape=None)], criteria_named(["short"]))
    assert [one.text for one in found.texts] == [GOOD["short"]]


def test_what_is_refused_is_told_to_the_model_once_and_shown() -> None:
    def better(says: str, times: int) -> list[str]:
        return ["How long is it?"] if times == 1 else known(says, times)

    pen = Pen(better)
    found = phrase_by_model(writer_of(pen), SCHEMA, [SHIP], criteria_named(["short"]))
    assert [one.text for one in found.texts] == [GOOD["short"]]
    assert [(one.text, one.reason) for one in found.refused] == [
        ("How long is it?", "the placeholder [ship.name] is missing")
    ]
    assert 'c1: "How long is it?": the placeholder [ship.name] is missing' in pen.prompts[1].user

    bad = Pen(lambda says, times: ["How long is it?"])
    never = phrase_by_model(writer_of(bad), SCHEMA, [SHIP], criteria_named(["short"]))
    assert len(bad.prompts) == 2
    assert [one.reason for one in never.without] == ["the model wrote 0 of 1 that can be used"]


def test_typing_mistakes_are_made_by_rule_in_what_the_model_wrote() -> None:
    pen = Pen(known)
    found = phrase_by_model(writer_of(pen), SCHEMA, [SHIP], criteria_named(["typos"]), per_criterion=1)
    (one,) = found.texts
    assert (one.criterion, one.made_by) == ("typos", "fake:model")
    assert one.text != GOOD["question"]
    assert 1 <= one.measures["edits"] <= 8
    assert "typing" not in pen.prompts[0].user
    assert found == phrase_by_model(writer_of(Pen(known)), SCHEMA, [SHIP], criteria_named(["typos"]))


def test_nothing_is_paid_twice() -> None:
    memory = InMemory()
    first, second = Pen(known), Pen(known)
    wanted = criteria_named(["short", "directive"])
    once = phrase_by_model(writer_of(first, memory), SCHEMA, [SHIP], wanted)
    assert phrase_by_model(writer_of(second, memory), SCHEMA, [SHIP], wanted) == once
    assert (len(first.prompts), len(second.prompts)) == (1, 0)


def test_a_stop_keeps_what_there_is_and_the_same_call_goes_on() -> None:
    memory, wanted = InMemory(), criteria_named(["short"])
    ships = [one for one in TEMPLATES if one.placeholders == ("ship.name",)][:4]
    pen = Pen(lambda says, times: ["What is it about [ship.name]?"])
    stopped = phrase_by_model(writer_of(pen, memory, max_requests=2), SCHEMA, ships, wanted)
    assert len(stopped.texts) == 2
    assert "--max-requests" in stopped.stopped
    assert [one.reason for one in stopped.without] == [stopped.stopped] * 2

    on = phrase_by_model(writer_of(pen, memory), SCHEMA, ships, wanted)
    assert len(on.texts) == 4
    assert len(pen.prompts) == 4


def test_a_request_that_fails_costs_its_own_template_only() -> None:
    class Torn(Pen):
        async def send(self, prompt: Prompt) -> Reply:
            if json.dumps(SHIP.sql) in prompt.user:
                raise RequestRejected("the provider's content filter stopped the reply", alone=True)
            return await super().send(prompt)

    ships = [one for one in TEMPLATES if one.placeholders == ("ship.name",)][:3]
    assert SHIP in ships
    found = phrase_by_model(
        writer_of(Torn(lambda says, times: ["What is it about [ship.name]?"])), SCHEMA, ships, criteria_named(["short"])
    )
    assert (len(found.texts), found.failed) == (2, 1)
    assert {one.reason for one in found.without} == {"the provider's content filter stopped the reply"}


def test_only_one_language_model_can_write() -> None:
    with pytest.raises(ConfigError, match="one language model writes"):
        build_writer(JudgeSession.of(JudgeConfig(("embedded",))))


def test_guidance_stands_behind_the_head_and_is_part_of_what_was_asked() -> None:
    memory, wanted = InMemory(), criteria_named(["short"])
    first, second = Pen(known), Pen(known)
    phrase_by_model(writer_of(first, memory), SCHEMA, [SHIP], wanted)
    ask = partial(Channel(LLMOptions(), Ledger()).ask, second.send)
    phrase_by_model(Writer("fake:model", ask, memory, guidance="\n\nWe say vessel."), SCHEMA, [SHIP], wanted)
    assert second.prompts[0].system == first.prompts[0].system + "\n\nWe say vessel."


SQL = {
    "good": "SELECT length FROM ship WHERE name = '[ship.name]'",
    "again": "select s.length from ship s where s.name = '[ship.name]'",
    "table": "SELECT length FROM boat WHERE name = '[boat.name]'",
    "star": "SELECT * FROM ship WHERE name = '[ship.name]'",
    "no placeholder": "SELECT length FROM ship WHERE name = 'Sea Cloud'",
    "writes": "DELETE FROM ship WHERE name = '[ship.name]'",
}


def test_templates_that_a_model_writes_are_held_against_the_schema() -> None:
    pen = Pen(lambda asked, times: list(SQL.values()) if 'column of "ship"' in asked else [])
    found = write_templates(writer_of(pen), SCHEMA, ["prefer  lengths"], per_table=7)

    assert [one.made_by for one in found.templates] == ["fake:model"]
    assert found.templates[0].id == SHIP.id
    assert found.templates[0].shape == SHIP.shape
    assert found.duplicates == 1
    assert [one.sql for one in found.refused] == [SQL[n] for n in ("table", "star", "no placeholder", "writes")]
    assert all(one.reason for one in found.refused)
    asked = next(prompt.user for prompt in pen.prompts if 'column of "ship"' in prompt.user)
    assert '- "prefer lengths"' in asked
    assert "up to 7 templates" in asked
    assert len(pen.prompts) == sum(any(not c.surrogate for c in table.columns) for table in SCHEMA.tables)


def test_templates_are_paid_once_and_a_stop_is_told() -> None:
    memory = InMemory()
    pen = Pen(lambda asked, times: [SQL["good"]])
    stopped = write_templates(writer_of(pen, memory, max_requests=2), SCHEMA)
    assert "--max-requests" in stopped.stopped
    whole = write_templates(writer_of(pen, memory), SCHEMA)
    assert not whole.stopped
    assert len(pen.prompts) == sum(any(not c.surrogate for c in table.columns) for table in SCHEMA.tables)


def test_wrong_wishes_for_templates_are_told_before_anything_is_asked() -> None:
    pen = Pen(known)
    with pytest.raises(ConfigError, match="--per-table 0"):
        write_templates(writer_of(pen), SCHEMA, per_table=0)
    with pytest.raises(ConfigError, match="--require is empty"):
        write_templates(writer_of(pen), SCHEMA, [" "])
    assert not pen.prompts
