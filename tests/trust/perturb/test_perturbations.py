"""Worse versions of cases, made by rules: what is changed, and what had better be left alone."""

import math
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from examples import examples
from ragtriage.core.case import Case, Source
from ragtriage.text.sentences import split_sentences
from ragtriage.trust.pair_files import SHORT, LabelledPair, read_pairs
from ragtriage.trust.pair_scoring import OWN_PAIRS
from ragtriage.trust.perturb import PERTURBATIONS, PerturbedPairs, perturb
from ragtriage.trust.perturb.claim_changes import may_be_bound
from ragtriage.trust.wording import content_words, numbers, paraphrased, reworded


def case(name: str, query: str, response: str | None, *sources: str) -> Case:
    return Case(name, query, tuple(Source(text, f"{name}-{i}") for i, text in enumerate(sources)), response)


PIER = case(
    "pier",
    "When did the Wexley pier open, and who designed its lamps?",
    "The Wexley pier opened on 12 May 1901. Its lamps were designed by Ada Finch.",
    "The Wexley pier opened on 12 May 1901, a windy day. Its lamps were designed by Ada Finch. Anglers pay nothing.",
    "A storm took the pavilion. It was never built again.",
)
BREAD = case(
    "bread",
    "How long does rye dough rise, and at which temperature is it baked?",
    "Rye dough rises for 14 hours. It is baked at a temperature of 240 degrees.",
    "Rye dough rises for 14 hours under a cloth. It is baked at a temperature of 240 degrees. Salt slows the yeast.",
)
CHESS = case(
    "chess",
    "How many minutes does a blitz player have?",
    "A blitz player has 5 minutes.",
    "A blitz player has 5 minutes for the whole game. Arbiters sit beside the boards in a quiet hall.",
)
CASES = (PIER, BREAD, CHESS)


def made(cases: Sequence[Case] = CASES, seed: int = 0) -> dict[str, LabelledPair]:
    return {pair.id: pair for pair in perturb(cases, seed).pairs}


def only(one: Case, metric: str, *others: Case) -> PerturbedPairs:
    found = perturb([one, *others], metrics=[metric])
    return replace(found, pairs=tuple(pair for pair in found.pairs if pair.group == one.id))


def reason(one: Case, metric: str, *others: Case) -> str:
    found = only(one, metric, *others)
    assert found.pairs == ()
    (why,) = found.skipped[metric]
    return why


def test_every_metric_gets_a_pair_where_it_is_safe() -> None:
    assert [name for name in made() if name.startswith("pier")] == [f"pier/{short}" for short in SHORT]


def test_an_irrelevant_source_comes_from_another_case_and_shares_no_word_with_the_query() -> None:
    pair = made()["pier/SP1"]

    assert pair.worse.sources[:-1] == PIER.sources
    stranger = pair.worse.sources[-1].text
    assert stranger in {source.text for other in (BREAD, CHESS) for source in other.sources}
    assert not set(content_words(stranger)) & set(content_words(PIER.query))
    assert pair.change is not None
    assert (pair.change.place, pair.change.after) == ("source 3", stranger)


def test_a_stray_fact_is_added_to_the_source_that_serves_the_response() -> None:
    pair = made()["pier/SP2"]

    assert pair.worse.sources[1:] == PIER.sources[1:]
    assert pair.change is not None
    assert pair.worse.sources[0].text == f"{PIER.sources[0].text} {pair.change.after}"
    assert pair.worse.sources[0].id == "pier-0"


def test_with_the_answer_all_sentences_go_that_may_hold_it() -> None:
    pair = made()["pier/SQC"]

    assert [source.text for source in pair.worse.sources] == ["Anglers pay nothing.", PIER.sources[1].text]
    assert pair.worse.response == PIER.response


def test_an_unneeded_sentence_stands_at_the_end_of_the_response() -> None:
    pair = made()["bread/RP"]

    assert pair.change is not None
    assert pair.worse.response == f"{BREAD.response} {pair.change.after}"
    assert pair.worse.sources == BREAD.sources


def test_only_the_sentence_goes_that_alone_answers_a_sub_question() -> None:
    assert made()["pier/RQC"].worse.response == "The Wexley pier opened on 12 May 1901."
    assert made()["bread/RQC"].worse.response == "Rye dough rises for 14 hours."


