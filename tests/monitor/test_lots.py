"""Lots and windows: which cases of the traffic are kept, how often small parts of it come, and how files are cut."""

import hashlib
import random
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from watched import BEGIN, row

from cli_rows import written
from ragtriage.core.case import LEAST_WEIGHT, Case
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.monitor.lots import MOST_PARTS, AtLeast, KeepRule, Lots, Shares, is_drawn, lot_of, moment_of, stratum_of
from ragtriage.monitor.windows import COUNTS, DRAWN, Traffic, WindowSize
from ragtriage.readers import open_cases


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


def test_all_or_none_are_drawn_at_the_ends_and_upstream_weights_multiply():
    assert all(Lots(1.0).choose(case(i)) == case(i) for i in range(100))
    assert not any(Lots(0.0).choose(case(i)) for i in range(100))
    with pytest.raises(ConfigError, match=r"--sample 1\.5: give a share from 0 to 1"):
        Lots(1.5)

    chosen = next(one for i in range(100) if (one := Lots(0.5).choose(case(i, weight=4.0))))
    assert chosen.weight == 8.0


def test_a_kept_case_is_judged_and_weighs_next_to_nothing_unless_its_lot_was_drawn():
    lots = Lots(0.5, keep=[KeepRule.parse("score.user<0")])
    chosen = [lots.choose(case(i, **{"score.user": -1})) for i in range(100)]
    assert all(one is not None and one.tags["kept"] == "score.user<0" for one in chosen)
    weights = [one.weight for one in chosen if one]
    assert set(weights) == {2.0, LEAST_WEIGHT}
    assert [is_drawn(weight) for weight in weights] == [lot_of(case(i), 0) < 0.5 for i in range(100)]


RULES = [
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
]


def test_rules_hold_and_others_are_refused():
    assert [KeepRule.parse(rule).holds(tags) for rule, tags, _ in RULES] == [holds for _, _, holds in RULES]
    for rule in ("tenant", "seconds>ten", "=x", "a<"):
        with pytest.raises(ConfigError, match="write TAG=VALUE"):
            KeepRule.parse(rule)


def test_parts_and_moments_of_the_traffic():
    assert stratum_of({"tenant": "a"}, None, None) == ""
    assert stratum_of({"tenant": "a"}, None, "tenant") == "a"
    assert stratum_of({}, None, "tenant") == "(none)"
    assert stratum_of({}, "2026-11-01T23:30:00-02:00", "hour") == "01"
    assert stratum_of({"hour": "late"}, "2026-11-01T23:30:00", "hour") == "late"

    assert moment_of("2026-11-01T10:00:00") == moment_of("2026-11-01T12:00:00+02:00")
    assert moment_of("soon") is None
    assert moment_of(None) is None


# -- shares of parts that come so often


def arriving(minutes: int, a_minute: Mapping[str, float]) -> list[tuple[Case, float]]:
    """Cases of tenants, so many of each a minute, in the order of time."""
    found = []
    for minute in range(minutes):
        for tenant, rate in a_minute.items():
            for i in range(int(rate * (minute + 1)) - int(rate * minute)):
                case = Case(f"{tenant} {minute} {i}", "What?", tags={"tenant": tenant})
                found.append((case, 60.0 * minute + 0.1 * i))
    return found


def drawn(cases: Iterable[tuple[Case, float]], lots: Lots) -> list[Case]:
    shares = Shares(lots)
    return [one for case, moment in cases if (one := lots.choose(case, shares.of(case, moment)))]


def at_least(share: float = 0.02, rate: str = "0.5/min", seed: int = 0) -> Lots:
    return Lots(share, seed, at_least=AtLeast.parse(rate, "tenant"))


def test_without_it_all_parts_have_the_same_share():
    assert {Shares(Lots(0.1)).of(case, moment) for case, moment in arriving(3, {"a": 5, "b": 1})} == {0.1}


