"""What went wrong with a request: from the errors of the model's package to what the channel does, and a sentence."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ragtriage.judges.llm.messages import ExchangeError, ModelUnusable, RateLimited, RequestRejected, TransientError
from ragtriage.judges.llm.models import address_of, public_address, split_name
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.llm.providers import PROVIDERS, ProviderRequirements
from ragtriage.judges.quotes import shortened

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
class Endpoint:
    """Whom requests go to, as far as errors speak of it."""

    name: str
    """`PROVIDER:MODEL`."""
    address: str | None = None
    """Where they go, if that was the user's choice."""
    keys: tuple[str, ...] = ()
    """The environment variables for the key."""
    secrets: tuple[str, ...] = ()
    """What must not be shown: keys, headers."""

    @classmethod
    def of(cls, name: str, options: LLMOptions) -> Endpoint:
        """As the user chose it."""
        keys = PROVIDERS.get(split_name(name)[0], ProviderRequirements()).keys
        held = (os.environ.get(variable, "") for variable in (*keys, *_SECRET_VARIABLES))
        return cls(name, address_of(name, options), keys, (*filter(None, held), *options.headers.values()))

    def explain(self, error: Exception) -> ExchangeError:
        """What any error means."""
        from pydantic_ai import exceptions as known  # noqa: PLC0415  # optional package

        if isinstance(error, ExchangeError):
            return error
        meanings: tuple[tuple[Any, Callable[[Any], ExchangeError]], ...] = (
            (known.ContentFilterError, self._filtered),
            (known.UserError, lambda e: ModelUnusable(f"{self.name}: {self.hide(str(e))}")),
            (known.ModelQuotaExceededError, self._no_credit),
            (known.ModelRateLimitError, self._busy),
            (known.ModelAuthenticationError, self._unauthorized),
            (known.ModelNotFoundError, self._not_found),
            (known.ModelContextWindowExceededError, self._too_long),
            (known.ModelRequestRejectedError, self._rejected),
            (known.ModelConnectionError, self._no_connection),
            ((known.ModelUnavailableError, known.ModelServerError), self._server_error),
            (known.ModelHTTPError, self._by_status),
            ((known.ModelAPIError, known.UnexpectedModelBehavior), self._malformed),
            (Exception, lambda e: TransientError(f"{type(e).__name__}: {self.hide(str(e))}")),
        )
        return next(meaning for kind, meaning in meanings if isinstance(error, kind))(error)

    def hide(self, text: str) -> str:
        """The text without secrets, in one line, cut if it is long."""
        for secret in self.secrets:
            for form in (secret, secret.strip(), repr(secret)[1:-1]):
                if len(form) >= SHORTEST_SECRET:
                    text = text.replace(form, "…")
        return shortened(text, MOST_SAID)

    def because(self, error: Any) -> str:
        """The status of an answer, and the server's words."""
        status, text = getattr(error, "status_code", None), self.hide(server_words(error))
        return (f" ({status})" if status else "") + (f": {text}" if text else "")

    def _filtered(self, error: Any) -> ExchangeError:
        return RequestRejected(f"the provider's content filter refused it{self.because(error)}", alone=True)

    def _no_credit(self, error: Any) -> ExchangeError:
        return ModelUnusable(f"{self.name}: the account's credit or quota there is used up{self.because(error)}")

    def _busy(self, error: Any) -> ExchangeError:
        return RateLimited(f"the server asks to slow down{self.because(error)}", error.retry_after)

    def _unauthorized(self, error: Any) -> ExchangeError:
        """Without the server's words, which may hold a part of the key."""
        status = getattr(error, "status_code", 401)
        keys = " or ".join(self.keys)
        what = "doesn't let the key use this model" if status == 403 else "refuses the key"
        if self.address:
            advice = f"set {keys}" if keys else "look at its key"
            return ModelUnusable(
                f"{self.name}: the server at {public_address(self.address)} {what} ({status}): {advice}, or give what "
                "it asks for with --header"
            )
        held = f" in {keys}" if keys else ""
        return ModelUnusable(
            f"{self.name}: the provider {what}{held} ({status}): look at the key and at what it may do"
        )

    def _not_found(self, error: Any) -> ExchangeError:
        status = getattr(error, "status_code", 404)
        meant = getattr(error, "suggested_model_id", None)
        hint = f" (perhaps {meant})" if meant else ""
        if self.address:
            return ModelUnusable(
                f"{self.name}: the server at {public_address(self.address)} knows no such model or no such page "
                f"({status}): look at the model's name{hint}, and whether the address ends as it should, mostly in /v1"
            )
        return ModelUnusable(
            f"{self.name}: the provider has no such model for this key ({status}): look at its name{hint}"
        )

    def _too_long(self, error: Any) -> ExchangeError:
        return RequestRejected(f"the request is too long for the model{self.because(error)}", alone=True)

    def _rejected(self, error: Any) -> ExchangeError:
        text = f"{error.provider_error_code or ''} {server_words(error)}"
        for pattern, meaning in (
            (_FILTERED, self._filtered),
            (_TOO_LONG, self._too_long),
            (_NO_SUCH_MODEL, self._not_found),
        ):
            if pattern.search(text):
                return meaning(error)
        return RequestRejected(f"the server refused the request{self.because(error)}")

    def _no_connection(self, error: Any) -> ExchangeError:
        where = f" to {public_address(self.address)}" if self.address else ""
        return TransientError(f"no connection{where}: {self.hide(_root(error))}")

    def _server_error(self, error: Any) -> ExchangeError:
        return TransientError(f"server error{self.because(error)}", error.retry_after)

    def _by_status(self, error: Any) -> ExchangeError:
        """An answer that the package has no kind for."""
        known = {405: self._not_found, 410: self._not_found, 413: self._too_long}
        known |= dict.fromkeys((408, 409, 425), self._server_error)
        usual = self._rejected if 400 <= error.status_code < 500 else self._server_error
        return known.get(error.status_code, usual)(error)

    def _malformed(self, error: Any) -> ExchangeError:
        return TransientError(
            f"malformed response: {self.hide(str(error.message))}", getattr(error, "retry_after", None)
        )


def server_words(error: Any) -> str:
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


def _root(error: BaseException) -> str:
    """The innermost error, which says most about a connection."""
    seen = {id(error)}
    while (inner := error.__cause__ or error.__context__) is not None and id(inner) not in seen:
        seen.add(id(inner))
        error = inner
    return f"{type(error).__name__} {error}".rstrip()
