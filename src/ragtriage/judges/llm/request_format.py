"""How a model is asked: the messages, the settings, the form of the reply, in the ways that servers differ."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import Flag, auto
from typing import TYPE_CHECKING, Any

from ragtriage.core.errors import ConfigError
from ragtriage.judges.llm.messages import Prompt, Reply, RequestRejected, tokens_of
from ragtriage.judges.llm.models import price_of_reply
from ragtriage.judges.llm.options import LLMOptions, Price
from ragtriage.judges.llm.request_errors import server_words

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.settings import ModelSettings

IN_TEXT = "Reply with one JSON object of this schema and nothing else:"
CORRECTION = "That reply doesn't fit: {problem}. Reply again with one JSON object of the schema and nothing else."
PLAIN_CORRECTION = "That reply doesn't fit: {problem}. Reply again in the form that was asked for."
EMPTY_REPLY = "(nothing)"
"""Stands for an empty reply that is shown to the model again, as servers take no empty message."""
REFUSING = (400, 422, 501)
"""The statuses by which servers refuse what they don't know."""
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


def without_refused_feature(form: RequestFormat, error: Exception, options: LLMOptions) -> RequestFormat | None:
    """The format that may work where this one met this error; None if there is none that the user allows."""
    text = _refusal(error)
    if RequestFormat.TEMPERATURE in form and "temperature" in text.lower():
        return form & ~RequestFormat.TEMPERATURE
    if RequestFormat.MAX_TOKENS in form and "max_completion_tokens" in text:
        return form & ~RequestFormat.MAX_TOKENS
    if RequestFormat.SCHEMA in form and options.reply != "schema" and _ABOUT_SCHEMA.search(text):
        return form & ~RequestFormat.SCHEMA
    return None


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
    """The format that a model should take.

    Raises:
        ConfigError: the user wants the schema mode, and it has none.
    """
    schema = options.reply != "text" and bool(model.profile.get("supports_json_schema_output", False))
    if options.reply == "schema" and not schema:
        raise ConfigError(f"{name} has no schema mode: let the reply be auto or text", "reply")
    form = RequestFormat.MAX_TOKENS
    if schema:
        form |= RequestFormat.SCHEMA
    return form | RequestFormat.TEMPERATURE if options.temperature is not None and takes_temperature(model) else form


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
    if RequestFormat.MAX_TOKENS in form:
        settings["max_tokens"] = prompt.largest_reply
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
    """What a model said, as a reply.

    Raises:
        RequestRejected: the provider's filter stopped it.
    """
    from pydantic_ai.messages import TextPart  # noqa: PLC0415  # optional package

    if response.finish_reason == "content_filter":
        raise RequestRejected("the provider's content filter stopped the reply", alone=True)
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    sent, back = response.usage.input_tokens, response.usage.output_tokens
    if not sent and not back:
        sent, back = prompt.tokens, tokens_of(text)
    cost = None if price is None else price_of_reply(response, price, sent, back, own=own_price)
    return Reply(text, sent, back, cost, truncated=response.finish_reason == "length")
