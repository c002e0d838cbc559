"""From a configuration to a judge: what trials share, what each has of its own, and how it is closed."""

import pytest

from ragtriage.core.errors import ConfigError, StoreError
from ragtriage.judges.build import BuiltJudge, build_judge
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.judge_config import BATCH_WINDOW, EMBEDDED_WINDOW, JudgeConfig
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers import InMemory

MODEL = LLMOptions(base_url="http://127.0.0.1:9/v1", concurrency=100)


class Noting(InMemory):
    """A memory, and a resource, that note what is done with them."""

    def __init__(self, broken: bool = False) -> None:
        super().__init__()
        self.done: list[str] = []
        self._broken = broken

    def flush(self) -> None:
        """See `AnswerMemory`."""
        if self._broken:
            raise StoreError("the disk is full")
        self.done.append("answers kept")

    def close(self) -> None:
        """See `BatchQueue`."""
        self.done.append("tickets dropped")


def test_the_judges_of_all_trials_share_one_ledger() -> None:
    session = JudgeSession.of(JudgeConfig(("openai:m",), options=MODEL))
    trials = [build_judge(session, trial=number) for number in range(2)]

    assert all(built.ledger is session.ledger for built in trials)
    assert trials[0].judge is not trials[1].judge
    assert trials[0].memory is not trials[1].memory


def test_a_judge_that_costs_nothing_has_no_ledger() -> None:
    built = build_judge(JudgeSession.of(JudgeConfig()))

    assert (built.ledger, built.cascade, built.window) == (None, None, EMBEDDED_WINDOW)


def test_a_built_cascade_is_the_judge() -> None:
    built = build_judge(JudgeSession.of(JudgeConfig(("openai:m",), cascade="shipped", options=MODEL)))

    assert built.cascade is built.judge


def test_enough_cases_are_in_flight_for_the_requests() -> None:
    assert JudgeConfig(options=MODEL).window == EMBEDDED_WINDOW
    assert JudgeConfig(("openai:m",), options=MODEL).window == 200
    assert JudgeConfig(("openai:m",), options=MODEL, batch_api=True).window == BATCH_WINDOW


def test_tickets_are_dropped_after_their_answers_are_kept() -> None:
    memory = Noting()
    BuiltJudge(FakeJudge({}), memory, resources=(memory,)).close()
    assert memory.done == ["answers kept", "tickets dropped"]


def test_tickets_stay_where_their_answers_cannot_be_kept() -> None:
    memory = Noting(broken=True)
    with pytest.raises(StoreError, match="the disk is full"):
        BuiltJudge(FakeJudge({}), memory, resources=(memory,)).close()
    assert memory.done == []


def test_the_embedded_judge_may_sit_beside_a_model() -> None:
    built = build_judge(JudgeSession.of(JudgeConfig(("embedded", "openai:m"), jury="majority", options=MODEL)))

    assert "embedded" in built.judge.name()
    assert "openai:m" in built.judge.name()


@pytest.mark.parametrize("name", ["embedded:fast", "embedded:fst", "embeded"])
def test_the_embedded_judge_has_no_variants(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"there is no judge '{name}': use embedded or PROVIDER:MODEL"):
        JudgeConfig((name,))


def test_what_is_for_models_is_refused_for_the_embedded_judge() -> None:
    with pytest.raises(ConfigError, match="a batch API is for language models"):
        JudgeConfig(("embedded",), batch_api=True)
    with pytest.raises(ConfigError, match="a cascade passes on from the embedded judge to a model"):
        JudgeConfig(("embedded",), cascade="shipped")
