"""What customers wrote is made private before anything of it is written: redacted texts, digests for users."""

from __future__ import annotations

import hashlib
import hmac
import importlib.util
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.files import open_private, private_folder
from ragtriage.core.validation import near_names
from ragtriage.readers.known_forms import hide_known_forms
from ragtriage.readers.problems import RowProblem

USER = "user"
"""The tag that says whose case it is."""
KEY_FILE = "user.key"
BUILTIN = "builtin"
_KEY_BYTES = 32
_DIGEST_BYTES = 12
Redact = Callable[[str, str], str]
"""(What the text is, the text) → the text as it may be stored."""


def redaction_named(spec: str) -> Redact:
    """`builtin`, or the function that `path/to/file.py:function` names; importing it runs the file.

    Raises:
        ConfigError: there is no such file or function.
    """
    if spec == BUILTIN:
        return hide_known_forms
    where, _, name = spec.rpartition(":")
    if not where.endswith(".py") or not name:
        raise ConfigError(f"--redact {spec}: write builtin, or path/to/file.py:function")
    if not Path(where).is_file():
        raise ConfigError(f"--redact {spec}: there is no file {where}")
    found = importlib.util.spec_from_file_location(f"_ragtriage_redact_{Path(where).stem}", where)
    if found is None or found.loader is None:
        raise ConfigError(f"--redact {spec}: {where} can't be loaded")
    module = importlib.util.module_from_spec(found)
    sys.modules[found.name] = module
    try:
        found.loader.exec_module(module)
    except Exception as error:
        raise ConfigError(f"--redact {spec}: {where} can't be loaded: {type(error).__name__}: {error}") from error
    function = getattr(module, name, None)
    if not callable(function):
        near = near_names(name, vars(module))
        raise ConfigError(f"--redact {spec}: {where} has no function {name!r}{f': {near[0]}?' if near else ''}")
    return function  # type: ignore[no-any-return]  # the user's


class UserDigests:
    """Digests for users, by a key that is made when it is first needed and that only its owner may read.

    Args:
        folder: where the key is kept.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / KEY_FILE
        self._key: bytes | None = None

    def __call__(self, user: Any) -> str:
        """24 hexadecimal digits, the same for the same user as long as the key is there.

        Raises:
            InputError: the key can't be read or written.
        """
        if self._key is None:
            self._key = self._read()
        return hmac.new(self._key, str(user).encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[
            : 2 * _DIGEST_BYTES
        ]

    def _read(self) -> bytes:
        try:
            with suppress(FileNotFoundError):
                if key := self._path.read_bytes():
                    return key
            private_folder(self._path.parent)
            with open_private(self._path, "wb") as file:
                file.write(key := secrets.token_bytes(_KEY_BYTES))
        except OSError as error:
            raise InputError(f"{self._path}: the key for users can't be used: {error.strerror}") from error
        return key


@dataclass(frozen=True, slots=True)
class Privacy:
    """What is done to a case before anything of it is written.

    Args:
        digest: user → what is stored for them; None stores them as they are.
        redact: applied to every text of a case, and to the texts in its tags; None leaves them.
    """

    digest: Callable[[Any], str] | None = None
    redact: Redact | None = None

    def of(self, case: Case) -> Case:
        """The case as it may be stored.

        Raises:
            RowProblem: its redaction failed: it is never let through.
        """
        if self.digest and case.tags.get(USER) not in {None, ""}:
            case = replace(case, tags={**case.tags, USER: self.digest(case.tags[USER])})
        if self.redact is None:
            return case
        try:
            return self._redacted(case, self.redact)
        except Exception as error:  # noqa: BLE001  # the user's code may raise anything
            raise RowProblem(None, f"its redaction failed ({type(error).__name__}): it isn't used") from None

    def reason(self, reason: str) -> str:
        """Why a row can't be used, which may quote it."""
        try:
            return _checked(self.redact("reason", reason)) if self.redact else reason
        except Exception as error:  # noqa: BLE001  # as above
            return f"can't be used, and the redaction of the reason failed ({type(error).__name__})"

    def _redacted(self, case: Case, redact: Redact) -> Case:
        def told(key: str, text: str | None) -> str | None:
            return None if text is None else _checked(redact(key, text))

        def texts(key: str, values: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(_checked(redact(key, value)) for value in values)

        sources = case.sources
        if sources is not None:
            sources = tuple(replace(one, text=_checked(redact("source", one.text))) for one in sources)
        return replace(
            case,
            query=_checked(redact("query", case.query)),
            sources=sources,
            response=told("response", case.response),
            reference=told("reference", case.reference),
            history=tuple(replace(one, text=_checked(redact("history", one.text))) for one in case.history),
            samples=texts("sample", case.samples),
            tags={key: value if key == USER else _within(key, value, redact) for key, value in case.tags.items()},
        )


def _checked(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError(f"redaction gave {type(text).__name__}, not a text")
    return text


def _within(key: str, value: Any, redact: Redact) -> Any:
    """A tag's value with the texts in it redacted."""
    if isinstance(value, str):
        return _checked(redact(key, value))
    if isinstance(value, Mapping):
        return {name: _within(key, inner, redact) for name, inner in value.items()}
    return [*_inside(key, value, redact)] if isinstance(value, list | tuple) else value


def _inside(key: str, values: list[Any] | tuple[Any, ...], redact: Redact) -> Iterator[Any]:
    return (_within(key, value, redact) for value in values)


AS_IT_IS = Privacy()
