"""Requests in the words of pydantic-ai, its replies in ours, and what its errors mean to the channel and to people."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Flag, auto
from typing import TYPE_CHECKING, Any

from ragtriage.core.display import shortened
from ragtriage.core.errors import ConfigError
from ragtriage.judges.llm.models import address_of, price_of_reply, public_address, split_name
from ragtriage.judges.llm.options import (
    ExchangeError,
    LLMOptions,
    ModelUnusable,
    Price,
    Prompt,
    RateLimited,
    Reply,
    RequestRejected,
    TransientError,
    tokens_of,
)
from ragtriage.judges.llm.providers import PROVIDERS, ProviderRequirements
from ragtriage.judges.llm.reply_lines import tokens_of_reply

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings


MOST_SAID = 240
"""Characters of a server's own words."""
SHORTEST_SECRET = 4
"""Characters; what is shorter tells nobody anything, and would be found in every text."""
_SECRET_VARIABLES = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
NO_SUCH_MODEL = re.compile(
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
            (NO_SUCH_MODEL, self._not_found),
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
    return " ".join(texts_in(body)) if body else str(getattr(error, "message", None) or error)


def texts_in(body: Any) -> Iterator[str]:
    """The message in the body of an answer, and what it is about, whoever wrote it."""
    if isinstance(body, str):
        yield body
    elif isinstance(body, Mapping):
        for key in ("error", "Error", "message", "Message", "detail", "msg", "loc", "param"):
            yield from texts_in(body.get(key))
    elif isinstance(body, (list, tuple)):
        for one in body:
            yield from texts_in(one)


def _root(error: BaseException) -> str:
    """The innermost error, which says most about a connection."""
    seen = {id(error)}
    while (inner := error.__cause__ or error.__context__) is not None and id(inner) not in seen:
        seen.add(id(inner))
        error = inner
    return f"{type(error).__name__} {error}".rstrip()


IN_TEXT = "Reply with one JSON object of this schema and nothing else:"
CORRECTION = "That reply doesn't fit: {problem}. Reply again with one JSON object of the schema and nothing else."
PLAIN_CORRECTION = "That reply doesn't fit: {problem}. Reply again in the form that was asked for."
EMPTY_REPLY = "(nothing)"
"""Stands for an empty reply that is shown to the model again, as servers take no empty message."""
REFUSING = (400, 422, 501)
"""The statuses by which servers refuse what they don't know."""
MOST_ALTERNATIVES, FEWER_ALTERNATIVES = 20, 5
"""Tokens whose probabilities are asked for at each place of a reply: what OpenAI gives at most, and others."""
LEAST_BY_RESPONSES = 16
"""Tokens that a reply must be allowed where OpenAI's Responses are asked."""
_ABOUT_PROBABILITIES = re.compile("log.?prob", re.IGNORECASE)
_ABOUT_SCHEMA = re.compile(
    r"response.?format|json.?schema|structured.?output|strict schema|text\.format|output.?(?:config|format)|"
    r"response.?schema|grammar|guided",
    re.IGNORECASE,
)


class RequestFormat(Flag):
    """One way to ask."""

    SCHEMA = auto()
    """The reply gets its form by the provider's schema mode; else by instructions in the text."""
    TEMPERATURE = auto()
    """The temperature is set."""
    MAX_TOKENS = auto()
    """The largest length of a reply has the name that the client gives it; else `max_completion_tokens`."""
    PROBABILITIES = auto()
    """Those of tokens are asked for, where a prompt wants them."""
    TWENTY = auto()
    """Of twenty at each place; else of five."""


def without_refused_feature(form: RequestFormat, error: Exception, options: LLMOptions) -> RequestFormat | None:
    """The format that may work where this one met this error; None if there is none that the user allows."""
    if RequestFormat.PROBABILITIES in form and _ABOUT_PROBABILITIES.search(_words_of_any_status(error)):
        return form & ~(RequestFormat.TWENTY if RequestFormat.TWENTY in form else RequestFormat.PROBABILITIES)
    text = _refusal(error)
    if RequestFormat.TEMPERATURE in form and "temperature" in text.lower():
        return form & ~RequestFormat.TEMPERATURE
    if RequestFormat.MAX_TOKENS in form and "max_completion_tokens" in text:
        return form & ~RequestFormat.MAX_TOKENS
    if RequestFormat.SCHEMA in form and options.reply != "schema" and _ABOUT_SCHEMA.search(text):
        return form & ~RequestFormat.SCHEMA
    return None


def _words_of_any_status(error: Exception) -> str:
    """A server's words: against probabilities they come with 400, 403 (OpenAI) and 500 (llama-cpp-python)."""
    from pydantic_ai.exceptions import ModelHTTPError  # noqa: PLC0415  # optional package

    return server_words(error) if isinstance(error, ModelHTTPError) else ""


def _refusal(error: Exception) -> str:
    """What a server, or its package, said against the form of a request; empty for any other error."""
    from pydantic_ai import exceptions as known  # noqa: PLC0415  # optional package

    if isinstance(error, known.ModelContextWindowExceededError):
        return ""
    words = server_words(error)
    if isinstance(error, (known.UserError, known.ModelRequestRejectedError)):
        return words
    # llama-cpp-python's server answers a form of reply that it doesn't know with 500
    refuses = isinstance(error, known.ModelHTTPError) and (
        error.status_code in REFUSING or (error.status_code == 500 and "response_format" in words)
    )
    return words if refuses else ""


def initial_format(name: str, model: Model, options: LLMOptions) -> RequestFormat:
    """The format that a model should take. A `ConfigError` if the user wants the schema mode, and it has none."""
    schema = options.reply != "text" and bool(model.profile.get("supports_json_schema_output", False))
    if options.reply == "schema" and not schema:
        raise ConfigError(f"{name} has no schema mode: let the reply be auto or text", "reply")
    form = RequestFormat.MAX_TOKENS
    if schema:
        form |= RequestFormat.SCHEMA
    if _speaks_openai(model) and takes_temperature(model):
        form |= RequestFormat.PROBABILITIES | RequestFormat.TWENTY
    return form | RequestFormat.TEMPERATURE if options.temperature is not None and takes_temperature(model) else form


def _speaks_openai(model: Model) -> bool:
    return any(kind.__name__ in {"OpenAIChatModel", "OpenAIResponsesModel"} for kind in type(model).__mro__)


def takes_temperature(model: Model) -> bool:
    """Whether the temperature of this model can be set; where it can't, pydantic-ai leaves it out with a warning."""
    profile: Mapping[str, Any] = model.profile
    if profile.get("anthropic_disallows_sampling_settings") or profile.get("bedrock_disallows_sampling_settings"):
        return False
    if not profile.get("openai_supports_reasoning"):
        return True
    efforts = profile.get("openai_reasoning_efforts")
    optional = profile.get("openai_supports_reasoning_effort_none") if efforts is None else "none" in efforts
    return bool(optional) and not profile.get("thinking_enabled_by_default")


def fixed_settings(model: Model, options: LLMOptions) -> Mapping[str, Any]:
    """The settings that are the same in all requests to a model."""
    settings: dict[str, Any] = {}
    if options.headers:
        settings["extra_headers"] = dict(options.headers)
    if any(kind.__name__ == "OpenAIResponsesModel" for kind in type(model).__mro__):
        settings["openai_store"] = False  # else OpenAI keeps the texts
    elif model.system not in {"openai", "azure"}:  # which keep beginnings by themselves, but not beside this
        settings["cache"] = {"messages": False}
    client = getattr(model.provider, "client", None)
    if not hasattr(client, "max_retries") and "max_retries" not in model.unsupported_settings:
        settings["max_retries"] = 0
    return settings


def request_of(
    prompt: Prompt, form: RequestFormat, fixed: Mapping[str, Any], temperature: float | None
) -> tuple[list[ModelMessage], ModelSettings, ModelRequestParameters]:
    """A request to a model: its messages, its settings and the form of the reply."""
    return _messages(prompt, form), _settings(prompt, form, fixed, temperature), _parameters(prompt, form)


def _settings(
    prompt: Prompt, form: RequestFormat, fixed: Mapping[str, Any], temperature: float | None
) -> ModelSettings:
    settings: ModelSettings = {**fixed}  # type: ignore[typeddict-item]  # the settings of a provider have names of their own
    if prompt.by_token and RequestFormat.PROBABILITIES in form:
        most = MOST_ALTERNATIVES if RequestFormat.TWENTY in form else FEWER_ALTERNATIVES
        settings |= {"openai_logprobs": True, "openai_top_logprobs": most}  # type: ignore[misc]  # as above
    if RequestFormat.MAX_TOKENS in form:
        least = LEAST_BY_RESPONSES if "openai_store" in fixed else 1
        settings["max_tokens"] = max(prompt.largest_reply, least)
    else:
        settings["extra_body"] = {"max_completion_tokens": prompt.largest_reply}
    if RequestFormat.TEMPERATURE in form and temperature is not None:
        settings["temperature"] = temperature
    return settings


def _messages(prompt: Prompt, form: RequestFormat) -> list[ModelMessage]:
    """The question, and where a reply was refused, that reply and what was wrong with it."""
    from pydantic_ai import messages as one  # noqa: PLC0415  # optional package

    schema = f"{IN_TEXT} {json.dumps(prompt.schema, ensure_ascii=False)}"
    user = prompt.user if RequestFormat.SCHEMA in form or not prompt.schema else f"{prompt.user}\n\n{schema}"
    found: list[ModelMessage] = [
        one.ModelRequest(parts=[one.SystemPromptPart(prompt.system), one.UserPromptPart(user)])
    ]
    if prompt.refused:
        reply, problem = prompt.refused
        correction = f"{CORRECTION.format(problem=problem.rstrip('.'))}\n\n{schema}"
        if not prompt.schema:
            correction = PLAIN_CORRECTION.format(problem=problem.rstrip("."))
        found.append(one.ModelResponse(parts=[one.TextPart(reply if reply.strip() else EMPTY_REPLY)]))
        found.append(one.ModelRequest(parts=[one.UserPromptPart(correction)]))
    return found


def _parameters(prompt: Prompt, form: RequestFormat) -> ModelRequestParameters:
    from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415  # optional package
    from pydantic_ai.output import OutputObjectDefinition  # noqa: PLC0415  # optional package

    if RequestFormat.SCHEMA not in form or not prompt.schema:
        return ModelRequestParameters(output_mode="text", allow_text_output=True)
    output = OutputObjectDefinition(json_schema=dict(prompt.schema), name="answers", strict=True)
    return ModelRequestParameters(output_mode="native", output_object=output, allow_text_output=True)


def reply_of(response: ModelResponse, prompt: Prompt, price: Price | None, *, own_price: bool) -> Reply:
    """What a model said, as a reply. `RequestRejected` if the provider's filter stopped it."""
    from pydantic_ai.messages import TextPart  # noqa: PLC0415  # optional package

    if response.finish_reason == "content_filter":
        raise RequestRejected("the provider's content filter stopped the reply", alone=True)
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    sent, back = response.usage.input_tokens, response.usage.output_tokens
    if not sent and not back:
        sent, back = prompt.tokens, tokens_of(text)
    cost = None if price is None else price_of_reply(response, price, sent, back, own=own_price)
    tokens = tokens_of_reply(_logprobs(response), text) if prompt.by_token else ()
    cut_off, model = response.finish_reason == "length", response.model_name or ""
    return Reply(text, sent, back, cost, truncated=cut_off, model=model, tokens=tokens)


def _logprobs(response: ModelResponse) -> Iterator[Mapping[str, Any]]:
    """The tokens of a reply: chat completions give them beside its parts, Responses with each text."""
    for one in (response, *response.parts):
        yield from (one.provider_details or {}).get("logprobs") or ()
