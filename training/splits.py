"""What is trained on, what is kept to fit the fusion, and what to measure."""

from __future__ import annotations

import zlib
from typing import Literal

PUBLIC = {
    "answered/condaqa": 600,
    "answered/covid_qa": 2700,
    "answered/selqa": 2000,
    "answered/squad1_train": 2500,
    "answered/squad2cr_train": 12000,
    "essential/selqa": 4000,
    "essential/squad1_train_sent": 2000,
    "essential/qed_dev": 1777,
    "supported/evidence_inference": 1500,
    "supported/factcheckbench_stance": 2730,
    "supported/faithdial_audit": 1268,
    "supported/fever": 5000,
    "supported/feversym": 1406,
    "supported/summedits": 5000,
    "supported/wikibio_gpt3": 1891,
}
"""Public sets whose licence lets weights be shipped → how many rows of them. None of the rows of an agreement set is
among them, so that all of those may be scored."""
GROUPS = {"consumer", "encyclopedia", "engineering", "health", "office", "software"}
"""The files of adversarial groups; the others beside them hold natural cases."""
WHOLE = GROUPS | {name.split("/")[1] for name in PUBLIC}
"""Sets that are trained on whole."""
HELD = {"DVC docs", "CivicActions handbook", "veterinary", "telecom"}
"""Domains that nothing is fitted on: a product's documentation, a handbook with its policies, and two of the
organisations with tables and records."""
FUSION = 5
"""One natural case in so many is kept from the matcher, to fit on what it says of cases that it hasn't seen."""

Split = Literal["", "fusion", "held"]


def split_of(name: str, group: str, domain: str) -> Split:
    """Where a case or group of a set belongs; empty if the matcher is trained on it."""
    if domain in HELD:
        return "held"
    return "fusion" if name not in WHOLE and zlib.crc32(group.encode()) % FUSION == 0 else ""
