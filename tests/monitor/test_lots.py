"""Lots, rules by which cases are kept, and the parts of the traffic."""

import hashlib

import pytest

from ragtriage.core.case import LEAST_WEIGHT, Case
from ragtriage.core.errors import ConfigError
from ragtriage.monitor.lots import KeepRule, Lots, is_drawn, lot_of, moment_of, stratum_of


def case(i: int, weight: float = 1.0, **tags: object) -> Case:
    return Case(f"c{i}", "What?", tags=tags, weight=weight)


def test_a_lot_is_the_digest_of_seed_and_conversation_else_trace_else_id():
    def digest(text: str) -> float:
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "big") / 2**128

    assert lot_of(case(1), 7) == pytest.approx(digest("7:c1"), abs=1e-15)
    assert lot_of(Case("c1", "What?", trace_id="t"), 7) == pytest.approx(digest("7:t"), abs=1e-15)
    assert lot_of(Case("c1", "What?", trace_id="t", tags={"conversation": "x"}), 7) == pytest.approx(digest("7:x"))


def test_a_tenth_of_the_lots_is_drawn_each_for_ten():
    chosen = [one for i in range(5000) if (one := Lots(0.1).choose(case(i)))]
    assert 420 < len(chosen) < 580
    assert {one.weight for one in chosen} == {10.0}
    assert Lots(0.1).choose(case(0)) == Lots(0.1).choose(case(0))
    others = [case(i) for i in range(5000) if Lots(0.1, seed=1).choose(case(i))]
    assert {one.id for one in chosen} != {one.id for one in others}


def test_conversations_stay_whole():
    lots = Lots(0.3)
    drawn = {c: {bool(lots.choose(case(10 * c + i, conversation=f"k{c}"))) for i in range(10)} for c in range(50)}
    assert {frozenset(found) for found in drawn.values()} == {frozenset({True}), frozenset({False})}


def test_all_or_none_are_drawn_at_the_ends():
    assert all(Lots(1.0).choose(case(i)) == case(i) for i in range(100))
    assert not any(Lots(0.0).choose(case(i)) for i in range(100))
    with pytest.raises(ConfigError, match=r"--sample 1\.5: give a share from 0 to 1"):
        Lots(1.5)


def test_upstream_weights_multiply():
    chosen = next(one for i in range(100) if (one := Lots(0.5).choose(case(i, weight=4.0))))
    assert chosen.weight == 8.0


def test_a_kept_case_is_judged_and_weighs_next_to_nothing_unless_its_lot_was_drawn():
    lots = Lots(0.5, keep=[KeepRule.parse("score.user<0")])
    chosen = [lots.choose(case(i, **{"score.user": -1})) for i in range(100)]
    assert all(one is not None and one.tags["kept"] == "score.user<0" for one in chosen)
    weights = [one.weight for one in chosen if one]
    assert set(weights) == {2.0, LEAST_WEIGHT}
    assert [is_drawn(weight) for weight in weights] == [lot_of(case(i), 0) < 0.5 for i in range(100)]


@pytest.mark.parametrize(
    ("rule", "tags", "holds"),
    [
        ("tenant=acme", {"tenant": "acme"}, True),
        ("tenant=acme", {"tenant": "Acme"}, False),
        ("tenant=acme", {}, False),
        ("failed=true", {"failed": True}, True),
        ("top_k=3", {"top_k": 3.0}, True),
        ("seconds>10", {"seconds": 10.5}, True),
        ("seconds>10", {"seconds": 10}, False),
        ("seconds>=10", {"seconds": "10"}, True),
        ("score.user<0", {"score.user": -1}, True),
        ("score.user<0", {"score.user": "bad"}, False),
        ("score.user<=0", {"score.user": True}, False),
        ("seconds<1", {"seconds": [0]}, False),
    ],
)
def test_rules_hold(rule: str, tags: dict[str, object], holds: bool):
    assert KeepRule.parse(rule).holds(tags) is holds


@pytest.mark.parametrize("rule", ["tenant", "seconds>ten", "=x", "a<"])
def test_other_rules_are_refused(rule: str):
    with pytest.raises(ConfigError, match="write TAG=VALUE"):
        KeepRule.parse(rule)


def test_parts_of_the_traffic():
    assert stratum_of({"tenant": "a"}, None, None) == ""
    assert stratum_of({"tenant": "a"}, None, "tenant") == "a"
    assert stratum_of({}, None, "tenant") == "(none)"
    assert stratum_of({}, "2026-11-01T23:30:00-02:00", "hour") == "01"
    assert stratum_of({"hour": "late"}, "2026-11-01T23:30:00", "hour") == "late"


def test_times_without_a_zone_are_utc():
    assert moment_of("2026-11-01T10:00:00") == moment_of("2026-11-01T12:00:00+02:00")
    assert moment_of("soon") is None
    assert moment_of(None) is None
