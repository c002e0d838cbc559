"""A user's decision thresholds change verdicts and fingerprints, and only of the judge that they were fitted for."""

from pathlib import Path

import pytest
from contract import CHECKS, QUESTIONS, Candidate, answers
from test_fake import BROKEN, sensible

from ragtriage.config import read_settings
from ragtriage.core.errors import ConfigError
from ragtriage.core.questions import Question, essential, supported
from ragtriage.core.verdicts import Failure, Verdict
from ragtriage.judges.build import build_judge
from ragtriage.judges.decision_thresholds import BANDS, DecisionThreshold, without_threshold
from ragtriage.judges.fake import FakeJudge
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers import Cached, Changed, InMemory
from ragtriage.judges.wrappers.combined import rethresholded

THRESHOLD = DecisionThreshold(0.6, 0.3, "fake")
TABLE = "[decision_thresholds.supported]\n"
AT = 'judge = "embedded"\nyes = {}\nno = {}'
SUPPORTED = supported("Cats purr.", ("Cats purr.",))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check) -> None:
    check(Candidate(lambda: Changed(FakeJudge(sensible), {"supported": THRESHOLD}), failing=BROKEN))


@pytest.mark.parametrize(
    ("score", "value"), [(0.29, "no"), (0.3, "unknown"), (0.59, "unknown"), (0.6, "yes"), (1.0, "yes")]
)
def test_verdicts_change_at_the_cuts(score: float, value: str) -> None:
    found = rethresholded(Verdict("unknown", score, 0.5, "because"), THRESHOLD)

    assert isinstance(found, Verdict)
    assert (found.value, found.score, found.explanation) == (value, score, "because")


def test_a_verdict_that_stays_is_untouched_and_a_new_no_is_to_be_checked() -> None:
    same = Verdict("no", 0.1, 0.8)

    assert rethresholded(same, THRESHOLD) is same
    assert rethresholded(Verdict("yes", 0.2, 0.8), THRESHOLD) == Verdict("no", 0.2, 0.8, sure=False)


def test_what_has_no_probability_stays() -> None:
    assert rethresholded(Verdict("yes"), THRESHOLD) == Verdict("yes")
    assert rethresholded(Failure("gone"), THRESHOLD) == Failure("gone")


def test_other_kinds_stay_as_they_are() -> None:
    judge = Changed(FakeJudge(lambda _: Verdict("yes", 0.1)), {"supported": THRESHOLD})

    found = answers(judge, [SUPPORTED, essential("Do cats purr?", "Cats purr.")])

    assert [one.value for one in found if isinstance(one, Verdict)] == ["no", "yes"]


def test_the_cut_is_part_of_its_kinds_fingerprint_alone() -> None:
    inner = FakeJudge(sensible)
    one, other = (
        Changed(inner, {"supported": THRESHOLD}),
        Changed(inner, {"supported": DecisionThreshold(0.7, 0.3, "fake")}),
    )

    assert len({judge.fingerprint("supported") for judge in (inner, one, other)}) == 3
    assert one.fingerprint("essential") == inner.fingerprint("essential")
    assert without_threshold(one.fingerprint("supported")) == inner.fingerprint("supported")


def test_changing_a_cut_asks_nothing_again() -> None:
    inner, memory = FakeJudge(lambda _: Verdict("yes", 0.5)), InMemory()
    for threshold in (THRESHOLD, DecisionThreshold(0.5, 0.5, "fake")):
        answers(Changed(Cached(inner, memory), {"supported": threshold}), [SUPPORTED])

    assert len(inner.asked) == 1


def test_a_threshold_for_another_version_of_the_judge_is_refused() -> None:
    with pytest.raises(
        ConfigError, match=r"\[decision_thresholds.supported\] was fitted for fake as old.*calibrate again"
    ):
        Changed(FakeJudge(sensible), {"supported": DecisionThreshold(0.6, 0.3, "fake", "old")})


def test_a_cut_holds_for_the_judge_that_it_names() -> None:
    own, other = (
        build_judge(
            JudgeSession.of(JudgeConfig(decision_thresholds={"supported": DecisionThreshold(0.6, 0.3, name)}))
        ).judge
        for name in ("embedded", "openai:m")
    )

    assert "+threshold-0.3-0.6" in own.fingerprint("supported")
    assert "+threshold" not in other.fingerprint("supported")


def test_settings_hold_cuts_and_bands(tmp_path: Path) -> None:
    path = tmp_path / "ragtriage.toml"
    path.write_text(
        '[decision_thresholds.supported]\njudge = "embedded"\nyes = 0.6\nno = 0.3\n[bands]\nsupported = "0.1:"\n',
        encoding="utf-8",
    )
    settings = read_settings(path)
    choice = JudgeConfig(("openai:m",), cascade="shipped", own_bands=settings.bands)

    assert settings.decision_thresholds == {"supported": DecisionThreshold(0.6, 0.3, "embedded")}
    assert (choice.bands()["supported"].low, choice.bands()["supported"].high) == (0.1, 2.0)
    assert choice.bands()["relevant"] == BANDS["relevant"]


def decided(choice: JudgeConfig, question: Question, score: float) -> bool:
    return choice.bands()[question.kind].decides(question, Verdict("no", score))


def test_a_band_of_ones_own_decides() -> None:
    own = JudgeConfig(("openai:m",), cascade="shipped", own_bands={"supported": "0.1:"})

    assert decided(JudgeConfig(("openai:m",), cascade="shipped"), SUPPORTED, 0.12)
    assert not decided(own, SUPPORTED, 0.12)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TABLE.replace("supported", "claims") + AT.format(1, 1), "'claims' has no probability to decide by"),
        ("[decision_thresholds]\nsupported = 0.5", "decision_thresholds.supported must be a table, not 0.5"),
        (TABLE + "yes = 0.5\nno = 0.5", "lacks the judge"),
        (TABLE + AT.format(1.5, 0.5), "yes is 1.5 and no is 0.5: give 0 ≤ no ≤ yes ≤ 1"),
        (TABLE + AT.format(0.3, 0.5), "yes is 0.3 and no is 0.5: give 0 ≤ no ≤ yes ≤ 1"),
        (TABLE + AT.format(0.3, "'low'"), "decision_thresholds.supported.no must be a number, not 'low'"),
        (TABLE + AT.format(0.5, "0.4\nmaybe = 0.5"), "no setting is called 'maybe'"),
        (TABLE + "judge = 3", "decision_thresholds.supported.judge must be a text, not 3"),
        ("[bands]\nsupported = 0.5", "bands.supported must be a text, not 0.5"),
        ('[bands]\nfacts = "0.1:0.2"', "'facts' has no probability"),
    ],
)
def test_wrong_settings_are_said(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "ragtriage.toml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ConfigError, match=said):
        read_settings(path)


def test_wrong_bands_are_said_before_anything_is_asked() -> None:
    with pytest.raises(ConfigError, match="LOW:HIGH"):
        JudgeConfig(("openai:m",), cascade="shipped", own_bands={"supported": "0.9:0.1"})
    with pytest.raises(ConfigError, match="no band for 'holds'"):
        JudgeConfig(("openai:m",), cascade="shipped", own_bands={"holds": "0.1:0.9"})


def test_every_question_has_an_answer_whatever_the_threshold() -> None:
    judge = Changed(FakeJudge(sensible), {"supported": THRESHOLD})

    assert len(answers(judge, QUESTIONS)) == len(QUESTIONS)
