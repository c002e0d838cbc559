"""What tests use: cases that are judged, and what can be asserted of them.

    from ragtriage.testing import assert_grounded, assert_score, cases

    @cases("answers.jsonl", tags={"topic": "billing"})
    def test_billing(case):
        assert_grounded(case)
        assert_score(case, response_query_coverage=0.8)

The pytest plugin judges all cases that were selected at once. Importing this loads nothing: the names are loaded when
they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ragtriage.testing.judged_case import JudgedCase, assert_grounded, assert_score, cases, judge
    from ragtriage.testing.judged_run import JudgedRun
    from ragtriage.testing.options import NotJudged, Undecided, UnsureWarning
    from ragtriage.testing.suite import use_judge

_HOMES = {
    "judged_case": ("JudgedCase", "assert_grounded", "assert_score", "cases", "judge"),
    "judged_run": ("JudgedRun",),
    "options": ("NotJudged", "Undecided", "UnsureWarning"),
    "suite": ("use_judge",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [  # written out, so that type checkers and readers see it
    "JudgedCase",
    "JudgedRun",
    "NotJudged",
    "Undecided",
    "UnsureWarning",
    "assert_grounded",
    "assert_score",
    "cases",
    "judge",
    "use_judge",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
