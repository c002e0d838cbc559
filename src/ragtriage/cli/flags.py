"""Flags that several commands share: written once, as the fields of a value."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any, get_type_hints


def with_flags(command: Callable[..., None], parameter: str, flags: type[Any]) -> Callable[..., None]:
    """Give a command a flag for every field of a data class; it gets them as one value.

    Args:
        command: what is to have them.
        parameter: its parameter that gets the value.
        flags: a data class; each field annotated as typer wants it, with a default.

    Returns:
        The command as typer is to see it.
    """
    names = [one.name for one in fields(flags)]
    hints = get_type_hints(flags, include_extras=True)
    own = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    kept = [p.replace(annotation=own[p.name]) for p in signature.parameters.values() if p.name != parameter]
    added = [
        inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[one.name])
        for one in fields(flags)
    ]

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        given = flags(**{name: kwargs.pop(name) for name in names if name in kwargs})
        command(*args, **{parameter: given}, **kwargs)

    run.__signature__ = signature.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]  # read by typer
    run.__annotations__ = {p.name: p.annotation for p in (*kept, *added)}
    return run
