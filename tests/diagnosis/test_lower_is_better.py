"""Rules over scores of which lower is better: high is bad, and what is far above its threshold is severe."""

from pathlib import Path

import pytest

from ragtriage import Case, Component, Record, Rule, Score, Verdict, diagnose, thresholds_with
from ragtriage.config import read_settings
from ragtriage.core.verdicts import Part

THRESHOLDS = thresholds_with({})
MADE_UP = Rule(
    "made_up", "failure", {"hallucination": "high"}, "it is made up", "generator", "Try another.", ("hallucination",)
)
SOUND = Rule("sound", "right", {"hallucination": "low"}, "nothing is made up", "generator", "Keep it.")


def record_of(value: float, *, unsure: int = 0) -> Record:
    bad = [Part(Component(f"Claim {i}."), Verdict("no", sure=i >= unsure), False) for i in range(round(value * 10))]
    return Record(Case("c", "What?"), {}, {"hallucination": Score(value, 10, 0, tuple(bad))})


@pytest.mark.parametrize(("value", "rule"), [(0.0, "sound"), (0.2, "sound"), (0.3, "made_up"), (1.0, "made_up")])
def test_high_is_above_the_threshold_and_low_at_or_below_it(value: float, rule: str) -> None:
    (finding,) = diagnose(record_of(value), THRESHOLDS, (MADE_UP, SOUND))

    assert finding.rule == rule


def test_what_lies_farther_above_is_more_severe() -> None:
    slight, severe = (diagnose(record_of(value), THRESHOLDS, (MADE_UP,))[0].severity for value in (0.4, 0.9))

    assert (slight, severe) == (pytest.approx(0.2), pytest.approx(0.7))


def test_a_high_score_whose_bad_verdicts_are_all_unsure_is_not_sure() -> None:
    assert diagnose(record_of(0.5, unsure=4), THRESHOLDS, (MADE_UP,))[0].sure
    assert "isn't sure of" in diagnose(record_of(0.5, unsure=5), THRESHOLDS, (MADE_UP,))[0].doubt


def test_the_bad_components_are_quoted_with_their_fault() -> None:
    (finding,) = diagnose(record_of(0.3), THRESHOLDS, (MADE_UP,))

    assert [e.text for e in finding.evidence] == ["Claim 0.", "Claim 1.", "Claim 2."]
    assert {e.fault for e in finding.evidence} == {"not supported by the sources"}


def test_a_rule_of_ones_own_quotes_what_is_bad_in_either_direction(tmp_path: Path) -> None:
    path = tmp_path / "ragtriage.toml"
    path.write_text(
        '[fail_above]\nhallucination = 0.2\n[thresholds]\nfaithfulness = 0.9\n"retrieval_recall(k=5)" = 0.5\n'
        '[[rules]]\nname = "own"\nkind = "failure"\ncomponent = "generator"\nreading = "made up"\n'
        'when = { hallucination = "high", faithfulness = "low", answer_recall = "high" }\n',
        encoding="utf-8",
    )

    settings = read_settings(path)

    assert settings.fail_above == {"hallucination": 0.2}
    assert settings.thresholds["groundedness"] == 0.9
    assert settings.thresholds["retrieval_recall(k=5)"] == 0.5
    bad, good = (Part(Component(text), Verdict("no"), text == "fine") for text in ("wrong", "fine"))
    names = {"hallucination": 0.9, "groundedness": 0.1, "answer_recall": 0.9}
    record = Record(Case("c", "What?"), {}, {name: Score(value, 2, 0, (bad, good)) for name, value in names.items()})
    (finding,) = diagnose(record, settings.thresholds, settings.rules[-1:])
    assert [(e.metric, e.text) for e in finding.evidence] == [("hallucination", "wrong"), ("groundedness", "wrong")]
