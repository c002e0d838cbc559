"""Headers whose values come from the environment, and are never shown."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from urllib.parse import urljoin, urlsplit

from ragtriage.core.errors import ConfigError

HIDDEN = "[hidden]"
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_SHORTEST = 4
"""A shorter value stands in many a harmless word; to take it out would hide nothing and spoil the message."""


def headers_from(items: Iterable[str], environment: Mapping[str, str] | None = None) -> tuple[dict[str, str], Veil]:
    """`NAME=VALUE` → headers, with every `${VARIABLE}` taken from the environment; and what hides their values.

    Args:
        items: as they were given.
        environment: the process's own if None.

    Raises:
        ConfigError: an item isn't of this form, or a variable isn't set. A value is never repeated in the message.
    """
    known = os.environ if environment is None else environment
    headers: dict[str, str] = {}
    secrets: list[str] = []
    for item in items:
        name, sign, value = item.partition("=")
        if not sign or not re.fullmatch(r"[!#$%&'*+.^`|~\w-]+", name.strip(), re.ASCII):
            raise ConfigError("--app-header: write it as NAME=VALUE, for example 'Authorization=Bearer ${MY_KEY}'")
        for variable in _VARIABLE.findall(value):
            if not known.get(variable):
                raise ConfigError(f"--app-header {name.strip()}: the variable {variable} is not set in the environment")
            secrets.append(known[variable])
        full = _VARIABLE.sub(lambda found: known[found[1]], value).strip()
        if not full.isascii() or not full.isprintable():
            raise ConfigError(f"--app-header {name.strip()}: its value has characters that no header can carry")
        headers[name.strip()] = full
        secrets += [full, *full.split()[1:]]
    return headers, Veil(secrets)


class Veil:
    """Takes secrets out of texts.

    Args:
        secrets: what must not be seen.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        long = {secret for secret in secrets if len(secret) >= _SHORTEST}
        self._secrets = sorted(long, key=len, reverse=True)

    def over(self, text: str) -> str:
        """The text without them."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        return text


def without_secrets(url: str, onward: str = "") -> str:
    """An address, or where it leads to, as people may see it: without user, password, query and fragment."""
    try:
        parts = urlsplit(urljoin(url, onward))
    except ValueError:
        return "(an address that can't be read)"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
