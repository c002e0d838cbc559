"""Spans for requests, through the user's own OpenTelemetry tracer provider and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider
    from pydantic_ai.models import Model


def traced(model: Model, provider: TracerProvider | None = None) -> Model:
    """The model with a span for each request, or as it is where the user has set no tracer provider.

    A span holds the names, settings, tokens, price and duration of a request, no text of it and no header.

    Args:
        model: what is asked.
        provider: None for the one that the user has set for the process.
    """
    from opentelemetry.trace import NoOpTracerProvider, ProxyTracerProvider, get_tracer_provider  # noqa: PLC0415  # lazy

    provider = provider or get_tracer_provider()
    if isinstance(provider, (ProxyTracerProvider, NoOpTracerProvider)):
        return model
    from pydantic_ai.models.instrumented import InstrumentationSettings, InstrumentedModel  # noqa: PLC0415  # lazy

    settings = InstrumentationSettings(
        tracer_provider=provider, include_content=False, include_model_request_parameters=False
    )
    return InstrumentedModel(model, settings)
