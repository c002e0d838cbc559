"""HTML pages from templates: the words they share, their script and style, and how a file is written."""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ragtriage.core.display import dollars, one_line, plural, sanitize
from ragtriage.core.files import atomic_write
from ragtriage.diagnosis.headline import KIND_WORDS
from ragtriage.diagnosis.rules import SURE
from ragtriage.report import words
from ragtriage.report.case_report import legend_of, looks_of

UNBROKEN = 16
"""Characters of an id that stay on one line wherever there is room for them; report.js knows the number too."""
_PIECE = re.compile(r"[^-_./:@#\s]{1,24}[-_./:@#\s]*|[-_./:@#\s]+")


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The environment of all templates; it escapes everything."""
    found = Environment(
        loader=PackageLoader("ragtriage.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "plain": sanitize,
        "one_line": one_line,
        "plural": plural,
        "dollars": dollars,
        "doubt": words.doubt_of,
        "breakable": breakable,
    }
    found.globals |= {
        "signs": words.SIGNS,
        "repeated_sign": words.REPEATED_SIGN,
        "look_words": words.LOOK_WORDS,
        "segment_words": words.SEGMENT_WORDS,
        "state_words": words.STATE_WORDS,
        "repeated_words": words.REPEATED_WORDS,
        "kind_words": KIND_WORDS,
        "titled": words.titled,
        "full_title": words.full_title,
        "shown_time": words.shown_time,
        "place_within": words.place_within,
        "looks_of": looks_of,
        "legend_of": legend_of,
        "sure_at": SURE,
    }
    return found


@lru_cache(maxsize=1)
def text_environment() -> Environment:
    """The environment of templates of plain text, which escapes nothing: no page is made of them."""
    found = environment().overlay(autoescape=False)
    found.filters |= {"count_of": "{:,}".format}
    return found


def breakable(name: str) -> Markup:
    """An id or name that a line may break behind its separators; within a word only if that fills a line of its own."""
    pieces = _PIECE.findall(name) if len(name) > UNBROKEN else [name]
    return Markup("<wbr>").join(pieces)


def page_parts(scripts: Sequence[str], *styles: str) -> dict[str, str]:
    """What a page carries: its scripts, its style, and a policy that allows these alone."""
    own, style = "\n".join(map(asset, scripts)), "\n".join(map(asset, styles))
    return {
        "script": Markup(own),  # noqa: S704  # our own file
        "style": Markup(style),  # noqa: S704  # our own files
        "policy": (
            f"default-src 'none'; script-src '{_hash(own)}'; style-src '{_hash(style)}'; base-uri 'none'; "
            "form-action 'none'"
        ),
    }


def pages(parts: Iterable[str], most_bytes: int) -> Iterator[Markup]:
    """Parts that templates rendered, until they are larger than a browser can open in one file."""
    size = 0
    for html in parts:
        size += len(html.encode("utf-8", "replace"))
        if size > most_bytes:
            return
        yield Markup(html)  # noqa: S704  # rendered by a template, which escapes


def shares(counts: Mapping[str, int], order: Iterable[str]) -> list[dict[str, Any]]:
    """Parts of a bar 100 wide, in this order: `name`, `count`, and where a part begins and how wide it is."""
    total = sum(counts.values()) or 1
    found, at = [], 0.0
    for name in order:
        if count := counts.get(name, 0):
            width = 100 * count / total
            found.append({"name": name, "count": count, "x": round(at, 3), "width": round(width, 3)})
            at += width
    return found


def write_page(path: Path, chunks: Iterable[str]) -> None:
    """Write a page; an older file is replaced only when the new one is complete."""
    with atomic_write(path, "replace", newline="\n") as file:
        file.writelines(chunks)


def asset(name: str) -> str:
    """A script or a style that lies beside the templates."""
    return files("ragtriage.report").joinpath("templates", name).read_text("utf-8").strip()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
