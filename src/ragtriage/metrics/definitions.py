"""A metric's definition as data, so that a run can show a custom metric also when its file is gone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from ragtriage.core import steps
from ragtriage.core.metric import Metric
from ragtriage.core.steps import Step
from ragtriage.core.verdicts import Outcome, Undefined, Verdicts
from ragtriage.metrics.aggregate import share

_CLASS = "is"
"""Under which a stored step has the name of its class; no field is called so."""


def definition_of(metric: Metric) -> dict[str, Any]:
    """Everything about a metric but how it is computed; of JSON's types."""
    found = {field.name: getattr(metric, field.name) for field in fields(Metric) if field.name != "compute"}
    needs = {name: _written_step(step) for name, step in metric.needs.items()}
    return {**found, "range": list(metric.range), "kinds": dict(metric.kinds), "needs": needs}


def metric_from(definition: Mapping[str, Any]) -> Metric:
    """Undo `definition_of`. The metric shows what was stored; called, it is undefined, as its function isn't stored."""

    def compute(**_: Verdicts) -> Outcome:
        origin = definition["origin"] or definition["name"]
        return Undefined(f"{origin} isn't loaded here: evaluate with --metrics to compute it")

    bottom, top = definition["range"]
    return Metric(**{**definition, "needs": needs_in(definition), "range": (bottom, top)}, compute=compute)


def metric_by_name_alone(name: str) -> Metric:
    """A metric of which nothing but its name was stored."""
    return metric_from(definition_of(Metric(name, name, {}, share)))


def needs_in(definition: Mapping[str, Any]) -> dict[str, Step]:
    """The steps of a stored definition, by parameter."""
    return {name: _read_step(step) for name, step in definition["needs"].items()}


def version_of(metric: Metric) -> str:
    """A digest that changes when a custom metric does: its definition, and the file that its function stands in.

    What that file imports isn't looked into. Of a function without a file (a notebook's) it is the compiled code.
    """
    code = getattr(metric.compute, "__code__", None)
    try:
        text = Path(code.co_filename).read_bytes() if code else b""
    except OSError:
        text = repr((code.co_code, code.co_consts, code.co_names)).encode() if code else b""
    definition = json.dumps({**definition_of(metric), "origin": ""}, sort_keys=True)
    return hashlib.blake2b(definition.encode() + text, digest_size=8).hexdigest()


def _written_step(step: Any) -> Any:
    """A step as a table of its fields with the name of its class; steps may hold steps."""
    if not is_dataclass(step) or isinstance(step, type):
        return list(step) if isinstance(step, tuple) else step
    return {_CLASS: type(step).__name__, **{f.name: _written_step(getattr(step, f.name)) for f in fields(step)}}


def _read_step(found: Any) -> Any:
    if isinstance(found, list):
        return tuple(found)
    if not isinstance(found, dict):
        return found
    return getattr(steps, found[_CLASS])(**{key: _read_step(value) for key, value in found.items() if key != _CLASS})
