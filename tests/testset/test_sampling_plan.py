"""The sampling plan: balanced, within its shares, seeded, and honest about what it can't reach."""

import json
from collections import Counter

import pytest

from ragtriage.core.errors import ConfigError
from ragtriage.testset.generation.fillings import Filling
from ragtriage.testset.generation.query_templates import QueryTemplate, TextTemplate
from ragtriage.testset.generation.sampling import Sample, SamplingPlan, half_width, sample

TEMPLATES = [QueryTemplate(f"t{n}", "SELECT x", None, ("even" if n % 2 == 0 else "odd",), ("a.b",)) for n in range(20)]


def phrasings(*criteria: str, each: int = 1) -> list[TextTemplate]:
    return [
        TextTemplate(template.id, criterion, f"{template.id} {criterion} {number} [a.b]")
        for template in TEMPLATES
        for criterion in criteria
        for number in range(each)
    ]


def fillings(count: int, *templates: str) -> list[Filling]:
    return [
        Filling(f"{name}-{n}", name, {"a.b": f"value {n}"}, n, "integer", "SELECT x")
        for name in templates or [template.id for template in TEMPLATES]
        for n in range(count)
    ]


def drawn(plan: SamplingPlan, found: list[Filling], texts: list[TextTemplate] | None = None) -> Sample:
    return sample(TEMPLATES, texts or phrasings("short", "long"), found, plan)


def test_every_group_has_one_phrasing_under_every_criterion():
    found = drawn(SamplingPlan(size=200), fillings(50))

    assert len(found.questions) == 200
    assert found.groups == 100
    assert Counter(Counter(q.filling.group for q in found.questions).values()) == {2: 100}
    assert Counter(q.criterion for q in found.questions) == {"short": 100, "long": 100}
    assert set(found.by_template.values()) == {5}
    assert found.notes == ()


def test_an_imbalance_can_be_asked_for():
    plan = SamplingPlan(size=120, criteria={"short": 2, "long": 1})
    found = drawn(plan, fillings(50), phrasings("short", "long", "casual", each=2))

    assert Counter(q.criterion for q in found.questions) == {"short": 80, "long": 40}
    assert len({q.id for q in found.questions}) == 120


def test_no_template_has_more_than_its_share():
    uneven = fillings(2) + fillings(500, "t3")[2:]
    found = drawn(SamplingPlan(size=1_000), uneven)

    assert max(found.by_template.values()) <= 0.1 * found.groups
    assert len(found.questions) < 1_000
    assert "no template may have more than its share" in found.notes[0]


def test_few_templates_share_evenly_and_it_is_said():
    found = drawn(SamplingPlan(size=40), fillings(50, "t1", "t2"))

    assert found.by_template == {"t1": 10, "t2": 10}
    assert "only 2 templates have fillings" in found.notes[0]


def test_quotas_hold_for_tables_and_templates():
    found = drawn(SamplingPlan(size=400, quotas={"odd": 0.25, "t0": 0.01}), fillings(200))
    tables = Counter(template.tables[0] for template in TEMPLATES for _ in range(found.by_template.get(template.id, 0)))

    assert tables["odd"] <= 0.25 * found.groups
    assert found.by_template["t0"] <= 0.01 * found.groups


def test_the_same_seed_draws_the_same_and_order_does_not_matter():
    one = drawn(SamplingPlan(size=100, seed=4), fillings(50))
    two = drawn(SamplingPlan(size=100, seed=4), fillings(50)[::-1])
    other = drawn(SamplingPlan(size=100, seed=5), fillings(50))

    assert one.questions == two.questions
    assert one.questions != other.questions


def test_a_small_sample_is_not_of_the_first_templates():
    names = {name for seed in range(5) for name in drawn(SamplingPlan(size=8, seed=seed), fillings(5)).by_template}

    assert len(names) > 8


def test_templates_that_lack_a_criterion_are_counted():
    texts = [text for text in phrasings("short", "long") if (text.template, text.criterion) != ("t1", "long")]
    found = drawn(SamplingPlan(size=100), fillings(50), texts)

    assert found.unphrased == 1
    assert "t1" not in found.by_template


def test_two_groups_never_read_the_same():
    twins = [*fillings(1, "t0"), Filling("twin", "t0", {"a.b": "value 0"}, 7, "integer", "SELECT x")]
    found = drawn(SamplingPlan(size=4, max_share=1), twins)

    assert (found.groups, found.ambiguous) == (1, 1)


def test_a_question_is_a_row():
    row = drawn(SamplingPlan(size=2), fillings(1)).questions[0].row()

    assert list(row) == [
        "id", "group", "cluster", "query", "answer", "answer_type", "sql", "parameters", "template", "criterion",
        "keys",
    ]  # fmt: skip
    assert row["cluster"] == row["criterion"]
    assert json.loads(json.dumps(row)) == row


def test_the_interval_is_that_of_an_accuracy_of_one_half():
    assert half_width(100) == pytest.approx(0.098)
    assert half_width(0) is None


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (SamplingPlan(size=1), "one group has 2 questions"),
        (SamplingPlan(criteria={"rude": 1}), "no phrasings of the criterion 'rude'"),
        (SamplingPlan(criteria={"short": 0}), "at least one"),
        (SamplingPlan(quotas={"nothing": 0.1}), "neither a table nor a template"),
        (SamplingPlan(quotas={"odd": 2}), "from 0 to 1"),
        (SamplingPlan(max_share=0), "above 0"),
    ],
)
def test_a_plan_that_cannot_be_fulfilled_is_refused(plan, says):
    with pytest.raises(ConfigError, match=says):
        drawn(plan, fillings(5))
