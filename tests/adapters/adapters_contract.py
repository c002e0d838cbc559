"""What is claimed of every kind of object that can be asked; a test of a kind makes objects of it."""

import asyncio
import warnings
from collections.abc import Iterable
from typing import Any

from ragtriage import Case
from ragtriage.adapters.opening import acollect, collect

QUESTIONS = (
    "How long does the ferry to Ostrey take?",
    "Do dogs travel free?",
    "What does a locker cost?",
    "When does the counter open?",
    "Is there a lift at the quay?",
    "May I bring my bicycle?",
    "Where is the waiting room?",
    "Who answers complaints?",
)
DOCUMENTS = {"d1": "The ferry to Ostrey takes forty minutes.", "d2": "Dogs travel free, and need no muzzle."}
"""Id → text."""
FAILING = QUESTIONS[2]
Seen = list[tuple[str, str | None, float | None]]


class ModelDown(Exception):
    """What the fake models raise."""


def answer_to(question: str) -> str:
    """What the fake models answer."""
    if question == FAILING:
        raise ModelDown("the model is down")
    return f"Nobody knows: {question}"


def again(question: str) -> str:
    """What is searched for the second time."""
    return f"{question} Really?"


def asked(app: Any, questions: Iterable[str | Case] = QUESTIONS, **how: Any) -> list[Case]:
    """Ask, and have it said where something of it isn't recorded."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.filterwarnings("error", message=".*no retriever told", category=UserWarning)
        return collect(app, questions, **how)


def seen(case: Case) -> Seen:
    """The sources of a case, each with its text, id and score."""
    sources = case.known_sources
    scores = case.tags.get("retrieval_scores", [None] * len(sources))
    return [(source.text, source.id, score) for source, score in zip(sources, scores, strict=True)]


def timeless(cases: Iterable[Case]) -> list[Any]:
    """Cases without what differs each time."""
    return [
        (one.id, one.query, one.sources, one.response, {k: v for k, v in one.tags.items() if "seconds" not in k})
        for one in cases
    ]


class AdapterContract:
    """The claims; `made` and `found` are the least that a kind gives."""

    answers = True
    """Whether it gives responses; a retriever doesn't."""
    tells_searches = True
    """Whether the framework tells what was searched for."""
    keeps_sources = True
    """Whether what was retrieved before a failure is known."""

    def made(self) -> Any:
        """An object over the documents that answers as `answer_to`, which raises for one question."""
        raise NotImplementedError

    def found(self, question: str) -> Seen:
        """What the retriever itself finds, best first: text, id and score."""
        raise NotImplementedError

    def twice(self) -> Any:
        """An object that retrieves two times: for the question, and for `again(question)`."""
        raise NotImplementedError

    def watched(self, notes: list[Any]) -> Any:
        """An object with a callback of the user's own, which notes something for every question."""
        raise NotImplementedError

    def handlers(self, app: Any) -> int:
        """How many handlers there are, where one of ours could be left behind."""
        raise NotImplementedError

    def test_query_sources_scores_response_and_order(self) -> None:
        good = [question for question in QUESTIONS if question != FAILING]
        cases = asked(self.made(), good)

        assert [case.query for case in cases] == good
        assert [seen(case) for case in cases] == [self.found(question) for question in good]
        assert len({tuple(seen(case)) for case in cases}) > 1
        assert [case.response for case in cases] == [answer_to(one) if self.answers else None for one in good]
        assert all(case.tags.get("retrieved", []) == [source.id for source in case.known_sources] for case in cases)
        if self.tells_searches:
            assert [case.tags["searched"] for case in cases] == [[question] for question in good]

    def test_one_that_fails_keeps_what_was_retrieved_and_harms_no_other(self) -> None:
        cases = asked(self.made())
        failed = [case for case in cases if "failure" in case.tags]

        assert [case.query for case in failed] == ([FAILING] if self.answers else [])
        for case in failed:
            assert case.response is None
            assert case.tags["failure"] == "exception ModelDown"
            assert "the model is down" in case.tags["failure_detail"]
            assert case.sources is None if not self.keeps_sources else seen(case) == self.found(FAILING)

    def test_eight_at_once_are_as_one_by_one(self) -> None:
        app = self.made()

        assert timeless(asked(app, concurrency=8)) == timeless(asked(app, concurrency=1))

    def test_two_retrievals_are_joined_and_each_source_counts_once(self) -> None:
        [case] = asked(self.twice(), QUESTIONS[:1])

        assert case.tags["retrievals"] == 2
        assert [text for text, _, _ in seen(case)] == [text for text, _, _ in self.found(QUESTIONS[0])]
        if self.tells_searches:
            assert case.tags["searched"] == [QUESTIONS[0], again(QUESTIONS[0])]

    def test_the_users_own_callbacks_fire_and_none_of_ours_is_left(self) -> None:
        notes: list[Any] = []
        app = self.watched(notes)
        before = self.handlers(app)
        asked(app, QUESTIONS[:2])

        assert len(notes) >= 2
        assert self.handlers(app) == before

    def test_it_works_where_an_event_loop_runs(self) -> None:
        async def in_a_notebook() -> list[Case]:
            return asked(self.made(), QUESTIONS[:2])

        async def on_this_loop() -> list[Case]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return await acollect(self.made(), QUESTIONS[:2])

        expected = timeless(asked(self.made(), QUESTIONS[:2]))
        assert timeless(asyncio.run(in_a_notebook())) == expected
        assert timeless(asyncio.run(on_this_loop())) == expected


class StreamContract:
    """What is claimed of answers that come in pieces."""

    def streaming(self, *, breaks: bool) -> Any:
        """An object that answers "One two three", or raises after "One "."""
        raise NotImplementedError

    def test_a_stream_is_read_to_its_end(self) -> None:
        [case] = asked(self.streaming(breaks=False), QUESTIONS[:1])

        assert case.response == "One two three"
        assert case.known_sources
        assert 0 <= case.tags["first_seconds"] <= case.tags["seconds"] + 0.001

    def test_one_that_breaks_half_way_is_a_failure_without_half_an_answer(self) -> None:
        [case] = asked(self.streaming(breaks=True), QUESTIONS[:1])

        assert (case.response, case.tags["failure"]) == (None, "exception ModelDown")
        assert case.known_sources
