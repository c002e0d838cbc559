"""Twins made by program: they differ in one detail, and only one of the two follows from its evidence."""

import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import readings
import twins

from examples import rows_of

AUTHORED = Path(__file__).parents[2] / "training" / "authored"
FEE = "The fee is 12 euros."
TRIALS = 60


def made(claim: str, evidence: tuple[str, ...], most: int = 12) -> list[Any]:
    """The twins of many draws."""
    return [one for seed in range(TRIALS) for one in twins.twins(claim, evidence, random.Random(seed), most)]


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[\w£€$%.,'’-]*\w", text.lower()))


def supported_claims() -> list[tuple[str, tuple[str, ...]]]:
    """Supported claims of natural cases, with their evidence."""
    found = []
    for name in ("handbook", "conversations", "versions"):
        for case in rows_of(AUTHORED / f"{name}.jsonl"):
            evidence = tuple(sentence for passage in case["passages"] for sentence in passage)
            found += [(text, evidence) for text, label, *_ in case["response"] if label == 1]
    return found


@pytest.fixture(scope="module")
def natural() -> list[tuple[str, tuple[str, ...], Any]]:
    """Claim, evidence and twin, of all natural cases of some files."""
    draw = random.Random(0)
    claims = supported_claims()
    found = [(claim, evidence, twin) for claim, evidence in claims for twin in twins.twins(claim, evidence, draw, 3)]
    assert len(found) > 500
    return found


def test_a_twin_never_equals_its_original_and_both_are_read_beside_the_same_evidence(
    natural: list[tuple[str, tuple[str, ...], Any]],
) -> None:
    for claim, evidence, twin in natural:
        (said, there), (altered, beside) = twin.supported, twin.altered
        assert said != altered
        assert there == beside
        assert claim in (said, altered)
        assert len(there) == len(evidence)


def test_the_original_is_supported_by_its_own_evidence_and_altered_beside_a_changed_one(
    natural: list[tuple[str, tuple[str, ...], Any]],
) -> None:
    kept = 0
    for claim, evidence, twin in natural:
        assert (twin.supported[0] == claim) == (twin.supported[1] == evidence)
        kept += twin.supported[0] == claim
    assert 0.3 * len(natural) < kept < 0.95 * len(natural)


def test_the_evidence_of_the_supported_one_holds_what_was_exchanged(
    natural: list[tuple[str, tuple[str, ...], Any]],
) -> None:
    exchanged = 0
    for claim, _, twin in natural:
        said, there = twin.supported
        if said != claim:
            exchanged += 1
            new = words(said) - words(claim) - Counter(("a", "an"))
            text = " ".join(there).lower()
            assert all(word in text for word in new), (claim, said, there)
    assert exchanged > 100


def test_no_twin_is_made_that_another_sentence_makes_true() -> None:
    near = made(FEE, ("The fee is 12 euros in May.", "The fee is 15 euros in June."))
    apart = made(FEE, ("The fee is 12 euros in May.", "Big dogs weigh 15 kilos or more."))

    assert not [one for one in near if "15" in one.altered[0] and one.supported[0] == FEE]
    assert [one for one in apart if "15" in one.altered[0] and one.supported[0] == FEE]


def test_numbers_exchange_places_in_the_evidence_as_well() -> None:
    found = [one for one in made(FEE, ("The fee is 12 euros.", "Big dogs weigh 15 kilos.")) if one.supported[0] != FEE]

    fifteen = {one.supported for one in found if "15 euros" in one.supported[0]}
    assert fifteen == {("The fee is 15 euros.", ("The fee is 15 euros.", "Big dogs weigh 12 kilos."))}


def test_a_claim_with_nothing_to_change_has_no_twin_of_that_kind() -> None:
    kinds = {one.kind for one in made("They walked.", ("They walked.",))}

    assert not kinds & {"number", "name", "date", "swapped", "condition"}


def test_a_denial_is_taken_back_and_an_affirmation_denied() -> None:
    denial, affirmation = "Dogs are not allowed.", "Dogs are allowed."
    for claim, opposite in ((denial, affirmation), (affirmation, denial)):
        assert opposite in {one.altered[0] for one in made(claim, (claim,)) if one.kind == "negated"}


@pytest.mark.parametrize(
    ("claim", "other", "places"),
    [
        ("The fee is 15 euros.", "The fee is 12 euros.", ["15"]),
        ("Dogs are not allowed.", "Dogs are allowed.", ["not"]),
        ("Dogs are allowed.", "Dogs are not allowed.", ["allowed"]),
        ("Ada met Ben.", "Ben met Ada.", ["Ada", "Ben"]),
        ("The same.", "The same.", []),
        ("", "Anything.", []),
    ],
)
def test_it_is_told_where_a_claim_differs_from_its_twin(claim: str, other: str, places: list[str]) -> None:
    found = readings.differing(claim, other)

    assert all(0 <= start < end <= len(claim) for start, end in found)
    joined = [claim[start:end] for start, end in found]
    assert all(place in " ".join(joined) for place in places)
    assert bool(joined) == bool(places)


def test_both_readings_of_twins_carry_one_number_and_the_altered_one_where_it_differs() -> None:
    evidence = ["The fee is 12 euros.", "Big dogs weigh 15 kilos."]
    found = list(readings.twin_pairs(FEE, evidence, random.Random(1), 3, origin="made"))

    assert found
    for good, bad in zip(found[::2], found[1::2], strict=True):
        assert good.twin == bad.twin >= 0
        assert (good.targets[0][3], bad.targets[0][3]) == (1.0, 0.0)
        assert good.altered == []
        assert bad.altered
        assert good.kind == bad.kind