def test_a_repeat_is_said_in_other_words() -> None:
    pair = made()["pier/SD"]

    assert pair.change is not None
    assert pair.change.after != pair.change.before
    assert pair.change.before in (PIER.response or "")
    assert set(content_words(pair.change.before)) & set(content_words(pair.change.after))


def test_an_altered_number_stands_in_no_source_and_the_rest_stays() -> None:
    pair = made()["bread/GR"]

    before, after = numbers(BREAD.response or ""), numbers(pair.worse.response or "")
    assert len(before - after) == len(after - before) == 1
    assert not (after - before) & numbers(BREAD.sources[0].text)


@pytest.mark.parametrize("row", examples("perturbations", "altered"))
def test_without_a_number_something_else_is_altered(row: dict[str, Any]) -> None:
    kiosk = case("kiosk", "What about it?", row["sentence"], row["source"])
    mill = case("mill", "Who owns the mill?", "The mill belongs to Otto Brandt.", "Otto Brandt bought the mill.")

    found = only(kiosk, "groundedness", mill).pairs

    if row["altered"] is None:
        assert found == ()
    else:
        assert re.fullmatch(row["altered"], found[0].worse.response or "")


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (replace(PIER, response=None), "there is no response"),
        (replace(PIER, response="I'm sorry, the documents don't say when the pier opened."), "declines"),
        (replace(PIER, sources=()), "there are no sources"),
        (
            case("de", "Wann wurde die Brücke geöffnet?", "Die Brücke wurde im Mai geöffnet, und alle waren da.",
                 "Die Brücke wurde im Mai geöffnet, und alle waren da."),
            "isn't in English",
        ),
    ],
)  # fmt: skip
def test_what_rules_dont_understand_is_left_alone_for_every_metric(one: Case, says: str) -> None:
    found = perturb([one, BREAD, CHESS])

    assert not [pair for pair in found.pairs if pair.group == one.id]
    for name in PERTURBATIONS:
        assert any(says in why for why in found.skipped[name])


def test_a_response_beside_the_point_is_no_base_for_pairs_about_the_query() -> None:
    beside = replace(PIER, response="A storm took the pavilion.")

    for metric in ("source_precision", "fact_precision", "source_query_coverage", "response_precision"):
        assert "can't be told by rules that the response answers the query" in reason(beside, metric)


def test_nothing_is_added_from_a_case_about_the_same() -> None:
    again = case("again", "What is the Wexley pier made of?", "The Wexley pier is made of oak.",
                 "The Wexley pier is made of oak and iron, and was designed to stand for a century.")  # fmt: skip

    assert "surely about something else" in reason(PIER, "source_precision", again)
    assert "surely about something else" in reason(PIER, "response_precision", again)


def test_an_answer_that_stands_elsewhere_too_isnt_removed_in_part() -> None:
    twice = replace(PIER, sources=(*PIER.sources, Source("Programme: 1901, 12 May, Finch.")))
    pairs = only(twice, "source_query_coverage").pairs

    (pair,) = pairs
    assert all("1901" not in source.text for source in pair.worse.sources)


def test_a_question_of_yes_or_no_keeps_its_sources() -> None:
    asked = replace(CHESS, query="Does a blitz player have 5 minutes?")

    assert reason(asked, "source_query_coverage") == "what is left may still tell yes or no"


def test_an_unsupported_claim_isnt_altered() -> None:
    made_up = case("made-up", "When did it open?", "Elephants were invited by telegram in 1950.", PIER.sources[0].text)

    assert "surely supported" in reason(made_up, "groundedness")


def test_of_a_response_that_repeats_itself_throughout_nothing_is_repeated() -> None:
    twice = replace(CHESS, response="A blitz player has 5 minutes. So 5 minutes is what a blitz player has.")

    assert "repeats no other" in reason(twice, "self_distinctness")


def test_the_order_of_rows_and_sources_changes_nothing_and_the_seed_does() -> None:
    shuffled = list(CASES)
    random.Random(3).shuffle(shuffled)

    assert made(shuffled) == made()
    assert any(made(seed=seed) != made() for seed in range(1, 6))


@pytest.mark.parametrize("row", examples("perturbations", "other words"))
def test_other_words_keep_numbers_and_names(row: dict[str, Any]) -> None:
    assert reworded(row["sentence"]) == row["other"]
    assert paraphrased(row["sentence"]) == f"In other words: {row['other'] or row['sentence']}"


