"""Actors of a Ray cluster give what one process gives, also where one is killed; and Ray sends no reports."""

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_models import Model, judging

from servers import Server

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one process saw on a small cluster, of which it killed an actor."""
    folder = tmp_path_factory.mktemp("ray")
    environment = {
        **{name: value for name, value in os.environ.items() if name != "RAGTRIAGE_STORE"},
        "KILLED_ONCE": str(folder / "mark"), "OPENAI_API_KEY": "none",
        "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_USAGE_STATS_ENABLED": "1",  # somebody wants reports
    }  # fmt: skip
    with Server(Model()) as server:
        command = [sys.executable, HERE / "ray_driver.py", folder, *judging(server)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])  # type: ignore[no-any-return]


def test_two_actors_of_which_one_is_killed_and_one_process_say_the_same(seen: dict[str, Any]) -> None:
    assert seen["one"]["cases"] == 60
    assert seen["actors"] == [seen["one"], True, 1]


def test_the_command_on_a_cluster_keeps_its_budget_and_prints_what_it_prints_without(seen: dict[str, Any]) -> None:
    codes, results, last = zip(*(seen[name] for name in ("alone", "half", "whole")), strict=True)
    alone, first, second = (result | {"run": ""} for result in results)
    price = alone["spent"]["cost"]

    assert codes == (0, 3, 0), last
    assert "stopped before the budget of" in last[1]
    assert price / 3 <= first["spent"]["cost"] <= price / 2
    assert 10 <= first["cases"] < 40
    assert second["spent"] == alone["spent"] | {"cost": pytest.approx(price)}
    assert second | {"spent": None} == alone | {"spent": None}


def test_ray_sends_no_reports_of_its_use_not_even_where_somebody_wants_them(seen: dict[str, Any]) -> None:
    assert seen["reports"] is False


def test_a_cluster_that_is_not_there_is_told_in_a_sentence(seen: dict[str, Any]) -> None:
    code, result, last = seen["unreached"]

    assert (code, result) == (2, None)
    assert "the Ray cluster can't be reached" in last
