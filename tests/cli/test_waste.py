"""Waste in money, where the settings know what the application's model takes."""

import re
from importlib.resources import files
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Some of the example cases; among them are sources that nobody needs."""
    lines = files("ragtriage.demo").joinpath("data", "cases.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "rows.jsonl").write_bytes(b"".join(lines[7:12]))
    return tmp_path


def settings(folder: Path, text: str) -> None:
    (folder / "ragtriage.toml").write_text(text, encoding="utf-8")


def test_waste_is_shown_in_money_where_the_price_is_known(command, folder: Path) -> None:
    plain = command("evaluate", "rows.jsonl", "--store", "a", "--json").json
    settings(folder, "application_price = 250")
    priced = command("evaluate", "rows.jsonl", "--store", "b", "--json").json
    shown, page = command("show", "--store", "b").out, Path("r.html")
    settings(folder, "")  # the price is the run's
    command("report", "last", "--store", "b", "-o", page)

    wasted = [group for group in priced["findings"] if group["kind"] == "waste"]
    assert wasted
    assert all("price" not in group for group in plain["findings"])
    assert all(group["price"] == pytest.approx(group["tokens"] * 250 / 1_000_000) for group in wasted)
    said = re.sub(r"\s+", " ", shown)
    assert f"about {wasted[0]['tokens']:,} tokens of sources that were not needed, ${wasted[0]['price']:.2f}" in said
    assert f"${wasted[0]['price']:.2f} of the application's cost" in page.read_text(encoding="utf-8").replace(
        "&#39;", "'"
    )

    case = wasted[0]["worst"][0]
    shown = re.sub(r"\s+", " ", command("show", "last", case, "--store", "b").out)
    (found,) = re.findall(r"about ([\d,]+) tokens not needed, \$([\d.]+\d)", shown)
    assert float(found[1]) == pytest.approx(int(found[0].replace(",", "")) * 250 / 1_000_000, abs=0.005)
    on_page = page.read_text(encoding="utf-8").replace("&#39;", "'")
    assert f"About {found[0]} tokens of sources not needed, ${found[1]} of the application's cost." in on_page
