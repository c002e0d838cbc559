"""What wasn't recorded is never empty, and is told with the switch that records it."""

from pathlib import Path

import pytest
from otlp_lines import file_of, span
from trace_cases import ANSWER, QUERY, TEXTS, alone, chain, read, texts

from ragtriage.core.errors import InputError
from ragtriage.readers import open_cases

CAPTURE = "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="


@pytest.mark.parametrize(
    ("name", "kinds", "switches"),
    [
        ("openinference.span.kind", ("CHAIN", "RETRIEVER"), ("unset OPENINFERENCE_HIDE_INPUTS,",
         "unset OPENINFERENCE_HIDE_OUTPUTS,",
         "unset OPENINFERENCE_HIDE_OUTPUTS and OPENINFERENCE_HIDE_RETRIEVAL_DOCUMENTS")),
        ("gen_ai.operation.name", ("invoke_agent", "retrieval"), (CAPTURE, CAPTURE, "")),
        ("traceloop.span.kind", ("workflow", "retriever"), ("set TRACELOOP_TRACE_CONTENT=true",) * 3),
        ("haystack.component.type", ("Pipeline", "Retriever"), ("set HAYSTACK_CONTENT_TRACING_ENABLED=true",) * 3),
        ("langfuse.observation.type", ("chain", "retriever"),
         ("set LANGFUSE_OBSERVE_DECORATOR_IO_CAPTURE_ENABLED",) * 3),
        ("langsmith.span.kind", ("chain", "retriever"),
         ("unset LANGSMITH_HIDE_INPUTS", "unset LANGSMITH_HIDE_OUTPUTS", "unset LANGSMITH_HIDE_OUTPUTS")),
    ],
)  # fmt: skip
def test_what_was_not_recorded_is_told_with_the_switch_of_its_convention(
    path: Path, name: str, kinds: tuple[str, str], switches: tuple[str, str, str]
) -> None:
    question, response, sources = (one and f" (in the application {one}" for one in switches)

    def refused(documents: list[str], **said: str) -> str:
        top = span(1, kind="", attributes={name: kinds[0]}, **said)
        found = span(2, 1, kind="", documents=documents, attributes={name: kinds[1]})
        try:
            return " ".join(open_cases(file_of(path, top, found)).describe())
        except InputError as error:
            return f"{error}."

    assert f"1: the question wasn't recorded{question}" in refused(TEXTS)
    assert f"1: the question wasn't recorded: it was masked before{question}" in refused(TEXTS, input="***")
    lacking = refused(["***"], input=QUERY, output=ANSWER)
    assert f"1 document was retrieved, its text wasn't recorded{sources or '.'}" in lacking
    assert f"the response wasn't recorded{response}" in refused(TEXTS, input=QUERY)
    assert f"the response wasn't recorded: it was masked before{response}" in refused(TEXTS, input=QUERY, output="***")


def test_where_no_convention_is_known_it_is_asked_whether_content_is_captured(path: Path) -> None:
    with pytest.raises(
        InputError, match=r"1: the question wasn't recorded \(is content capture on in the application\?"
    ):
        read(file_of(path, span(1, kind="", name="GET /")))


def test_masks_are_not_recorded(path: Path) -> None:
    with pytest.raises(InputError, match="the question wasn't recorded: it was masked before"):
        read(file_of(path, *chain(input="__REDACTED__")))
    spans = [span(1, input=QUERY, output="[REDACTED]"), *chain()[1:2]]
    case = alone(file_of(path, *spans))
    assert (case.response, case.tags["not_recorded"], texts(case)) == (None, "response", TEXTS)
    hidden = [*chain()[:1], span(2, 1, kind="RETRIEVER", documents=["__REDACTED__", "__REDACTED__"])]
    with pytest.raises(InputError, match="documents were retrieved, their texts weren't recorded"):
        read(file_of(path, *hidden))


def test_an_empty_answer_and_an_empty_list_were_recorded(path: Path) -> None:
    spans = [span(1, input=QUERY, output=""), span(2, 1, kind="RETRIEVER", output="[]")]
    case = alone(file_of(path, *spans))

    assert (case.response, case.sources) == ("", ())
