"""An application that answers from sources which it is given: a function, or a template with a place for them."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from ragtriage import Case, ConfigError, Source
from ragtriage.adapters.opening import open_application
from ragtriage.collect.application_names import ApplicationSpec
from ragtriage.collect.callables import CallableApplication
from servers import Said, Server

CASE = Case("1", "Who?", (Source("Ada did.", "d1"), Source("Bruno didn't.")), tags={"language": "en"})
GIVEN = [{"text": "Ada did.", "id": "d1"}, {"text": "Bruno didn't."}]


def reply(function: Callable[..., Any]) -> str:
    return asyncio.run(CallableApplication("mine", function, give_sources=True).ask(CASE)).response


def test_a_function_gets_them_by_name() -> None:
    def with_default(query: str, sources: Any = None) -> str:
        return f"{query} {sources}"

    def with_row(query: str, row: Any, *, sources: Any) -> str:
        return f"{row['language']} {sources}"

    async def later(query: str, **further: Any) -> str:
        return str(further)

    assert reply(with_default) == f"Who? {GIVEN}"
    assert reply(with_row) == f"en {GIVEN}"
    assert reply(later) == str({"sources": GIVEN})


def test_a_function_without_a_place_for_them_is_refused() -> None:
    with pytest.raises(ConfigError, match="can't answer from sources that it is given: give the function a parameter"):
        CallableApplication("mine", lambda query: query, give_sources=True)


def opened(template: str | None, **named: Any) -> Any:
    return open_application(ApplicationSpec(template=template, **named), ("query", "id"), 1, give_sources=True)


def test_a_template_has_them_as_a_list_or_as_texts() -> None:
    with Server(Said({"response": "Ada"})) as server:

        async def ask() -> str:
            template = '{"q": "{{query}}", "docs": "{{sources}}", "prompt": "From {{context}}!"}'
            application = opened(template, app=server.url)
            try:
                return (await application.ask(CASE)).response
            finally:
                await application.close()

        assert asyncio.run(ask()) == "Ada"
        assert server.heard[0].body == {"q": "Who?", "docs": GIVEN, "prompt": "From Ada did.\n\nBruno didn't.!"}


@pytest.mark.parametrize(
    ("template", "named", "reason"),
    [
        (None, {"app": "http://127.0.0.1:1/ask"}, "add a --template with"),
        (None, {"app": "http://127.0.0.1:1/v1", "openai_model": "m"}, "add a --template with"),
        ('{"q": "{{query}}"}', {"app": "http://127.0.0.1:1/ask"}, "no place for given sources"),
        ('{"q": "{{sources}} {{nothing}}"}', {"app": "http://127.0.0.1:1/ask"}, "no row has a column for"),
    ],
)
def test_an_address_without_a_place_for_them_is_refused(template: str | None, named: Any, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        opened(template, **named)
