"""Labelling: what is drawn, what is shown, what is kept, and what both say at the end."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from ragtriage.core.case import Case, Record, Source
from ragtriage.core.errors import ConfigError
from ragtriage.core.verdicts import Answered, Component, Failure, Part, Score, Undefined, Verdict
from ragtriage.trust.agreement import people_agreement
from ragtriage.trust.label_files import (
    Draw,
    Item,
    Label,
    LabelFile,
    draw_items,
    items_of,
    metrics_to_label,
    read_labels,
)
from ragtriage.trust.label_session import LabellingSession, compare_with_judge, screen

ITEMS = [Item(f"q{i}", "groundedness", i % 3, f"Claim {i}.", "yes", 0.9) for i in range(200)]


def item(name: str, verdict: Answered = "yes") -> Item:
    return Item(name, "groundedness", 0, "It is so.", verdict, 0.9)


def drawn_of(n: int, seed: int, items: Sequence[Item] = ITEMS) -> Draw:
    return draw_items(items, ["groundedness"], n, seed)


def test_every_item_is_drawn_as_often_as_its_chance_says() -> None:
    drawn = [drawn_of(20, seed) for seed in range(400)]

    assert {draw.inclusion for draw in drawn} == {0.1}
    assert 20 < sum(ITEMS[0] in draw.items for draw in drawn) < 60
    assert len({one.case for one in drawn[0].items}) == 20


def test_a_draw_hangs_on_the_seed_and_not_on_the_order_and_grows_with_n() -> None:
    assert drawn_of(20, 3, ITEMS[::-1]) == drawn_of(20, 3)
    assert drawn_of(20, 3).items != drawn_of(20, 4).items
    assert drawn_of(40, 3).items[:20] == drawn_of(20, 3).items
    assert drawn_of(500, 3).inclusion == 1.0
    assert {drawn_of(n, 3).name for n in (20, 40)} == {"groundedness; 200 items; seed 3"}


def record(*parts: Part, sources: tuple[str, ...] = ("Ferries run daily.",)) -> Record:
    case = Case("q1", "When do ferries run?", tuple(map(Source, sources)), "Ferries run daily. Dogs bark.")
    known = [part.good for part in parts if part.good is not None]
    return Record(case, outcomes={"groundedness": Score(1.0, len(known), parts=parts)})


def test_items_are_the_components_with_a_verdict_as_the_metric_counts_it() -> None:
    parts = (
        Part(Component("Ferries run daily."), Verdict("yes", 0.9, 0.9), True),
        Part(Component("Dogs bark."), Verdict("no", 0.1, 0.9, sure=False), False),
        Part(Component("Cats purr."), Failure("out of order"), None),
        Part(Component("It rains."), Verdict("unknown"), None),
    )
    found = list(items_of(record(*parts), ["groundedness", "response_precision"]))

    assert [(one.component, one.verdict, one.score) for one in found] == [
        (0, "yes", 0.9),
        (1, "no", 0.1),
        (3, "unknown", None),
    ]
    undefined = Record(record().case, outcomes={"groundedness": Undefined("no response")})
    assert list(items_of(undefined, ["groundedness"])) == []


def test_only_metrics_of_the_run_can_be_labelled() -> None:
    run = ("groundedness", "mrr", "self_distinctness")

    assert metrics_to_label(["all"], run) == ("groundedness", "self_distinctness")
    with pytest.raises(ConfigError, match="fact_precision: the run doesn't have it"):
        metrics_to_label(["fact_precision"], run)
    with pytest.raises(ConfigError, match="mrr: it can't be labelled"):
        metrics_to_label(["mrr"], run)


@pytest.mark.parametrize("size", [1, 40])
def test_a_screen_has_24_lines_of_80_and_the_nearest_passage_first_and_no_verdict(size: int) -> None:
    filler = [f"Passage {i} tells of quite other things, at some length, as passages do." for i in range(size)]
    case = record(sources=(*filler, "All ferries run daily from May on.", *filler))
    asked = Item("q1", "groundedness", 0, "Ferries run daily. " * size, "no", 0.0123)

    lines = screen(asked, case, "3 of 20")

    assert len(lines) + 2 <= 24
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert "0.01" not in text
    assert "All ferries run daily from May on." in text
    if size > 1:
        assert "e shows everything" in text
        assert text.index("All ferries run") < text.index("Passage")
        assert "Passage 39" in "\n".join(screen(asked, case, "3 of 20", whole=True))


def test_a_row_of_a_table_is_shown_below_the_names_of_its_columns() -> None:
    rows = "".join(f"| week {i} | {i} euros | zone {i} |\n" for i in range(40))
    table = f"Prices of 2024.\n\n| ticket | price | where |\n|---|---|---|\n| day pass | 12 euros | all |\n{rows}"
    asked = Item("q1", "groundedness", 0, "A day pass costs 12 euros in zone 7.", "no", 0.01)

    lines = screen(asked, record(sources=(table,)), "3 of 20")

    at = next(i for i, line in enumerate(lines) if "day pass | 12 euros" in line)
    assert lines[at - 1] == "  ticket | price | where"
    assert "".join(lines).count("ticket | price | where") == 1
    assert len(lines) + 2 <= 24


def test_escape_sequences_of_a_text_do_not_reach_the_terminal() -> None:
    case = record(sources=("Ferries \x1b[2J run daily.",))
    assert "\x1b" not in "".join(screen(ITEMS[0], case, "1 of 1"))
    assert "\x1b" not in "".join(screen(ITEMS[0], case, "1 of 1", whole=True))


NAME = "groundedness; 6 items; seed 0"
DRAW = Draw(tuple(item(name, verdict) for name, verdict in (("a", "yes"), ("b", "no"), ("c", "unknown"))), 0.5, NAME)


def keys(text: str, seen: list[tuple[int, Label | None]]):
    given = iter(text)

    def ask(asked: Item, at: int, before: Label | None) -> str:
        assert asked == DRAW.items[at]
        seen.append((at, before))
        return next(given)

    return ask


def test_labels_are_kept_one_by_one_and_the_next_session_goes_on(tmp_path: Path) -> None:
    path, seen = tmp_path / "labels.jsonl", []
    with LabelFile(path) as file:
        session = LabellingSession(file, "7", DRAW, "Ana")
        assert not session.run(keys("yq", seen))
        assert [one.label for one in read_labels(path)[0]] == [True]
    with LabelFile(path) as file:
        session = LabellingSession(file, "7", DRAW, "Ana")
        assert session.run(keys("sn", seen))
        assert session.done
    assert [at for at, _ in seen] == [0, 1, 1, 2]
    labels = read_labels(path)[0]
    assert [(one.case, one.label) for one in labels] == [("a", True), ("b", None), ("c", False)]
    assert {(one.chance, one.by) for one in labels} == {(0.5, "Ana")}


def test_going_back_changes_a_label(tmp_path: Path) -> None:
    seen: list[tuple[int, Label | None]] = []
    with LabelFile(tmp_path / "labels.jsonl") as file:
        session = LabellingSession(file, "7", DRAW)
        assert session.run(keys("bybnyy", seen))

    said = [(at, before.label if before else None) for at, before in seen]
    assert said == [(0, None), (0, None), (1, None), (0, True), (1, None), (2, None)]
    assert [one.label for one in session.labels] == [False, True, True]


def test_another_person_and_another_run_begin_anew(tmp_path: Path) -> None:
    with LabelFile(tmp_path / "labels.jsonl") as file:
        assert LabellingSession(file, "7", DRAW, "Ana").run(keys("yyy", []))
        assert LabellingSession(file, "7", DRAW, "Ben").labels == ()
        assert LabellingSession(file, "8", DRAW, "Ana").labels == ()


def test_a_larger_or_smaller_draw_goes_on_and_each_label_keeps_the_chance_it_was_asked_with(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    with LabelFile(path) as file:
        assert not LabellingSession(file, "7", DRAW).run(keys("yq", []))
        before = path.read_bytes()
        smaller = LabellingSession(file, "7", Draw(DRAW.items[:2], 0.2, NAME))
        assert path.read_bytes() == before
        assert smaller.run(lambda *_: "n")
    assert [(one.case, one.chance, one.draw) for one in read_labels(path)[0]] == [("a", 0.5, NAME), ("b", 0.2, NAME)]


@pytest.mark.parametrize("other", ["groundedness; 6 items; seed 1", "groundedness, x; 6 items; seed 0"])
def test_another_draw_into_the_same_file_is_refused(tmp_path: Path, other: str) -> None:
    path = tmp_path / "labels.jsonl"
    further = Draw((item("z"),), 0.5, other)  # not even an item that both have
    with LabelFile(path) as file:
        assert LabellingSession(file, "7", DRAW).run(keys("yyy", []))
        with pytest.raises(
            ConfigError, match=r"another draw \(groundedness; 6 items; seed 0\).*name another file with -o"
        ):
            LabellingSession(file, "7", further)
        assert LabellingSession(file, "7", further, "Ben").labels == ()
        precision = (Item("z", "response_precision", 0, "It is so.", "yes", 0.9),)
        assert LabellingSession(file, "7", Draw(precision, 0.5, "response_precision; 9 items; seed 3")).labels == ()


def test_labels_that_were_not_drawn_stay_apart(tmp_path: Path) -> None:
    with LabelFile(tmp_path / "labels.jsonl") as file:
        file.add(Label("7", "z", "groundedness", 0, "It is so.", True, "yes"))
        with pytest.raises(ConfigError, match=r"weren't drawn at random \(chance: null\): name another file"):
            LabellingSession(file, "7", DRAW)
        assert LabellingSession(file, "7", DRAW, "Ben").labels == ()


def test_both_are_compared_where_both_said_something() -> None:
    def label(said: bool | None, verdict: Answered) -> Label:
        return Label("7", "a", "groundedness", 0, "It is so.", said, verdict)

    agreed = [label(True, "yes"), label(False, "no")] * 8 + [label(True, "yes")]
    wrong = [label(False, "yes")] * 3
    found = compare_with_judge([*agreed, *wrong, label(None, "yes"), label(True, "unknown")])

    assert (found.agree, found.of, found.skipped, found.unknown) == (17, 20, 1, 1)
    assert found.share.low == pytest.approx(0.64, abs=0.005)
    assert found.share.high == pytest.approx(0.95, abs=0.005)
    assert found.disagreements == tuple(wrong)


def told(case: str, said: bool | None, by: str, text: str = "It is so.") -> Label:
    return Label("1", case, "groundedness", 0, text, said, "yes", by=by)


def test_kappa_and_the_share_are_of_what_both_said_something_about() -> None:
    ana = [*[True] * 6, *[False] * 4, None, True]
    ben = [*[True] * 5, *[False] * 4, True, True, None]  # two of ten differ
    labels = [told(f"q{i}", said, "Ben") for i, said in enumerate(ben)]
    labels += [told(f"q{i}", said, "Ana") for i, said in enumerate(ana)]
    labels += [told("q0", False, "Cem", "Another text."), told("q99", True, "Cem")]

    (found,) = people_agreement(labels)

    assert (found.one, found.other, found.same, found.of) == ("Ana", "Ben", 8, 10)
    # 0.8 observed, 0.6 · 0.6 + 0.4 · 0.4 = 0.52 by chance
    assert found.kappa.value == pytest.approx((0.8 - 0.52) / 0.48)
    assert found.kappa.low < found.kappa.value < found.kappa.high
    assert found.share.low == pytest.approx(0.49, abs=0.005)


def test_kappa_is_undefined_where_both_gave_one_answer_only() -> None:
    (found,) = people_agreement([told(f"q{i}", True, by) for i in range(5) for by in ("Ana", "Ben")])
    assert (found.same, found.of, found.kappa.value) == (5, 5, None)
