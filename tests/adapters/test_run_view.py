"""A stored run, a case and a comparison, as a notebook shows them."""

from pathlib import Path

import pytest
from judged_rows import ROWS, scripted

import ragtriage
from ragtriage.adapters.harness import Harness
from ragtriage.adapters.run_view import _printed

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def runs(own_folder: Path) -> tuple[int, int]:
    for answers in (("Parcels take two days.", HOSTILE), ("Parcels take a year.", HOSTILE)):
        harness = Harness("test", ["groundedness"], {"judge": scripted()}, made_by=None)
        harness.judge_rows([{**ROWS[0], "question": f"Q{at}?", "answer": text} for at, text in enumerate(answers)])
        harness.close()
    return 1, 2


def test_a_run_shows_its_numbers_and_worst_cases(runs: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    run = ragtriage.open_run()
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)  # where it would display what it prints
    shown = run._repr_html_()

    assert not _printed([]).is_jupyter
    assert run.number == runs[1]
    assert "2 cases" in repr(run)
    assert "Grounded" in shown
    assert shown.startswith("<pre")
    assert "<script" not in shown
    compared = run.compare(runs[0])
    assert "Grounded" in compared._repr_html_()
    assert "Grounded" in repr(compared)


def test_a_case_shows_its_texts_and_none_of_them_as_html(runs: tuple[int, int]) -> None:
    run = ragtriage.open_run(runs[0])
    case_id = next(record.case.id for record in run.stored.records() if record.case.response == HOSTILE)

    shown = run.case(case_id)._repr_html_()

    assert "&lt;img src=x" in shown
    assert "<img" not in shown
    assert case_id in repr(run.case(case_id))
    with pytest.raises(ragtriage.NotStoredError, match="holds no case"):
        run.case("nope")


def test_a_run_that_is_not_there_is_told(own_folder: Path) -> None:
    with pytest.raises(ragtriage.NotStoredError):
        ragtriage.open_run()
    assert [*own_folder.iterdir()] == []
