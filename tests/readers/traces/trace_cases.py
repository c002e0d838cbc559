"""A usual trace, and the cases of a file of traces, for tests."""

from collections.abc import Mapping
from typing import Any

from otlp_lines import span

from ragtriage.core.case import Case
from ragtriage.readers import open_cases
from ragtriage.readers.files import InputPath

QUERY, ANSWER = "How deep is the pool?", "It is two metres deep."
TEXTS = ["The pool is two metres deep.", "Dogs stay outside."]


def chain(*more: Mapping[str, Any], **root: Any) -> list[Mapping[str, Any]]:
    """A chain with a retrieval and a model, as most are."""
    return [
        span(1, **{"input": QUERY, "output": ANSWER, **root}),
        span(2, 1, kind="RETRIEVER", input=QUERY, documents=TEXTS),
        span(3, 1, kind="LLM", input="…", output=ANSWER),
        *more,
    ]


def read(path: InputPath, **options: Any) -> list[Case]:
    """The cases of a file."""
    return [one for one in open_cases(path, **options).rows() if isinstance(one, Case)]


def rejected(path: InputPath, **options: Any) -> list[str]:
    """Why rows of a file are none."""
    return [str(one) for one in open_cases(path, **options).rows() if not isinstance(one, Case)]


def alone(path: InputPath, **options: Any) -> Case:
    """The only case of a file."""
    (one,) = read(path, **options)
    return one


def texts(case: Case) -> list[str]:
    """Of its sources."""
    return [source.text for source in case.known_sources]
