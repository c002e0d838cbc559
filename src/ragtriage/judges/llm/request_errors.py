"""What went wrong with a request: from the errors of the model's package to what the channel does, and a sentence."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ragtriage.judges.llm.messages import Busy, ExchangeError, Rejected, Transient, Unusable
from ragtriage.judges.llm.model_names import address_of, parts_of, shown
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.llm.providers import PROVIDERS, Access

MOST_SAID = 240
"""Characters of a server's own words."""
SHORTEST_SECRET = 4
"""Characters; what is shorter tells nobody anything, and would be found in every text."""
_SECRET_VARIABLES = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_NO_SUCH_MODEL = re.compile(
    r"model identifier is invalid|(?:invalid|unknown|no such) model|"
    r"model\b.{0,80}\b(?:not found|does(?:n't| not) exist)",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content.?(?:filter|management|policy)|safety system|moderation", re.IGNORECASE)
_TOO_LONG = re.compile(r"context (?:length|window|size)|too long|too many tokens|too large", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Asked:
    """Whom requests go to."""

    name: str
    """`PROVIDER:MODEL`."""
    address: str | None = None
    """Where they go, if that was the user's choice."""
    keys: tuple[str, ...] = ()
    """The environment variables for the key."""
    secrets: tuple[str, ...] = ()
    """What must not be shown: keys, headers."""

    @classmethod
    def of(cls, name: str, options: LLMOptions) -> Asked:
        """As the user chose it."""
        keys = PROVIDERS.get(parts_of(name)[0], Access()).keys
        held = (os.environ.get(variable, "") for variable in (*keys, *_SECRET_VARIABLES))
        return cls(name, address_of(name, options), keys, (*filter(None, held), *options.headers.values()))

    def explain(self, error: Exception) -> ExchangeError:
        """What any error means."""
        from pydantic_ai import exceptions as known  # noqa: PLC0415  # optional package

        if isinstance(error, ExchangeError):
            return error
        meanings: tuple[tuple[Any, Any], ...] = (
            (known.ContentFilterError, _filtered),
            (known.UserError, _misused),
            (known.ModelQuotaExceededError, _no_credit),
            (known.ModelRateLimitError, _busy),
            (known.ModelAuthenticationError, _unauthorized),
            (known.ModelNotFoundError, _not_found),
            (known.ModelContextWindowExceededError, _too_long),
            (known.ModelRequestRejectedError, _rejected),
            (known.ModelConnectionError, _no_connection),
            ((known.ModelUnavailableError, known.ModelServerError), _server_error),
            (known.ModelHTTPError, _by_status),
            (known.ModelAPIError, _malformed),
            (known.UnexpectedModelBehavior, _malformed),
            (Exception, _other),
        )
        meant: ExchangeError = next(make for kind, make in meanings if isinstance(error, kind))(self, error)
        return meant

    def hide(self, text: str) -> str:
        """The text without secrets, in one line, cut if it is long."""
        for secret in self.secrets:
            for form in (secret, secret.strip(), repr(secret)[1:-1]):
                if len(form) >= SHORTEST_SECRET:
                    text = text.replace(form, "…")
        text = " ".join(text.split())
        return text if len(text) <= MOST_SAID else text[:MOST_SAID].rsplit(" ", 1)[0] + " …"

    def because(self, error: Any) -> str:
        """The status of an answer, and the server's words."""
        status, text = getattr(error, "status_code", None), self.hide(said(error))
        return (f" ({status})" if status else "") + (f": {text}" if text else "")


def said(error: Any) -> str:
    """A server's own words in an error of pydantic-ai's, as far as they can be found."""
    body = getattr(error, "body", None)
    return " ".join(_texts(body)) if body else str(getattr(error, "message", None) or error)


def _texts(body: Any) -> Iterator[str]:
    """The message in the body of an answer, and what it is about, whoever wrote it."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, Mapping):
        for key in ("error", "Error", "message", "Message", "detail", "msg", "loc", "param"):
            yield from _texts(body.get(key))
    elif isinstance(body, (list, tuple)):
        for one in body:
            yield from _texts(one)


def _filtered(asked: Asked, error: Any) -> ExchangeError:
    return Rejected(f"the provider's content filter refused it{asked.because(error)}", alone=True)


def _misused(asked: Asked, error: Any) -> ExchangeError:
    return Unusable(f"{asked.name}: {asked.hide(str(error))}")


def _no_credit(asked: Asked, error: Any) -> ExchangeError:
    return Unusable(f"{asked.name}: the account's credit or quota there is used up{asked.because(error)}")


def _busy(asked: Asked, error: Any) -> ExchangeError:
    return Busy(f"the server asks to slow down{asked.because(error)}", error.retry_after)


def _unauthorized(asked: Asked, error: Any) -> ExchangeError:
    """Without the server's words, which may hold a part of the key."""
    status = getattr(error, "status_code", 401)
    keys = " or ".join(asked.keys)
    what = "doesn't let the key use this model" if status == 403 else "refuses the key"
    if asked.address:
        advice = f"set {keys}" if keys else "look at its key"
        return Unusable(
            f"{asked.name}: the server at {shown(asked.address)} {what} ({status}): {advice}, or give what it asks for "
            "with --header"
        )
    held = f" in {keys}" if keys else ""
    return Unusable(f"{asked.name}: the provider {what}{held} ({status}): look at the key and at what it may do")


def _not_found(asked: Asked, error: Any) -> ExchangeError:
    status = getattr(error, "status_code", 404)
    meant = getattr(error, "suggested_model_id", None)
    hint = f" (perhaps {meant})" if meant else ""
    if asked.address:
        return Unusable(
            f"{asked.name}: the server at {shown(asked.address)} knows no such model or no such page ({status}): look "
            f"at the model's name{hint}, and whether the address ends as it should, mostly in /v1"
        )
    return Unusable(f"{asked.name}: the provider has no such model for this key ({status}): look at its name{hint}")


def _too_long(asked: Asked, error: Any) -> ExchangeError:
    return Rejected(f"the request is too long for the model{asked.because(error)}", alone=True)


def _rejected(asked: Asked, error: Any) -> ExchangeError:
    text = f"{error.provider_error_code or ''} {said(error)}"
    if _FILTERED.search(text):
        return _filtered(asked, error)
    if _TOO_LONG.search(text):
        return _too_long(asked, error)
    if _NO_SUCH_MODEL.search(text):
        return _not_found(asked, error)
    return Rejected(f"the server refused the request{asked.because(error)}")


def _no_connection(asked: Asked, error: Any) -> ExchangeError:
    where = f" to {shown(asked.address)}" if asked.address else ""
    return Transient(f"no connection{where}: {asked.hide(_root(error))}")


def _server_error(asked: Asked, error: Any) -> ExchangeError:
    return Transient(f"server error{asked.because(error)}", error.retry_after)


def _by_status(asked: Asked, error: Any) -> ExchangeError:
    """An answer that the package has no kind for."""
    own = {405: _not_found, 408: _server_error, 409: _server_error, 410: _not_found, 413: _too_long, 425: _server_error}
    return own.get(error.status_code, _rejected if 400 <= error.status_code < 500 else _server_error)(asked, error)


def _malformed(asked: Asked, error: Any) -> ExchangeError:
    return Transient(f"malformed response: {asked.hide(str(error.message))}", getattr(error, "retry_after", None))


def _other(asked: Asked, error: Any) -> ExchangeError:
    return Transient(f"{type(error).__name__}: {asked.hide(str(error))}")


def _root(error: BaseException) -> str:
    """The innermost error, which says most about a connection."""
    seen = {id(error)}
    while (inner := error.__cause__ or error.__context__) is not None and id(inner) not in seen:
        seen.add(id(inner))
        error = inner
    return f"{type(error).__name__} {error}".rstrip()
