"""What is stored with a run, and read of one that an older version stored."""

from dataclasses import asdict, replace
from pathlib import Path

from ragtriage import RULES, metrics_named, thresholds_with
from ragtriage.diagnosis.rules import COSTS, Costs
from ragtriage.runs.evaluation_config import EvaluationConfig, config_of, to_stored
from ragtriage.runs.manifest import RunIdentity
from ragtriage.runs.run import RunInfo
from ragtriage.runs.selection import ALL_ROWS
from ragtriage.store import open_store

OWN = replace(RULES[0], name="own", origin="yours")
CONFIG = EvaluationConfig(metrics_named(["groundedness"]), thresholds_with({}), (*RULES, OWN), Costs(4.0, 1.0))


def stored(folder: Path, configuration: dict[str, object]) -> RunInfo:
    with open_store(folder) as store:
        identity = RunIdentity("rows", ("groundedness",))
        with store.begin(identity, input="rows.jsonl", rows=0, judge="fake", configuration=configuration):
            pass
        return store.run().info


def test_rules_and_costs_of_ones_own_come_back(tmp_path: Path) -> None:
    found = config_of(stored(tmp_path, to_stored(CONFIG, ALL_ROWS, {})))

    assert (found.rules[-1].name, found.rules[-1].when, found.costs) == ("own", OWN.when, Costs(4.0, 1.0))


def test_fields_of_a_rule_that_an_older_version_stored_are_passed_over(tmp_path: Path) -> None:
    older = asdict(OWN) | {"confidence": [0.0, 1.0], "sure_from": 0.9}
    del older["likely"]

    found = config_of(stored(tmp_path, {"thresholds": {}, "rules": [older]}))

    assert (found.rules[-1].name, found.rules[-1].when) == ("own", OWN.when)
    assert found.costs == COSTS
