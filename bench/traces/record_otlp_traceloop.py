"""Record Traceloop's instrumentations of LangChain and Chroma, in the collector's file exporter's form.

    python bench/traces/record_otlp_traceloop.py

The packages stand in README.md beside it.
"""

import os
import subprocess
import sys
from typing import Any

import chromadb
import ferry
import langchain_ferry as application
from chromadb.config import Settings
from ferry import DOGS, PRICE, QUAY
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from opentelemetry.instrumentation.chromadb import ChromaInstrumentor
from opentelemetry.instrumentation.langchain import LangchainInstrumentor
from recording import Recording


def place(text: str) -> list[float]:
    """A point for a question, or for a leaflet: the leaflets found for a question lie near it, the first nearest."""
    asked = next((one for one in ferry.ALL if one.query == text), None)
    points = [0.0] * len(ferry.ALL)
    if asked:
        points[ferry.ALL.index(asked)] = 1.0
        return points
    for at, one in enumerate(ferry.ALL):
        texts = [held for _, held in one.sources]
        points[at] = 1.0 - 0.25 * texts.index(text) if text in texts else 0.0
    return points


def collection() -> Any:
    """The leaflets in Chroma."""
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    made = client.create_collection("leaflets", embedding_function=None)
    ids, texts = list(ferry.LEAFLETS), list(ferry.LEAFLETS.values())
    made.add(
        ids=ids,
        documents=texts,
        embeddings=[place(text) for text in texts],
        metadatas=[{"file": f"{one}.md"} for one in ids],
    )
    return made


class InChroma(BaseRetriever):
    """A retriever of LangChain's around a collection of Chroma's."""

    held: Any

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        found = self.held.query(query_embeddings=[place(query)], n_results=len(ferry.asked(query).found))
        rows = zip(found["ids"][0], found["documents"][0], strict=True)
        return [Document(id=key, page_content=text, metadata={"source": key}) for key, text in rows]


def main() -> None:
    """LangChain alone, LangChain around Chroma, Chroma alone below a chain of LangChain's."""
    recording = Recording("otlp-traceloop.jsonl")
    held = collection()
    LangchainInstrumentor().instrument(tracer_provider=recording.provider)
    ChromaInstrumentor().instrument(tracer_provider=recording.provider)
    metadata = {"session_id": "conversation-7", "user_id": "user-3", "tenant": "norrhamn"}
    config: Any = {"metadata": metadata}
    note = "Chroma's query below LangChain's retriever: the outermost counts, but its texts may stand in either"
    known = {"conversation": "conversation-7", "user": "user-3", "tags": {"tenant": "norrhamn"}}
    with recording.trace(PRICE.query, PRICE.sources, PRICE.answer, note=note, **known):
        application.function(retriever=InChroma(held=held)).invoke({"input": PRICE.query}, config=config)

    def answer(query: str) -> str:
        found = held.query(query_embeddings=[place(query)], n_results=1)["documents"][0]
        messages = [SystemMessage("\n".join(found)), HumanMessage(query)]
        return str(application.Assistant().invoke(messages).content)

    note = "the retrieval is Chroma's query alone: events db.query.result with id, distance, document"
    with recording.trace(DOGS.query, DOGS.sources, DOGS.answer, note=note):
        RunnableLambda(answer).invoke(DOGS.query)
    note = "a retrieval whose traceloop.span.kind is task; gen_ai.operation.name says vector_db_retrieve"
    with recording.trace(QUAY.query, QUAY.files, QUAY.answer, note=note):
        application.function().invoke({"input": QUAY.query})
    recording.write()


def without_texts() -> None:
    """The same with TRACELOOP_TRACE_CONTENT=false."""
    recording = Recording("otlp-traceloop-off.jsonl")
    LangchainInstrumentor().instrument(tracer_provider=recording.provider)
    with recording.trace(None, None, None, rejected="the question was not recorded: TRACELOOP_TRACE_CONTENT is false"):
        application.function().invoke({"input": PRICE.query})
    recording.write()


if __name__ == "__main__":
    if sys.argv[1:] == ["off"]:
        without_texts()
    else:
        main()
        environment = os.environ | {"TRACELOOP_TRACE_CONTENT": "false"}
        subprocess.run([sys.executable, "-W", "ignore", __file__, "off"], env=environment, check=True)