def test_the_share_of_a_minute_is_that_of_the_minutes_before():
    """Of 20 a minute half a case a minute is 1/40, below the share of all; of 2 it is a quarter."""
    shares = Shares(at_least(0.1))
    found: dict[tuple[str, int], set[float]] = {}
    for case, moment in arriving(4, {"big": 20, "small": 2}):
        found.setdefault((str(case.tags["tenant"]), int(moment // 60)), set()).add(shares.of(case, moment))
    assert found == {
        ("big", 0): {1.0}, ("big", 1): {0.1}, ("big", 2): {0.1}, ("big", 3): {0.1},
        ("small", 0): {1.0}, ("small", 1): {0.25}, ("small", 2): {0.25}, ("small", 3): {0.25},
    }  # fmt: skip


def test_an_hour_before_tells_how_many_come_and_what_is_older_is_forgotten():
    shares = Shares(at_least(0.0))
    busy = [(Case(f"x{i}", "What?", tags={"tenant": "a"}), 0.3 * i) for i in range(200)]
    last = [(Case(f"y{m}", "What?", tags={"tenant": "a"}), 60.0 * m) for m in (1, 60, 61)]
    found = [shares.of(case, moment) for case, moment in (*busy, *last)][-3:]
    # 200 in one minute; 201 in 60 minutes; 2 in 60 minutes, of which half a case a minute are all
    assert found == pytest.approx([0.5 / 200, 0.5 * 60 / 201, 1.0])


def test_a_small_part_is_seen_so_often_and_a_large_one_by_the_share_of_all():
    found = Counter(one.tags["tenant"] for one in drawn(arriving(600, {"big": 100, "small": 1}), at_least()))
    assert 0.018 * 60_000 < found["big"] - 100 < 0.022 * 60_000
    assert 260 < found["small"] < 340


def test_means_stay_right():
    """Bursts, a rare part that is bad, and hundreds of seeds: weighted sums meet the truth."""
    cases = arriving(40, {"big": 12.5, "small": 0.7})
    totals = {"big": 500, "small": 28}
    sums: dict[str, list[float]] = {"big": [], "small": []}
    for seed in range(400):
        counted: Counter[str] = Counter()
        for one in drawn(cases, at_least(0.05, "0.2/min", seed)):
            counted[str(one.tags["tenant"])] += one.weight  # type: ignore[assignment]  # weights are fractions
        for tenant, found in sums.items():
            found.append(counted[tenant])
    for tenant, found in sums.items():
        error = statistics.stdev(found) / len(found) ** 0.5
        assert abs(statistics.fmean(found) - totals[tenant]) < 3 * error
        assert error < 0.02 * totals[tenant]


def test_neither_what_was_drawn_nor_what_comes_later_changes_a_share():
    cases = arriving(90, {"a": 7, "b": 0.3})
    given = [[Shares(one).of(*case) for case in cases] for one in (at_least(seed=0), at_least(seed=1))]
    assert given[0] == given[1]
    half = drawn(cases[:300], at_least())
    assert drawn(cases, at_least())[: len(half)] == half


def test_conversations_and_traces_stay_whole_though_shares_change():
    # Each goes on for twenty minutes; the traffic of its tenant grows tenfold.
    cases = [
        (
            Case(f"{minute} {i}", "What?", tags={"tenant": "a", "conversation": f"talk {minute // 20} {i % 80}"}),
            60.0 * minute,
        )
        for minute in range(60)
        for i in range(80 if minute < 5 else 800)
    ]
    weights: dict[str, set[float]] = {}
    shares, draws = Shares(at_least(0.01, "20/min")), at_least(0.01, "20/min")
    for case, moment in cases:
        chosen = draws.choose(case, shares.of(case, moment))
        weights.setdefault(str(case.tags["conversation"]), set()).add(chosen.weight if chosen else 0.0)
    assert {len(found) for found in weights.values()} == {1}
    assert len({weight for found in weights.values() for weight in found} - {0.0, 1.0}) == 2

    made = [Case(f"t/{i}", "What?", trace_id="t", tags={"tenant": "a"}) for i in range(2)]
    others = [(Case(f"o{i}", "What?", tags={"tenant": "a"}), 1.0) for i in range(50)]
    shares = Shares(at_least())
    first = shares.of(made[0], 0.0)
    for one in others:
        shares.of(*one)
    assert shares.of(made[1], 61.0) == first == 1.0


def test_beyond_fifty_values_all_others_are_one_part():
    shares = Shares(at_least(0.0))
    tags = [f"t{i}" for i in range(MOST_PARTS + 30)]
    for tenant in tags:
        shares.of(Case(tenant, "What?", tags={"tenant": tenant}), 0.0)
    found = [shares.of(Case(f"{tenant}b", "What?", tags={"tenant": tenant}), 60.0) for tenant in tags]
    assert found == [0.5] * MOST_PARTS + [pytest.approx(0.5 / 30)] * 30
    assert len(shares.others) == 30


def test_other_rates_are_refused():
    for text in ("0.5", "0/min", "a/min", "-1/min", "1/s", "nan/min"):
        with pytest.raises(ConfigError, match="write a number of cases a minute above 0"):
            AtLeast.parse(text, "tenant")
    with pytest.raises(ConfigError, match="name it with --stratify"):
        AtLeast.parse("1/min", None)


def looked(size: str, *paths: Path, lots: Lots | None = None) -> Traffic:
    traffic = Traffic([open_cases(path) for path in paths], lots or Lots(), WindowSize.parse(size))
    traffic.look()
    return traffic


def test_windows_hold_what_is_drawn_by_it(tmp_path: Path):
    """Twenty cases come a minute, of which one in a hundred is the small tenant's."""
    rows: list[dict[str, Any]] = [
        row(i, time=(BEGIN + timedelta(seconds=3 * i)).isoformat(), tenant="small" if i % 100 == 0 else "big")
        for i in range(2000)
    ]
    traffic = looked("500", written(tmp_path / "a.jsonl", rows), lots=at_least(0.05, "0.2/min"))
    found = [case for _, cases in traffic.read() for case in cases]
    assert sum(window.judged for window in traffic.windows) == len(found) < 300
    assert Counter(case.tags["tenant"] for case in found)["small"] >= 15
    assert found == [case for _, cases in traffic.read() for case in cases]
    with pytest.raises(ConfigError, match="no case has a time, so --at-least has no minutes"):
        looked("500", written(tmp_path / "b.jsonl", [row(0, time=None)]), lots=at_least())


# -- windows


def ids(traffic: Traffic) -> list[list[str]]:
    return [[case.id for case in cases] for _, cases in traffic.read()]


def test_windows_are_slots_of_utc(tmp_path):
    traffic = looked("1h", written(tmp_path / "a.jsonl", [row(i) for i in (0, 5, 6, 30, 31)]))
    bounds = [(one.starts, one.ends, one.arrivals) for one in traffic.windows]
    assert bounds == [
        ("2026-11-01T00:00:00+00:00", "2026-11-01T01:00:00+00:00", 2),
        ("2026-11-01T01:00:00+00:00", "2026-11-01T02:00:00+00:00", 1),
        ("2026-11-01T05:00:00+00:00", "2026-11-01T06:00:00+00:00", 2),
    ]
    assert ids(traffic) == [["r0", "r5"], ["r6"], ["r30", "r31"]]
    assert ids(traffic) == [["r0", "r5"], ["r6"], ["r30", "r31"]]


def test_times_in_other_zones_are_those_of_utc_and_cases_without_a_time_stand_where_they_arrived(tmp_path):
    late = row(0, time="2026-11-02T01:30:00+02:00")
    traffic = looked("1d", written(tmp_path / "a.jsonl", [late, row(1, time="2026-11-02T00:00:00")]))
    assert [one.starts for one in traffic.windows] == ["2026-11-01T00:00:00+00:00", "2026-11-02T00:00:00+00:00"]
    rows = [row(0, time=None), row(1), row(20, time=None), row(12), row(3)]
    assert ids(looked("1h", written(tmp_path / "b.jsonl", rows))) == [["r0", "r1", "r20", "r3"], ["r12"]]


def test_windows_of_so_many_judged_cases(tmp_path):
    traffic = looked("3", written(tmp_path / "a.jsonl", [row(i) for i in range(7)]))
    assert ids(traffic) == [["r0", "r1", "r2"], ["r3", "r4", "r5"], ["r6"]]
    assert (traffic.windows[0].starts, traffic.windows[0].ends) == (row(0)["time"], row(2)["time"])
    # what is passed over doesn't move the next window
    assert [next(cases).id for _, cases in traffic.read()] == ["r0", "r3", "r6"]

    path = written(tmp_path / "b.jsonl", [row(i, time=None) for i in range(5)])
    assert [len(one) for one in ids(looked("2", path))] == [2, 2, 1]
    with pytest.raises(ConfigError, match="no case has a time: give windows of so many cases"):
        looked("1d", path)


def test_neither_the_order_of_a_file_nor_a_row_that_comes_again_matters(tmp_path):
    rows = [row(i) for i in range(40)]
    ordered = looked("1h", written(tmp_path / "a.jsonl", rows))
    random.Random(1).shuffle(rows)
    shuffled = looked("1h", written(tmp_path / "b.jsonl", rows))
    assert ids(shuffled) == ids(ordered)
    assert [one.identity("w") for one in shuffled.windows] == [one.identity("w") for one in ordered.windows]
    assert ordered.windows[0].identity("w") != ordered.windows[0].identity("v")

    one = written(tmp_path / "a.jsonl", [row(i) for i in range(4)])
    other = written(tmp_path / "b.jsonl", [row(i) for i in range(2, 6)])
    traffic = looked("1d", one, other)
    assert ids(traffic) == [[f"r{i}" for i in range(6)]]
    assert traffic.repeated == 2


def test_rows_that_cant_be_used_stand_in_the_window_around_them(tmp_path):
    bad = {**row(9), "question": None}
    first = written(tmp_path / "a.jsonl", [row(0), bad, row(6)])
    other = written(tmp_path / "b.jsonl", [row(7), bad])
    traffic = looked("1h", first, other)
    told = [[(one.row, one.reason.partition(":")[0]) for one in window.rejected] for window in traffic.windows]
    assert told == [[], [(2, f"{first}, row 2"), (5, f"{other}, row 2")]]
    assert traffic.counts.rejected == 2
    shown = [str(one).partition(":")[0] for one in traffic.counts.first_rejected]
    assert shown == [f"{first}, row 2, field 'query'", f"{other}, row 2, field 'query'"]
    with pytest.raises(InputError, match="none of its 2 rows can be used"):
        looked("1h", written(tmp_path / "c.jsonl", [bad, bad]))


def test_detectors_look_at_the_first_drawn_case_of_a_conversation_that_was_recorded(tmp_path):
    rows = [
        row(0, conversation="a"),
        row(1, conversation="a"),
        row(2),
        row(3, conversation="b", not_recorded=True),
        row(4, conversation="b"),
    ]
    (window,) = looked("1d", written(tmp_path / "a.jsonl", rows)).windows
    assert list(window.marks) == [COUNTS, DRAWN, COUNTS, DRAWN, COUNTS]
    kept = Lots(0.0, keep=[KeepRule.parse("conversation=a")])
    (window,) = looked("1d", tmp_path / "a.jsonl", lots=kept).windows
    assert (list(window.marks), window.arrivals, window.judged) == ([0, 0], 5, 2)
    versions = [row(i, version=version) for i, version in enumerate(("1.4", "1.4", "1.5"))]
    (window,) = looked("1d", written(tmp_path / "b.jsonl", versions)).windows
    assert list(window.versions) == ["1.4", "1.5"]  # in the order in which they came


def test_other_sizes_are_refused():
    for text in ("", "0", "1y", "1.5h", "-3", "h"):
        with pytest.raises(ConfigError, match="write 30m, 1h, 1d or 1w, or a number of cases"):
            WindowSize.parse(text)
