"""Metrics of one's own in the store: what their scores rest on comes back, and is deleted with the texts."""

from stored_cases import answer, case, identity_of
from test_forgetting import held

from places import Place
from ragtriage import Case, Decompose, FakeJudge, Match, Metric, Outcome, evaluate_sync, metric, open_store, share
from ragtriage.core.case import Record
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Component, Failure, Part, Score, Undefined, Verdict, Verdicts
from ragtriage.judges.wrappers.cached import Cached
from ragtriage.metrics.custom_metrics import definition_of
from ragtriage.runs.codec import custom_parts, with_custom_parts
from ragtriage.store import open_answers

SENTENCES = Decompose("response", "sentences")


@metric(
    title="Plain",
    fault="not plain",
    plain=Match(SENTENCES, "holds", "criterion", criterion="It is plain."),
    support=Match(SENTENCES, "supported", "sources"),
)
def plainness(plain: Verdicts, support: Verdicts) -> Outcome:
    """The share of sentences that are plain, where the sources support them."""
    return share(plain.components, [a or b for a, b in zip(plain.best(), support.best(), strict=True)])


SECRET = case(1, query="What is the pin of Zebulon?", response="The pin of Zebulon is 1234. It is not to be told.")


def told(question: Question) -> Answer:
    if question.kind == "holds":
        return Verdict("no" if "1234" in question.evidence[0] else "yes", 0.4, 0.6, f"of {question.evidence[0]}", False)
    return answer(question)


def stored(place: Place, cases: list[Case], metrics: list[Metric]) -> list[Record]:
    """Evaluate into a store, as a command does."""
    identity = identity_of(cases, names=tuple(m.name for m in metrics))
    given = {"input": "a", "rows": len(cases), "judge": "f"}
    with (
        open_store(place) as store,
        open_answers(store.database) as answers,
        store.begin(identity, configuration={"metrics": [definition_of(m) for m in metrics]}, **given) as run,
    ):
        judge = Cached(FakeJudge(told), answers)
        records = list(evaluate_sync(run.todo(cases), judge, metrics=metrics, sink=run))
        run.finish()
    return records


def test_a_record_comes_back_with_all_that_its_scores_rest_on(place: Place) -> None:
    records = stored(place, [SECRET, case(2)], [plainness])

    with open_store(place) as store:
        back = {record.case.id: record for record in store.run().records()}
    for record in records:
        found = back[record.case.id]
        assert (found.outcomes, found.steps) == (record.outcomes, record.steps)
    outcome = back["case 1"].outcomes["plainness"]
    assert isinstance(outcome, Score)
    assert outcome.parts[0].good is False


def test_deleting_a_text_deletes_it_there_and_in_the_memory_of_answers(place: Place) -> None:
    stored(place, [SECRET], [plainness])
    assert "1234" in held(place)

    with open_store(place) as store:
        before = store.run().record("case 1").outcomes["plainness"]
        store.forget_texts("last", ["case 1"])
        after = store.run().record("case 1")
    assert "1234" not in repr(after)
    assert "1234" not in held(place)
    assert not place.holds("1234")
    found = after.outcomes["plainness"]
    assert isinstance(before, Score)
    assert isinstance(found, Score)
    assert (found.value, [p.good for p in found.parts]) == (before.value, [p.good for p in before.parts])


def test_every_part_comes_back() -> None:
    parts = (
        Part(Component("yes"), Verdict("yes", 0.9, 0.8, "why", flag="odd"), True),
        Part(Component("no", (0, 2), 1), Verdict("no", sure=False), False),
        Part(Component("a repeat"), Verdict("yes"), False),
        Part(Component("of a kind"), Verdict("no"), False, "rude"),
        Part(Component("unknown"), Verdict("unknown"), None),
        Part(Component("failed"), Failure("time-out"), None),
        Part(Component("not asked"), None, None),
    )
    outcomes: dict[str, Outcome] = {"mine": Score(0.5, 1, 0, parts), "other": Undefined("none")}
    bare: dict[str, Outcome] = {"mine": Score(0.5, 1, 0), "other": Undefined("none")}

    assert with_custom_parts(bare, custom_parts(outcomes)) == outcomes
    # those of a built-in metric aren't kept twice
    assert custom_parts({"groundedness": Score(1.0, 1, 0, parts[:1])}) == {}
