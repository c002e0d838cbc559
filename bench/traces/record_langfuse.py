"""Record what Langfuse's client sends by OTLP, and make the files of Langfuse's exports out of it.

    python bench/traces/record_langfuse.py

The packages stand in README.md beside it. `otlp-langfuse.jsonl` is what the client sent. A server alone writes the
exports: the other files hold the same observations in the columns that Langfuse documents for them, the camelCase ones
through the client's own models. They were not seen from a server.
"""

import contextlib
import json
import os
from datetime import UTC, datetime
from typing import Any

import ferry
from ferry import DOGS, LOST, PRICE, QUAY, STORM, Asked
from recording import FOLDER, collecting, expected, keep, write_lines, write_text

PROJECT = "project-1"
PATH = "/api/public/otel/v1/traces"
KNOWN = {
    "conversation": "conversation-7",
    "user": "user-3",
    "tags": {"tenant": "norrhamn", "tags": ["web", "beta"], "version": "2.4.0", "environment": "production"},
}  # the version is the release; Langfuse's own `version`, prompt-4, is the prompt's here


def documents(one: Asked) -> list[dict[str, Any]]:
    """What is found, as the application returns it."""
    return [{"id": key, "text": text, "score": ferry.score(one.query, key)} for key, text in one.sources]


def send(address: str) -> list[dict[str, Any]]:
    """Run the application; what is right for its traces, in their order."""
    import langchain_ferry as application
    from langfuse import Langfuse, observe, propagate_attributes
    from langfuse.langchain import CallbackHandler

    client = Langfuse(
        public_key="pk-lf-1", secret_key="sk-lf-1", base_url=address, release="2.4.0", environment="production"
    )

    @observe(as_type="retriever")
    def search(query: str) -> list[dict[str, Any]]:
        return documents(ferry.asked(query))

    def model(messages: list[dict[str, Any]], *, broken: bool = False) -> str:
        given = {"as_type": "generation", "name": "model", "model": "ferry-model-1", "input": messages}
        with client.start_as_current_observation(**given) as generation:
            if broken:
                raise ConnectionError("the model's server closed the connection")
            content = messages[-1]["content"]
            answer = ferry.asked(content if isinstance(content, str) else content[0]["text"]).answer
            usage = {"usage_details": {"input": 40, "output": 12}, "cost_details": {"total": 0.0005}}
            generation.update(output={"role": "assistant", "content": answer}, **usage)
        return answer

    @observe(as_type="chain")
    def answer(question: str, *, pictured: bool = False, broken: bool = False) -> str:
        context = "\n".join(one["text"] for one in search(question))
        asked: Any = question
        if pictured:
            url = "data:image/png;base64,iVBORw0KGgo="
            asked = [{"type": "text", "text": question}, {"type": "image_url", "image_url": {"url": url}}]
        return model([{"role": "system", "content": context}, {"role": "user", "content": asked}], broken=broken)

    @observe(as_type="agent")
    def streamed(question: str) -> Any:
        search(question)
        first, *others = ferry.asked(question).answer.split()
        yield first
        for word in others:
            yield f" {word}"

    rows = []

    def take(one: Asked, sources: Any, response: str | None, **known: Any) -> None:
        rows.append(expected("", one.query, sources, response, **known))

    attributes = {"user_id": "user-3", "session_id": "conversation-7", "tags": ["web", "beta"], "version": "prompt-4"}
    with propagate_attributes(**attributes, metadata={"tenant": "norrhamn"}):
        answer(PRICE.query)
    scores = [one["score"] for one in documents(PRICE)]
    note = "the input is the function's arguments; the cost is the model span's"
    take(PRICE, PRICE.sources, PRICE.answer, scores=scores, cost_usd=0.0005, note=note, **KNOWN)
    application.function().invoke({"input": QUAY.query}, config={"callbacks": [CallbackHandler()]})
    take(
        QUAY, QUAY.files, QUAY.answer, note="LangChain by Langfuse's callback handler; the id is the metadata's source"
    )
    answer(DOGS.query, pictured=True)
    take(DOGS, DOGS.sources, DOGS.answer, note="the model's message has a part that is an image")
    with contextlib.suppress(ConnectionError):
        answer(STORM.query, broken=True)
    take(STORM, STORM.sources, None, note="failed: no response, tag failure")
    list(streamed(LOST.query))
    take(LOST, LOST.sources, LOST.answer, note="streamed")
    client.flush()
    return rows


def value(given: dict[str, Any]) -> Any:
    """An OTLP value as Python has it."""
    [(key, held)] = given.items()
    if key == "arrayValue":
        return [value(one) for one in held.get("values", ())]
    return int(held) if key == "intValue" else held


