"""Two people's labels of the same items."""

import pytest

from ragtriage.trust.agreement import people_agreement
from ragtriage.trust.label_files import Label


def label(case: str, said: bool | None, by: str, text: str = "It is so.") -> Label:
    return Label("1", case, "groundedness", 0, text, said, "yes", by=by)


def test_kappa_and_the_share_are_of_what_both_said_something_about() -> None:
    ana = [*[True] * 6, *[False] * 4, None, True]
    ben = [*[True] * 5, *[False] * 4, True, True, None]  # two of ten differ
    labels = [label(f"q{i}", said, "Ben") for i, said in enumerate(ben)]
    labels += [label(f"q{i}", said, "Ana") for i, said in enumerate(ana)]
    labels += [label("q0", False, "Cem", "Another text."), label("q99", True, "Cem")]

    (found,) = people_agreement(labels)

    assert (found.one, found.other, found.same, found.of) == ("Ana", "Ben", 8, 10)
    # 0.8 observed, 0.6 · 0.6 + 0.4 · 0.4 = 0.52 by chance
    assert found.kappa.value == pytest.approx((0.8 - 0.52) / 0.48)
    assert found.kappa.low < found.kappa.value < found.kappa.high
    assert found.share.low == pytest.approx(0.49, abs=0.005)


def test_kappa_is_undefined_where_both_gave_one_answer_only() -> None:
    (found,) = people_agreement([label(f"q{i}", True, by) for i in range(5) for by in ("Ana", "Ben")])
    assert (found.same, found.of, found.kappa.value) == (5, 5, None)
