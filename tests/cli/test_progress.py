"""How far a run is: no rate and no time left before they can be told; and how a terminal shows long lines."""

import io

import pytest

from ragtriage.cli.console import Pace, fitted, progress, tell


def rates_at(*times: float) -> list[float | None]:
    """The rate after each case that was done at one of these times."""
    now = [0.0]
    pace, found = Pace(lambda: now[0]), []
    for time in times:
        now[0] = time
        pace.count()
        found.append(pace.rate())
    return found


def test_loading_is_no_part_of_the_rate() -> None:
    rates = rates_at(30.0, *(31.0 + second for second in range(20)))

    assert rates[:10] == [None] * 10
    assert rates[10:] == [pytest.approx(1.0)] * 11


def test_the_burst_that_waited_for_the_models_is_no_part_of_it() -> None:
    rates = rates_at(*(20.0 + 0.01 * n for n in range(12)), *(22.0 + second for second in range(12)))

    assert rates[:21] == [None] * 21
    assert rates[-1] == pytest.approx(1.0, rel=0.1)


def test_a_few_quick_cases_tell_nothing() -> None:
    rates = rates_at(1.0, *(1.6 + 0.1 * n for n in range(9)))

    assert rates == [None] * 10


def test_several_that_are_counted_at_once_count_each() -> None:
    now = [0.0]
    pace = Pace(lambda: now[0])
    for second in range(5):
        now[0] = float(second)
        pace.count(1_000)

    assert pace.rate() == pytest.approx(1_000)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_gives_way_to_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("COLUMNS", "32")
    with progress(50, 1, note=lambda: "3 requests, $0.03") as advance:
        advance(2)
        tell("note: half of it")

    assert terminal.getvalue().split("\r\x1b[K") == ["", "evaluating: 3 of 50 cases, 3 re", "note: half of it\n", ""]


def test_a_terminal_shows_long_lines_without_a_word_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    lines = ["  query: When does the first ferry leave?", "short"]

    assert list(fitted(lines, _Terminal())) == ["  query: When does the", "    first ferry leave?", "short"]
    assert list(fitted(lines, io.StringIO())) == lines