def observations(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The spans that were sent, as rows of the enriched export with all its groups of columns."""
    rows = []
    spans = [
        span
        for line in lines
        for res in line["resourceSpans"]
        for scope in res["scopeSpans"]
        for span in scope["spans"]
    ]
    for span in sorted(spans, key=lambda span: int(span["startTimeUnixNano"])):
        has = {one["key"]: value(one["value"]) for one in span["attributes"]}
        start, end = (int(span[f"{key}TimeUnixNano"]) for key in ("start", "end"))
        parameters = has.get("langfuse.observation.model.parameters", "")
        rows.append(
            {
                "id": span["spanId"],
                "trace_id": span["traceId"],
                "project_id": PROJECT,
                "environment": has.get("langfuse.environment", "default"),
                "type": str(has.get("langfuse.observation.type", "span")).upper(),
                "parent_observation_id": span.get("parentSpanId", ""),
                "start_time": time_of(start),
                "end_time": time_of(end),
                "name": span["name"],
                "metadata": {key.rpartition(".")[2]: bare(held) for key, held in has.items() if ".metadata." in key},
                "level": has.get("langfuse.observation.level", "DEFAULT"),
                "status_message": has.get("langfuse.observation.status_message", ""),
                "version": has.get("langfuse.version", ""),
                "input": has.get("langfuse.observation.input", ""),
                "output": has.get("langfuse.observation.output", ""),
                "provided_model_name": has.get("langfuse.observation.model.name", ""),
                "model_parameters": parameters,
                "usage_details": json.loads(has.get("langfuse.observation.usage_details", "{}")),
                "cost_details": json.loads(has.get("langfuse.observation.cost_details", "{}")),
                "completion_start_time": None,
                "prompt_name": "",
                "prompt_version": None,
                "total_cost": json.loads(has.get("langfuse.observation.cost_details", "{}")).get("total", 0),
                "latency": (end - start) / 1e9,
                "time_to_first_token": None,
                "model_id": "",
                "created_at": time_of(end),
                "updated_at": time_of(end),
                "user_id": has.get("user.id", ""),
                "session_id": has.get("session.id", ""),
                "trace_name": has.get("langfuse.trace.name", ""),
                "tags": has.get("langfuse.trace.tags", []),
                "release": has.get("langfuse.release", ""),
                "bookmarked": False,
                "public": False,
            }
        )
    return rows


def bare(held: Any) -> str:
    """A text without the quotes of JSON; any other value's JSON."""
    return str(said) if isinstance(said := parsed(held), str) else str(held)


def parsed(held: Any) -> Any:
    """A text that is JSON, parsed; another as it is."""
    with contextlib.suppress(TypeError, ValueError):
        return json.loads(held)
    return held


def time_of(nanoseconds: int) -> str:
    """A time as the export writes it, in UTC."""
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")


def parquet(name: str, rows: list[dict[str, Any]]) -> None:
    """Rows as Parquet: mappings as maps, times as timestamps."""
    import pyarrow as pa
    from pyarrow import parquet as pq

    texts = pa.map_(pa.string(), pa.string())
    kinds = {"metadata": texts, "usage_details": pa.map_(pa.string(), pa.int64()), "tags": pa.list_(pa.string())}
    kinds |= {"cost_details": pa.map_(pa.string(), pa.float64()), "prompt_version": pa.int32()}
    times = ("start_time", "end_time", "completion_start_time", "created_at", "updated_at")
    columns = {}
    for key in rows[0]:
        held = [row[key] for row in rows]
        if key in times:
            parsed = [datetime.fromisoformat(one).replace(tzinfo=UTC) if one else None for one in held]
            columns[key] = pa.array(parsed, pa.timestamp("us", "UTC"))
        elif key in kinds:
            columns[key] = pa.array([list(one.items()) if isinstance(one, dict) else one for one in held], kinds[key])
        else:
            columns[key] = pa.array(held)
    pq.write_table(pa.table(columns), FOLDER / name, compression="zstd", use_dictionary=False, write_statistics=False)
    print(name, (FOLDER / name).stat().st_size, "bytes")


RENAMED = {"provided_model_name": "model", "model_id": "internal_model_id"}


def camel(key: str) -> str:
    """The name in the API of a column of traces or scores."""
    first, *others = key.split("_")
    return first + "".join(one.capitalize() for one in others)


def in_api(row: dict[str, Any]) -> dict[str, Any]:
    """A row as API v2 answers it, through the client's model."""
    from langfuse.api.commons.types.observation_v2 import ObservationV2

    times = ("start_time", "end_time", "created_at", "updated_at")
    given = {RENAMED.get(key, key): held for key, held in row.items()}
    given |= {key: datetime.fromisoformat(row[key]).replace(tzinfo=UTC) for key in times}
    given |= {key: None for key, held in given.items() if held == ""}
    given["is_root_observation"] = not row["parent_observation_id"]
    return json.loads(ObservationV2(**given).json())


def exports(rows: list[dict[str, Any]], known: list[dict[str, Any]]) -> None:
    """The files of Langfuse's exports."""
    few = [one for one in rows if one["trace_id"] in {row["trace_id"] for row in known[:2]}]
    first = [one for one in few if one["trace_id"] == known[0]["trace_id"]]
    failed = [one for one in rows if one["trace_id"] == known[3]["trace_id"]]
    write_lines("langfuse-observations-v2.jsonl", few + failed)
    keep("langfuse-observations-v2.jsonl", [*known[:2], known[3]])
    parquet("langfuse-observations-v2.parquet", few)
    keep("langfuse-observations-v2.parquet", known[:2])
    write_text(
        "langfuse-api-v2.json",
        json.dumps({"data": [in_api(one) for one in first], "meta": {"cursor": None}}, ensure_ascii=False),
    )
    keep("langfuse-api-v2.json", known[:1])
    texts = [{key: held for key, held in one.items() if key not in {"input", "output"}} for one in first]
    write_lines("langfuse-without-io.jsonl", texts)
    why = "the export was made without the group `io`: no texts"
    keep(
        "langfuse-without-io.jsonl",
        [row | {"query": None, "sources": None, "response": None, "rejected": why} for row in known[:1]],
    )
    legacy(few, known[:2])


def in_trace(key: str, held: Any) -> Any:
    """A value as a whole trace holds it: inputs and outputs parsed, times in ISO form."""
    if key in {"input", "output"}:
        return parsed(held)
    return f"{held[:-3].replace(' ', 'T')}Z" if key.endswith(("_at", "timestamp")) else held


def legacy(rows: list[dict[str, Any]], known: list[dict[str, Any]]) -> None:
    """The folder of the older export (observations and traces apart), and the same as a trace with observations."""
    ours = ("user_id", "session_id", "tags", "release", "trace_name", "bookmarked", "public")
    roots = {one["trace_id"]: one for one in rows if not one["parent_observation_id"]}
    traces = [
        {
            "id": key,
            "timestamp": root["start_time"],
            "name": root["name"],
            "environment": root["environment"],
            "project_id": PROJECT,
            "metadata": root["metadata"],
            "user_id": root["user_id"] or None,
            "session_id": root["session_id"] or None,
            "release": root["release"] or None,
            "version": root["version"] or None,
            "public": False,
            "bookmarked": False,
            "tags": root["tags"],
            "input": root["input"],
            "output": root["output"],
            "created_at": root["created_at"],
            "updated_at": root["updated_at"],
        }
        for key, root in roots.items()
    ]
    bare = [{key: None if held == "" else held for key, held in one.items() if key not in ours} for one in rows]
    file = "20261129T180000Z.jsonl"
    score = {
        "id": "score-1",
        "timestamp": rows[0]["end_time"],
        "project_id": PROJECT,
        "environment": "production",
        "trace_id": rows[0]["trace_id"],
        "observation_id": None,
        "session_id": None,
        "dataset_run_id": None,
        "name": "helpful",
        "value": 1,
        "source": "ANNOTATION",
        "comment": "It was right.",
        "data_type": "BOOLEAN",
        "string_value": "True",
        "created_at": rows[0]["end_time"],
        "updated_at": rows[0]["end_time"],
    }
    write_lines(f"langfuse-legacy.folder/observations/{file}", bare)
    write_lines(f"langfuse-legacy.folder/traces/{file}", traces)
    write_lines(f"langfuse-legacy.folder/scores/{file}", [score])
    keep("langfuse-legacy.folder", [known[0] | {"annotations": {"helpful": 1}}, *known[1:]])
    for trace in traces[:1]:
        shown = {camel(key): in_trace(key, held) for key, held in trace.items()}
        shown |= {"htmlPath": f"/project/{PROJECT}/traces/{trace['id']}", "latency": 0.01, "totalCost": 0.0005}
        mine = [in_api(one) for one in rows if one["trace_id"] == trace["id"]]
        shown["observations"] = [{key: in_trace(key, held) for key, held in one.items()} for one in mine]
        shown["scores"] = [{camel(key): in_trace(key, held) for key, held in score.items()}]
        write_text("langfuse-trace.json", json.dumps(shown, ensure_ascii=False, indent=1))
    keep("langfuse-trace.json", [known[0] | {"annotations": {"helpful": 1}}])


def main() -> None:
    """Send, receive, write."""
    os.environ["LANGFUSE_MEDIA_UPLOAD_ENABLED"] = "false"
    os.environ["OTEL_RESOURCE_ATTRIBUTES"] = "service.name=ferry-answers,service.instance.id=instance-1"
    with collecting("otlp-langfuse.jsonl", PATH) as received:
        known = send(received.address.removesuffix(PATH))
        ids = received.wait(len(known))
    for row, key in zip(known, ids, strict=True):
        row["trace_id"] = key
    received.write()
    keep("otlp-langfuse.jsonl", known)
    exports(observations(received.lines), known)


if __name__ == "__main__":
    main()
