"""Actors of a Ray cluster give what one process gives, also where one is killed; and Ray sends no reports."""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_models import Model, judging
from scripted_judges import row, written

from servers import Server

HERE = Path(__file__).parent
CLUSTER = """
from ragtriage.execution.ray_actors import ray_module
ray = ray_module()
ray.init("local", num_cpus=2, include_dashboard=False, object_store_memory=80_000_000, log_to_driver=False)
print(ray.get_runtime_context().gcs_address, flush=True)
input()
"""
REPORTS = """
import sys
from ragtriage.execution.ray_actors import ray_module
assert "ray" not in sys.modules
ray_module()
from ray._common.usage import usage_lib
print(usage_lib.usage_stats_enabled())
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which a small cluster is found; its actors are killed as `killed_once` says."""
    killed = str(tmp_path_factory.mktemp("ray") / "killed")
    path = os.pathsep.join(map(str, (HERE, HERE.parent, HERE.parent / "store")))
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    environment = {**os.environ, "KILLED_ONCE": killed, "PYTHONPATH": path, "OPENAI_API_KEY": "none", **token}
    command = [sys.executable, "-c", CLUSTER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address, process.communicate()
        yield {**environment, "RAY_ADDRESS": address}
        process.communicate("\n")


def run(command: list[object], environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, command)],
        env={key: value for key, value in environment.items() if key != "RAGTRIAGE_STORE"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_two_actors_of_which_one_is_killed_and_one_process_say_the_same(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    rows = written(tmp_path / "rows.jsonl", [*(row(i) for i in range(60)), "{broken", row(3)])
    done = run([HERE / "ray_driver.py", rows, tmp_path], cluster, tmp_path)

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["one"]["cases"] == 60
    assert found["actors"] == [found["one"], 1]


def test_the_command_on_a_cluster_keeps_its_budget_and_prints_what_it_prints_without(
    cluster: dict[str, str], tmp_path: Path
) -> None:
    written(tmp_path / "rows.jsonl", [row(i) for i in range(40)])
    flags = ["-m", "ragtriage", "evaluate", "rows.jsonl", "--metrics", "groundedness", "--json", "--price", "1000:2000"]
    on_ray = ["--rpm", "100000", "--tpm", "1000000000", "--out", "run/", "--store", "other"]
    with Server(Model()) as server:
        one = run([*flags, *judging(server)], cluster, tmp_path)
        price = json.loads(one.stdout)["spent"]["cost"]
        half = run([*flags, *judging(server), *on_ray, "--on", "ray:2", "--budget", price / 2], cluster, tmp_path)
        whole = run([*flags, *judging(server), *on_ray, "--on", "local:1", "--budget", 2 * price], cluster, tmp_path)

    assert [one.returncode, half.returncode, whole.returncode] == [0, 3, 0], half.stderr + whole.stderr
    assert "stopped before the budget of" in half.stderr
    first, second, alone = (json.loads(done.stdout) | {"run": ""} for done in (half, whole, one))
    assert price / 3 <= first["spent"]["cost"] <= price / 2
    assert 10 <= first["cases"] < 40
    assert second["spent"] == alone["spent"] | {"cost": pytest.approx(price)}
    assert second | {"spent": None} == alone | {"spent": None}


def test_ray_sends_no_reports_of_its_use(tmp_path: Path) -> None:
    # not even where somebody wants them
    done = run(["-c", REPORTS], {**os.environ, "RAY_USAGE_STATS_ENABLED": "1"}, tmp_path)

    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr


def test_a_cluster_that_is_not_there_is_told_in_a_sentence(tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(1)])
    command = ["-m", "ragtriage", "evaluate", "rows.jsonl", "--on", "ray", "--out", "run/"]
    done = run(command, {**os.environ, "RAY_ADDRESS": "127.0.0.1:1"}, tmp_path)

    assert done.returncode == 2, done.stderr
    assert "the Ray cluster can't be reached" in done.stderr.splitlines()[-1]
