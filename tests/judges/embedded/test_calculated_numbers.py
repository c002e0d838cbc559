"""The results of calculations that a response writes out."""

import time

import pytest

from ragtriage.judges.embedded.calculations import calculated_numbers


@pytest.mark.parametrize(
    ("response", "known", "found"),
    [
        ("2 × €58 (adults) + €41 (15-year-old) + €29 (9-year-old) = **€186**", {58, 41, 29}, {186}),
        ("- Night: 120 kWh × 14.2p = £17.04\n- Other: 80 kWh × 31.5p = £25.20\n- Total: **£42.24**",
         {120, 14.2, 80, 31.5}, {17.04, 25.2, 42.24}),
        ("Days 11–12: 2 days × EUR 180 = EUR 360", {180}, {360, 2}),
        ("352 of 640 = 55%", {352, 640}, {55}),
        ("The rest, 352 − 12 = 340, voted. With 210 in favour that is about 61.8%.", {352, 12, 210}, {340, 61.8}),
        ("14,000 to 40,000: 26,000 × 18% = 4,680", {14000, 40000, 18}, {4680, 26000}),
        ("2,500 words × €0.18 = €450\n€450 × 1.40 (express) = €630", {2500, 0.18, 40}, {450, 630}),
        ("| Charge | – | £8.20 |\n| Water | 12 × £1.86 | £22.32 |\n| **Total** | | **£30.52** |", {8.2, 1.86},
         {22.32, 30.52}),
        ("12 × 90% = 10.8; 10.8 × £2 = £21.60; 12 × £1.86 = £22.32; in all £43.92", {12, 90, 2, 1.86}, {43.92}),
        ("- Pitch: €22.00\n- 2 adults: €14.00\n- Dog: €3.00\n\nThat is €39 a night, and 5 × €39 = €195.", {22, 7, 3},
         {39, 195}),
        ("In total 9,414: 8,064 (48 ha at 168) and another 1,350.", {48, 168, 30, 45}, {9414, 8064, 1350}),
        ("At 5 € each: \\( 12 \\times 5 = 60 \\)", {12}, {60}),
    ],
)  # fmt: skip
def test_a_right_calculation_accounts_for_its_numbers(response: str, known: set[float], found: set[float]) -> None:
    assert found <= calculated_numbers(response, frozenset(known))


@pytest.mark.parametrize(
    ("response", "known"),
    [
        ("2 × €58 = €126", {58}),
        ("3 × €77 = €231", {58}),
        ("Together they cost 99 euros.", {45, 54}),
        ("In total 9,415: 8,064 (48 ha at 168) and another 1,350.", {48, 168, 30, 45}),
        ("It is 10:30 = late", {10}),
        ("1 + 1 = " + "9" * 400, set()),
    ],
)
def test_a_wrong_one_or_one_of_made_up_numbers_accounts_for_nothing(response: str, known: set[float]) -> None:
    assert not calculated_numbers(response, frozenset(known)) - {0, 1, 2, 3}


def test_without_a_calculation_no_sum_is_looked_for() -> None:
    assert calculated_numbers("Breakfast 12, dinner 30, in all 42.", frozenset({12, 30})) == frozenset()


@pytest.mark.parametrize("unit", ["1 + 1 = 2, ", "1 + ", "1 of ", "(1) ", "*", "5 5 = ", "1", "1,", "9.5 × 1.5 = 3\n"])
def test_time_grows_with_the_response(unit: str) -> None:
    begin = time.process_time()
    calculated_numbers(unit * (20_000 // len(unit)) + "a", frozenset(map(float, range(100))))

    assert time.process_time() - begin < 20, "a second or two on an idle machine"


def test_many_results_among_many_numbers_take_no_time() -> None:
    response = " ".join(f"{n} × 7 = {7 * n}, {n * 1000 + 13} or" for n in range(20, 60))
    begin = time.process_time()
    calculated_numbers(response, frozenset(map(float, range(20, 120))))

    assert time.process_time() - begin < 20, "a tenth of a second on an idle machine"
