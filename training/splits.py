"""What is trained on, what is kept to fit the fusion, and what to measure."""

import zlib
from typing import Literal

PUBLIC = {
    "answered/condaqa": 600,
    "answered/covid_qa": 2700,
    "answered/selqa": 2000,
    "answered/squad1_train": 2500,
    "answered/squad2cr_train": 14964,
    "essential/selqa": 5000,
    "essential/squad1_train_sent": 3000,
    "essential/qed_dev": 1777,
    "supported/evidence_inference": 1500,
    "supported/factcheckbench_stance": 2730,
    "supported/faithdial_audit": 1268,
    "supported/fever": 8000,
    "supported/feversym": 1406,
    "supported/summedits": 7044,
    "supported/wikibio_gpt3": 1891,
}
"""Public sets whose licence lets weights be shipped → how many rows of them."""
LENT = {
    "supported/attributionbench",
    "supported/ragtruth-qa-sentence",
    "supported/wice",
    "answered/clapnq",
    "answered/hotpotqa-coverage",
    "answered/mtrag-partial",
    "answered/nomiracl-en",
    "answered/summhay",
    "essential/clapnq-sentence",
    "essential/hotpotqa-distractor-paragraph",
    "essential/hotpotqa-paragraph",
    "essential/hotpotqa-sentence",
    "same_answer/evouna-nq",
}
"""Agreement sets whose licence lets weights be shipped. They are trained on, so they are scored fold by fold: by
weights that saw no row of the same group."""
AKIN = {"supported/ragtruth-qa-response"}
"""Sets over the same answers as a lent one: not trained on, and scored fold by fold too."""
UNCLEAR = {"LFQA"}
"""Parts of lent sets that state no licence."""
FOLD_NAMES: tuple[Literal["fold 0", "fold 1", "fold 2"], ...] = ("fold 0", "fold 1", "fold 2")
GROUPS = {"consumer", "encyclopedia", "engineering", "health", "office", "software"}
"""The files of adversarial groups; the others beside them hold natural cases."""
WHOLE = GROUPS | {name.split("/")[1] for name in PUBLIC}
"""Sets that are trained on whole."""
HELD = {"DVC docs", "CivicActions handbook", "veterinary", "telecom"}
"""Domains that nothing is fitted on: a product's documentation, a handbook with its policies, and two of the
organisations with tables and records."""
CHOOSING = {"first", "second"}
"""The files of `authored/cases` on which thresholds are chosen: not trained on."""
FUSION = 5
"""One natural case in so many is kept from the matcher, to fit on what it says of cases that it hasn't seen."""

Split = Literal["", "fusion", "held", "measured", "fold 0", "fold 1", "fold 2"]


def split_of(name: str, group: str, domain: str) -> Split:
    """Where a case or group of a set belongs; empty if the matcher is trained on it.

    Agreement sets (`task/name`) are lent fold by fold, or only measured.
    """
    if "/" in name:
        lent = name in LENT | AKIN and domain not in UNCLEAR
        return FOLD_NAMES[zlib.crc32(group.encode()) % len(FOLD_NAMES)] if lent else "measured"
    if domain in HELD:
        return "held"
    return "fusion" if name not in WHOLE and zlib.crc32(group.encode()) % FUSION == 0 else ""
