"""What a tool's server does with scores, as far as it matters here: what it keeps, and by what it tells two apart.

Phoenix's and MLflow's were seen (`bench/traces/send_to_servers.py`); of the others their clients' requests were.
"""

from collections import Counter
from collections.abc import Callable
from threading import Lock
from typing import Any

from servers import Heard, Said


class FakeTool:
    """Give it to a `Server`.

    Args:
        name: a destination's.
        unknown: ids of spans, traces or runs that it doesn't know.

    Attributes:
        kept: what it keeps, by what it tells two scores apart.
    """

    def __init__(self, name: str, unknown: tuple[str, ...] = ()) -> None:
        self.kept: dict[tuple[str, ...], Any] = {}
        self._unknown = unknown
        self._says: Callable[[Heard], Said] = getattr(self, f"_{name}")
        self._lock = Lock()

    def __call__(self, heard: Heard) -> Said:
        """Answer a request; of those that come at once one after the other."""
        with self._lock:
            return self._says(heard)

    @property
    def twice(self) -> list[Any]:
        """What of one run somebody would see twice."""
        counted = Counter(self._seen(one) for one in self.kept.values())
        return [key for key, count in counted.items() if count > 1]

    def _seen(self, one: dict[str, Any]) -> tuple[str, ...]:
        own = {"id"} if "traceId" in one or "run_id" in one else set()  # a score's, not what it is of
        return tuple(str(value) for key, value in sorted(one.items()) if key in SEEN - own)

    def _keep(self, key: tuple[Any, ...], body: dict[str, Any]) -> None:
        self.kept[tuple(map(str, key))] = body

    def _phoenix(self, heard: Heard) -> Said:
        ids = [a.get(field) for a in heard.body["data"] for field in ("span_id", "trace_id", "session_id")]
        missing = {one for one in ids if one in self._unknown}
        if missing:
            return Said(f"Spans with IDs {', '.join(missing)} do not exist.", 404, {"Content-Type": "text/plain"})
        if "document" in heard.path and any(a.get("identifier") for a in heard.body["data"]):
            return Said("Non-empty identifier is not supported", 422)
        for a in heard.body["data"]:
            of = [a.get(f) for f in ("span_id", "trace_id", "session_id", "document_position", "name", "identifier")]
            self._keep((*of,), a)
        return Said({"data": [{"id": "x"} for _ in heard.body["data"]]})

    def _langfuse(self, heard: Heard) -> Said:
        good = [score for score in heard.body if score["traceId"] not in self._unknown]
        for score in good:
            self._keep((score["id"], score["timestamp"]), score)
        if bad := len(heard.body) - len(good):
            return Said({"accepted": len(good), "rejected": bad, "errors": [{"message": "no trace"}] * bad}, 207)
        return Said({"accepted": len(good)}, 202)

    def _mlflow(self, heard: Heard) -> Said:
        trace, _, rest = heard.path.removeprefix("/api/3.0/mlflow/traces/").partition("/")
        if trace in self._unknown:
            return Said({"error_code": "RESOURCE_DOES_NOT_EXIST", "message": f"Trace {trace!r} not found."}, 404)
        if heard.method == "GET":
            mine = [{"assessment_id": key[0], **a} for key, a in self.kept.items() if a["trace_id"] == trace]
            return Said({"trace": {"trace_info": {"trace_id": trace, "assessments": mine}}})
        body = heard.body["assessment"]
        if heard.method == "PATCH":
            name = rest.removeprefix("assessments/")
            if (name,) not in self.kept:
                return Said({"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "no assessment"}, 404)
            changed = {field: body[field] for field in heard.body["update_mask"].split(",")}
            self.kept[(name,)] = self.kept[(name,)] | changed
        else:
            name = f"a-{len(self.kept)}"
            self._keep((name,), body)
        return Said({"assessment": {"assessment_id": name, **self.kept[(name,)]}})

    def _opik(self, heard: Heard) -> Said:
        scores = heard.body["scores"]
        if any(one.get("id") in self._unknown for one in scores):
            return Said({"errors": ["id must be version 7 UUID"]}, 400)
        for one in scores:
            self._keep((heard.path, one.get("id"), one.get("thread_id"), one["name"]), one)
        return Said("", 204)

    def _langsmith(self, heard: Heard) -> Said:
        if heard.path.startswith("/sessions"):
            return Said([{"id": "a400e5d7-0409-5a81-9050-3991208ceec1", "name": "p"}])
        if heard.method == "PATCH":
            key = (heard.path.removeprefix("/feedback/"),)
            self.kept[key] = self.kept[key] | heard.body
            return Said({})
        if heard.body["run_id"] in self._unknown:
            return Said({"detail": "Run not found"}, 404)
        if (heard.body["id"],) in self.kept:
            return Said({"detail": "Feedback exists"}, 409)
        self._keep((heard.body["id"],), heard.body)
        return Said({"id": heard.body["id"]})

    def _otlp(self, heard: Heard) -> Said:
        records = [r for group in heard.body["resourceLogs"] for s in group["scopeLogs"] for r in s["logRecords"]]
        for record in records:
            self._keep((len(self.kept),), record | {"attributes": str(record["attributes"])})
        return Said({"partialSuccess": {}})


SEEN = frozenset(
    "span_id trace_id session_id document_position name traceId spanId observationId assessment_name id thread_id "
    "run_id key attributes".split()
)
"""What a person tells two scores apart by."""
