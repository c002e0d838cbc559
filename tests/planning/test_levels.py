"""Plans: distinct steps in an order in which they can be taken, and how many questions they come to."""

from itertools import combinations

import pytest

from ragtriage import METRICS, RULES, Case, Source, metrics_named, needs_of
from ragtriage.core.steps import Decompose, Step
from ragtriage.metrics import THELMA
from ragtriage.metrics.thelma import ANSWERED_BY_ONE, ANSWERED_TOGETHER
from ragtriage.planning.levels import dependencies, plan


@pytest.mark.parametrize("size", [1, 2, len(METRICS)])
def test_every_step_stands_behind_those_that_it_depends_on(size: int) -> None:
    for chosen in combinations(METRICS, size):
        planned = plan(chosen, needs_of(RULES))

        assert len(planned.steps) == len(set(planned.steps))
        assert tuple(step for level in planned.levels for step in level) == planned.steps
        for i, step in enumerate(planned.steps):
            assert set(dependencies(step)) <= set(planned.steps[:i])
        for earlier, later in zip(planned.levels, planned.levels[1:], strict=False):
            assert not any(set(dependencies(step)) & set(later) for step in (*earlier, *later))


def waiting(levels: tuple[tuple[Step, ...], ...]) -> set[Step]:
    """The steps that are taken later than those which they depend on allow."""
    at = {step: i for i, level in enumerate(levels) for step in level}
    return {step for step in at if at[step] != 1 + max((at[earlier] for earlier in dependencies(step)), default=-1)}


def test_shared_steps_are_named_with_their_metrics() -> None:
    assert plan(metrics_named(["groundedness"])).shared() == {}
    assert plan(metrics_named(["groundedness", "response_precision", "response_query_coverage"])).shared() == {
        "claims(response)": ("response_precision", "groundedness"),
        "questions(query)": ("response_precision", "response_query_coverage"),
    }
    shared = plan(METRICS).shared()
    assert set(shared["claims(response)"]) >= {"groundedness", "hallucination", "claim_relevancy", "answer_precision"}
    assert shared["supported(claims(response), sources)"] == ("groundedness", "hallucination", "ragas_faithfulness")
    assert set(shared["supported(claims(response), reference)"]) == {
        "answer_precision", "answer_f1", "relevant_noise_sensitivity", "irrelevant_noise_sensitivity"
    }  # fmt: skip
    assert set(shared["questions_answered_by(response, 3)"]) == {
        "query_similarity", "ragas_answer_relevance", "ragas_library_answer_relevance"
    }  # fmt: skip


def test_what_is_asked_about_single_sources_waits_for_the_last_of_it() -> None:
    planned = plan(METRICS, needs_of(RULES))
    by_source = {step for step in planned.steps if "each source" in str(step) and "together" not in str(step)}
    by_source |= {Decompose("sources", "facts"), Decompose("sources", "needed_sentences")}
    by_source = {step for step in by_source if "where answered" not in str(step)}

    levels = {i for i, level in enumerate(planned.levels) for step in by_source if step in level}

    assert len(by_source) == 6
    assert len(levels) == 1


def test_what_is_asked_about_all_sources_together_is_asked_at_once_and_all_else_as_early_as_it_can() -> None:
    planned = plan(THELMA, needs_of(RULES))
    level = {step: i for i, steps in enumerate(planned.levels) for step in steps}
    (supported,) = waiting(planned.levels)

    assert str(supported) == "supported(claims(response), sources)"
    assert level[supported] == level[ANSWERED_TOGETHER] > level[ANSWERED_BY_ONE]
    # the last level is the conversation's, about claims that the sources don't support; without it there are as many
    # as without the wait
    assert max(level[s] for s in level if "conversation" not in str(s)) == 3
    # what nothing waits for makes nobody wait
    few = plan(metrics_named(["groundedness", "response_query_coverage"]), needs_of(RULES))
    assert waiting(few.levels) == set()


def test_one_source_is_all_sources_so_nothing_about_it_waits() -> None:
    planned = plan(THELMA, needs_of(RULES))
    one, two = (Case("c", "What?", tuple(Source(f"Source {i}.") for i in range(count))) for count in (1, 2))
    levels = planned.levels_for(one)

    assert planned.levels_for(two) == planned.levels != levels
    assert {step for level in levels for step in level} == set(planned.steps)
    assert len(levels) == 4
    assert waiting(levels) == set()
