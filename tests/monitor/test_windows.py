"""Files are cut into windows."""

import random
from pathlib import Path

import pytest
from watched import row

from cli_rows import written
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.monitor.lots import KeepRule, Lots
from ragtriage.monitor.windows import COUNTS, DRAWN, Traffic, WindowSize
from ragtriage.readers import open_cases


def looked(size: str, *paths: Path, lots: Lots | None = None) -> Traffic:
    traffic = Traffic([open_cases(path) for path in paths], lots or Lots(), WindowSize.parse(size))
    traffic.look()
    return traffic


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