def test_what_is_removed_is_what_the_change_says() -> None:
    for pair in made().values():
        assert pair.change is not None
        for sentence in filter(None, pair.change.before.split("\n")):
            texts = [*(s.text for s in pair.better.sources), pair.better.response or ""]
            assert any(sentence in [one.text for one in split_sentences(text)] for text in texts)


@pytest.mark.parametrize("row", examples("perturbations", "bounds"))
def test_a_bound_is_left_alone_since_what_is_changed_may_still_follow(row: dict[str, Any]) -> None:
    sentence, detail = row["sentence"], row["detail"]
    start = sentence.index(detail)

    assert may_be_bound(sentence, (start, start + len(detail))) is row["bound"]
    if row["bound"]:
        kiosk = case("kiosk", "What about it?", sentence, sentence)
        for seed in range(5):
            for pair in perturb([kiosk], seed, ["groundedness"]).pairs:
                assert detail in (pair.worse.response or "")


def altered_of(sentence: str, source: str = "") -> set[str]:
    kiosk = case("kiosk", "What about it?", sentence, source or sentence)
    found = [pair for seed in range(60) for pair in perturb([kiosk], seed, ["groundedness"]).pairs]
    return {(pair.change.after if pair.change else "") for pair in found}


@pytest.mark.parametrize("row", examples("perturbations", "numbers"))
def test_an_altered_number_is_a_possible_one_that_is_not_supported(row: dict[str, Any]) -> None:
    found = {int(number) for text in altered_of(row["sentence"]) for number in re.findall(r"\d+", text)[:1]}

    assert len(found) >= row["different"]
    assert row["least"] <= min(found)
    assert max(found) <= (row["most"] or math.inf)


def test_a_sentence_with_a_number_or_name_that_the_source_says_of_something_else_is_left_alone() -> None:
    source = "The kiosk sells drinks and cakes on the pier. A ticket for the museum of clocks costs 7 euros."
    assert altered_of("The kiosk on the pier sells 7 cakes.", source) == set()
    assert altered_of("The kiosk on the pier sells 7 cakes.", "On the pier the kiosk sells 7 cakes and tea.")

    opened = "On 12 May 1901 the kiosk on the pier opened."
    assert altered_of("The kiosk on the pier opened on 12 May 1901 at 9.", opened) == set()
    assert altered_of("The kiosk on the pier opened on 12 May 1901 by Ada Finch.", opened) == set()


def test_of_a_table_no_empty_row_is_left() -> None:
    asked = case("check", "How many minutes before departure must vehicles check in?",
                 "Vehicles must check in 60 minutes before departure.",
                 "| Who | Time |\n|---|---|\n| Walkers | 10 min |\n| Vehicles check in before departure | 60 min |\n\n"
                 "Engines stay off.")  # fmt: skip

    (pair,) = only(asked, "source_query_coverage").pairs

    assert pair.worse.sources[0].text == "| Who | Time |\n|---|---|\n| Walkers | 10 min |\n\nEngines stay off."


def test_sources_that_hold_nothing_of_what_is_asked_are_no_base_for_pairs_about_sources() -> None:
    ferry = case("wifi", "Is there Wi-Fi on the ferry to Fenholm?", "Yes, on the ferry to Fenholm there is Wi-Fi.",
                 "Dogs may travel on the ferry to Fenholm. There is a lounge, yes.")  # fmt: skip

    for metric in ("source_precision", "fact_precision"):
        assert "can't be told by rules that the response answers" in reason(ferry, metric, BREAD, CHESS)


def test_a_repeat_that_no_rule_has_other_words_for_is_named_a_copy() -> None:
    same = case(
        "same", "How long is the pier?", "The Wexley pier is 80 metres long.", "The Wexley pier is 80 metres long."
    )
    other = replace(same, response="The Wexley pier was built in 1901.")

    changes = [pair.change for one in (same, other) for pair in only(one, "self_distinctness").pairs]

    assert [change.what for change in changes if change] == [
        "a repeat in the same words added to the response",
        "a paraphrased repeat added to the response",
    ]


def test_the_pairs_that_come_with_the_package_are_those_of_todays_rules() -> None:
    pairs = read_pairs(str(OWN_PAIRS))[0]

    cases = {pair.group: replace(pair.better, id=pair.group) for pair in pairs}
    assert {pair.id: pair.change for pair in perturb([*cases.values()]).pairs} == {
        pair.id: pair.change for pair in pairs
    }
