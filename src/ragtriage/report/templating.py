"""The pages' templates, and the script and style that each carries, with the policy that allows no other."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined

from ragtriage.report.citations import SEGMENT_WORDS
from ragtriage.report.page import PLOT
from ragtriage.report.plain import one_line, plain
from ragtriage.report.view import doubt_of, title_of
from ragtriage.report.words import (
    KIND_WORDS,
    LOOK_WORDS,
    REPEATED_WORDS,
    SIGNS,
    STATE_WORDS,
    flagged_of,
    level_mark,
    place_within,
    plural,
    titled,
)


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
        "plain": plain,
        "one_line": one_line,
        "plural": plural,
        "doubt": doubt_of,
        "title_of": title_of,
    }
    found.globals |= {
        "signs": SIGNS,
        "look_words": LOOK_WORDS,
        "segment_words": SEGMENT_WORDS,
        "state_words": STATE_WORDS,
        "repeated_words": REPEATED_WORDS,
        "kind_words": KIND_WORDS,
        "flagged_of": flagged_of,
        "titled": titled,
        "level_mark": level_mark,
        "place_within": place_within,
        "plot": PLOT,
    }
    return found


def asset(name: str) -> str:
    """A file of ours that a page carries."""
    return files("ragtriage.report").joinpath("templates", name).read_text("utf-8").strip()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def policy(script: str, style: str) -> str:
    """The content security policy of a page: this script and this style, and nothing from anywhere."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; base-uri 'none'; "
        "form-action 'none'"
    )
